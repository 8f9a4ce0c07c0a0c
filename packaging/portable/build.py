#!/usr/bin/python3
"""Makes the archives that carry the program: the same bytes for the same program, whenever and wherever it runs.

  build.py PROGRAM PLATFORM FOLDER    PLATFORM is linux-x86_64 or linux-aarch64; prints each archive and its size
  build.py --platform PLATFORM        says why there are none for that platform; nothing if there are

Every archive is written by this script, for the tools of its language put in the moment, the owner or an order of their
own. A gem is a tar of three members; a wheel is a zip with a list of what is inside.
"""
import base64
import gzip
import hashlib
import io
import json
import pathlib
import re
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip knows
BYTES_MAX = 12 << 20
# As the languages name a platform: Node's (os, cpu), tags of wheels, RubyGems'. A program without shared libraries runs
# beside any C library.
PLATFORMS = {
    "linux-x86_64": {"node": ("linux", "x64"), "gem": ("x86_64", "linux"),
                     "wheel": ("manylinux_2_5_x86_64", "manylinux1_x86_64", "musllinux_1_1_x86_64")},
    "linux-aarch64": {"node": ("linux", "arm64"), "gem": ("aarch64", "linux"),
                      "wheel": ("manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64")},
}
SUMMARY = "The program of Sluice, for tests"
PYTHON = '''"""The program of Sluice, for tests."""
import os
import pathlib
import sys


def program():
    """Its path."""
    return str(pathlib.Path(__file__).with_name("sluice"))


def main():
    os.execv(program(), ["sluice", *sys.argv[1:]])
'''
RUBY = '''# frozen_string_literal: true

# The program of Sluice, for tests.
module SluiceServer
  # Its path.
  def self.program
    File.expand_path("../bin/sluice", __dir__)
  end
end
'''


# Where a version stands. All have to be the same.
VERSIONS = {"CMakeLists.txt": r"project\(sluice VERSION (\S+)", "clients/node/package.json": r'"version": "(\S+)"',
            "clients/envoy/package.json": r'"version": "(\S+)"',
            "clients/python/pyproject.toml": r'^version = "(\S+)"', "clients/python/src/sluice/__init__.py": r'__version__ = "(\S+)"',
            "clients/ruby/lib/sluice/version.rb": r'VERSION = "(\S+)"'}


def version_of(file):
    return re.search(VERSIONS[file], (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)[1]


def version():
    return version_of("CMakeLists.txt")


def tar(members, prefix=""):
    """members: (name, bytes, mode) each."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, mode in members:
            info = tarfile.TarInfo(prefix + name)
            info.size, info.mode, info.mtime = len(data), mode, 315532800
            info.uname = info.gname = "root"
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def gz(data):
    return gzip.compress(data, 9, mtime=0)


def notices():
    """What goes along with every copy of the program."""
    return [("LICENSE", (ROOT / "LICENSE").read_bytes(), 0o644),
            ("third-party.md", (ROOT / "docs/third-party.md").read_bytes(), 0o644)]


def tarball(program, platform):
    name = f"sluice-{version()}-{platform}"
    members = [("sluice", program, 0o755), ("sluice.1", (ROOT / "docs/sluice.1").read_bytes(), 0o644), *notices()]
    return f"{name}.tar.gz", gz(tar(members, f"{name}/"))


def npm(program, platform):
    system, cpu = PLATFORMS[platform]["node"]
    name = f"server-{system}-{cpu}"
    package = {"name": f"@sluice/{name}", "version": version(), "description": SUMMARY, "license": "BSD-3-Clause",
               "os": [system], "cpu": [cpu], "main": "./index.js", "bin": {"sluice": "bin/sluice"},
               "files": ["bin", "third-party.md"]}
    index = '"use strict";\nmodule.exports.program = require("node:path").join(__dirname, "bin", "sluice");\n'
    members = [("package.json", (json.dumps(package, indent=2) + "\n").encode(), 0o644),
               ("index.js", index.encode(), 0o644), ("bin/sluice", program, 0o755), *notices()]
    return f"sluice-{name}-{version()}.tgz", gz(tar(members, "package/"))


def client_of_node(platforms):
    """The client of Node with the packages of all platforms as optional dependencies: npm takes the one that fits."""
    folder = ROOT / "clients/node"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    package["optionalDependencies"] = {"@sluice/server-" + "-".join(PLATFORMS[one]["node"]): version() for one in platforms}
    for word in ("devDependencies", "scripts", "overrides"):
        package.pop(word)
    files = sorted({file for pattern in ("*.js", "*.mjs", "*.d.ts", "*.d.mts", "lib/*", "README.md", "LICENSE")
                    for file in folder.glob(pattern)})
    members = [("package.json", (json.dumps(package, indent=2) + "\n").encode(), 0o644),
               *((str(file.relative_to(folder)), file.read_bytes(), 0o644) for file in files)]
    return f"sluice-client-{version()}.tgz", gz(tar(members, "package/"))


def zipped(members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in members:
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr, info.create_system = (0o100000 | mode) << 16, 3
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()


def wheel_of(distribution, members, about, tags, purelib):
    """A wheel: its members, what is said of it, and the list with their digests."""
    tag = f"py3-none-{'.'.join(tags)}"
    info = f"{distribution}-{version()}.dist-info"
    said = [f"Wheel-Version: 1.0\nGenerator: sluice\nRoot-Is-Purelib: {str(purelib).lower()}\n",
            *(f"Tag: py3-none-{one}\n" for one in tags)]
    members = [*members, (f"{info}/METADATA", about.encode(), 0o644), (f"{info}/WHEEL", "".join(said).encode(), 0o644)]
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in members)
    members.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    return f"{distribution}-{version()}-{tag}.whl", zipped(members)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def wheel(program, platform):
    info = f"sluice_server-{version()}.dist-info"
    about = (f"Metadata-Version: 2.1\nName: sluice-server\nVersion: {version()}\nSummary: {SUMMARY}\n"
             "License: BSD-3-Clause\nRequires-Python: >=3.9\n")
    members = [("sluice_server/__init__.py", PYTHON.encode(), 0o644), ("sluice_server/sluice", program, 0o755),
               *((f"{info}/{name}", data, mode) for name, data, mode in notices()),
               (f"{info}/entry_points.txt", b"[console_scripts]\nsluice = sluice_server:main\n", 0o644)]
    return wheel_of("sluice_server", members, about, PLATFORMS[platform]["wheel"], False)


def client_of_python():
    """The pure wheel of clients/python, with the program's as an extra."""
    folder = ROOT / "clients/python/src"
    info = f"sluice-{version()}.dist-info"
    about = (f"Metadata-Version: 2.1\nName: sluice\nVersion: {version()}\nSummary: Sluice for Python: locks, limits, WSGI "
             "and ASGI middleware, and a private server for tests\nLicense: BSD-3-Clause\nRequires-Python: >=3.9\n"
             "Provides-Extra: redis\nRequires-Dist: redis>=4.3; extra == 'redis'\n"
             f"Provides-Extra: server\nRequires-Dist: sluice-server=={version()}; extra == 'server'\n")
    files = sorted(file for file in folder.rglob("*") if file.suffix == ".py" or file.name == "py.typed")
    members = [*((str(file.relative_to(folder)), file.read_bytes(), 0o644) for file in files),
               (f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes(), 0o644),
               (f"{info}/entry_points.txt", b"[pytest11]\nsluice = sluice.pytest_plugin\n", 0o644)]
    return wheel_of("sluice", members, about, ("any",), True)


def gem_of(name, members, platform, summary, dependencies):
    """A gem: a tar of what is said of it, of its files, and of the digests of both."""
    said = gemspec(name, [member for member, _, _ in members], platform, summary, dependencies)
    parts = [("metadata.gz", gz(said.encode()), 0o444), ("data.tar.gz", gz(tar(members)), 0o444)]
    sums = ["---\n"]
    for algorithm in ("SHA256", "SHA512"):
        sums += [f"{algorithm}:\n", *(f"  {part}: {hashlib.new(algorithm.lower(), data).hexdigest()}\n"
                                      for part, data, _ in parts)]
    ending = "" if platform == "ruby" else f"-{platform}"
    return f"{name}-{version()}{ending}.gem", tar([*parts, ("checksums.yaml.gz", gz("".join(sums).encode()), 0o444)])


def gemspec(name, files, platform, summary, dependencies):
    """As RubyGems writes it."""
    def requirement(words):
        return "!ruby/object:Gem::Requirement\n" + "".join(
            [f"{words['indent']}requirements:\n", *(f"{words['indent']}- - \"{sign}\"\n{words['indent']}  - "
             f"!ruby/object:Gem::Version\n{words['indent']}    version: '{number}'\n" for sign, number in words["bounds"])])
    lines = ["--- !ruby/object:Gem::Specification\n", f"name: {name}\n",
             f"version: !ruby/object:Gem::Version\n  version: {version()}\n", f"platform: {platform}\n",
             "authors:\n- The Sluice authors\nautorequire:\nbindir: bin\ncert_chain: []\ndate: 1980-01-01 00:00:00.000000000 Z\n"]
    lines.append("dependencies:\n" if dependencies else "dependencies: []\n")
    for other, bounds in dependencies:
        bound = requirement({"indent": "    ", "bounds": bounds})
        lines.append(f"- !ruby/object:Gem::Dependency\n  name: {other}\n  requirement: {bound}  type: :runtime\n"
                     f"  prerelease: false\n  version_requirements: {bound}")
    lines += ["description:\nemail:\nexecutables: []\nextensions: []\nextra_rdoc_files: []\nfiles:\n",
              *(f"- {file}\n" for file in files), "homepage:\nlicenses:\n- BSD-3-Clause\nmetadata: {}\n",
              "post_install_message:\nrdoc_options: []\nrequire_paths:\n- lib\n",
              "required_ruby_version: " + requirement({"indent": "  ", "bounds": [(">=", "2.7")]}),
              "required_rubygems_version: " + requirement({"indent": "  ", "bounds": [(">=", "0")]}),
              f"requirements: []\nrubygems_version: 3.3.15\nsigning_key:\nspecification_version: 4\nsummary: '{summary}'\n",
              "test_files: []\n"]
    return "".join(lines)


def gem(program, platform):
    members = [("bin/sluice", program, 0o755), ("lib/sluice_server.rb", RUBY.encode(), 0o644), *notices()]
    return gem_of("sluice-server", members, "-".join(PLATFORMS[platform]["gem"]), SUMMARY, [])


def client_of_ruby():
    folder = ROOT / "clients/ruby"
    files = sorted([*folder.glob("lib/**/*.rb"), folder / "README.md", folder / "LICENSE"])
    members = [(str(file.relative_to(folder)), file.read_bytes(), 0o644) for file in files]
    return gem_of("sluice", members, "ruby", "Sluice for Ruby: locks, limits, Rack middleware, and a private server for tests",
                  [("redis", [(">=", "4.2"), ("<", "5")])])


def check_platform(platform):
    if platform not in PLATFORMS:
        sys.exit(f"there are no archives for {platform}: there are those for {' and '.join(PLATFORMS)}. tools/run builds the "
                 "program alone, which clients find by SLUICE_BIN")


def main():
    if len(sys.argv) not in (3, 4) or (len(sys.argv) == 3 and sys.argv[1] != "--platform"):
        sys.exit(__doc__)
    check_platform(sys.argv[2])
    if len(sys.argv) == 3:
        return
    for file in VERSIONS:
        if version_of(file) != version():
            sys.exit(f"{file}: is of version {version_of(file)}, and the program of {version()}")
    program, platform, folder = pathlib.Path(sys.argv[1]).read_bytes(), sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    too_large = False
    for name, data in (tarball(program, platform), npm(program, platform), wheel(program, platform), gem(program, platform),
                       client_of_node(PLATFORMS), client_of_python(), client_of_ruby()):
        (folder / name).write_bytes(data)
        too_large |= len(data) > BYTES_MAX
        print(f"{folder / name}  {len(data):,} bytes")
    if too_large:
        sys.exit(f"an archive is larger than {BYTES_MAX:,} bytes")


if __name__ == "__main__":
    main()
