#!/usr/bin/python3
"""Checks the archives that carry the program (packaging/portable/build.py), with a script as a stand-in for it: they are
the same bytes each time, pip, gem and npm install them without a network, the clients find the program inside, and no
other platform takes it. `tools/package --try` does this with the program, in empty roots.

  archives.py
"""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "packaging/portable/build.py"
STAND_IN = "#!/bin/sh\necho carried\n"
ENVIRONMENT = {**os.environ, "SLUICE_BIN": "", "PATH": "/usr/bin:/bin:" + os.environ.get("PATH", "")}


def run(*words, **options):
    """What a program prints. Ends this one with that if it fails."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, env={**ENVIRONMENT, **options.pop("env", {})}, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stdout}")
    return done.stdout


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r}, not {expected!r}")


def check_same(folder, program):
    """Two runs, in different moments and time zones, make the same files."""
    made = []
    for name, zone in (("one", "UTC"), ("two", "Asia/Tokyo")):
        run(sys.executable, BUILD, program, "linux-x86_64", folder / name, env={"TZ": zone})
        made.append({file.name: file.read_bytes() for file in (folder / name).iterdir()})
    expect("names", sorted(made[0]), sorted(made[1]))
    for name in made[0]:
        expect(f"{name}, made twice", made[0][name] == made[1][name], True)
    return folder / "one"


def check_tarball(archives):
    archive, = archives.glob("sluice-*-linux-x86_64.tar.gz")
    with tarfile.open(archive) as opened:
        members = {member.name.partition("/")[2]: member for member in opened}
    expect("the tarball", sorted(members), ["LICENSE", "sluice", "sluice.1", "third-party.md"])
    expect("the mode of the program", members["sluice"].mode, 0o755)


def check_wheels(folder, archives):
    target = folder / "wheels"
    run("/usr/bin/python3", "-m", "pip", "install", "-q", "--no-index", "--find-links", archives, "--target", target,
        "sluice[server]")
    found = run("/usr/bin/python3", "-c", "import sluice.binary; print(sluice.binary.find())", env={"PYTHONPATH": str(target)})
    expect("the program of the wheel", run(found.strip()), "carried\n")
    expect("the command of the wheel", run(target / "bin/sluice", env={"PYTHONPATH": str(target)}), "carried\n")


def check_gems(folder, archives):
    gems = [*archives.glob("sluice-[0-9]*.gem"), *archives.glob("sluice-server-*.gem")]
    run("gem", "install", "--local", "--no-document", "--ignore-dependencies", "--install-dir", folder / "gems", *gems)
    script = 'gem "sluice-server"; gem "sluice"; require "sluice/server"; print Sluice::Binary.find'
    path = run("gem", "env", "gempath").strip()
    found = run("ruby", "-e", script, env={"GEM_PATH": f"{folder / 'gems'}:{path}"})
    expect("the program of the gem", run(found), "carried\n")


def check_npm(folder, archives):
    application = folder / "application"
    application.mkdir()
    (application / "package.json").write_text('{"name": "application", "private": true}', encoding="utf-8")
    npm = ("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", "--cache", folder / "cache")
    packages = [*archives.glob("sluice-client-*.tgz"), *archives.glob("sluice-server-*.tgz")]
    run(*npm, *packages, cwd=application)
    script = 'process.stdout.write(require("./node_modules/@sluice/client/lib/binary.js").findBinary())'
    expect("the program of the package", run(run("node", "-e", script, cwd=application)), "carried\n")
    expect("its command", run(application / "node_modules/.bin/sluice"), "carried\n")


def check_platforms(folder, program):
    """The package of another platform is refused by npm, by pip, and by gem (which takes any by its file's name)."""
    archives = folder / "other"
    run(sys.executable, BUILD, program, "linux-aarch64", archives)
    wheel, = archives.glob("sluice_server-*.whl")
    package, = archives.glob("sluice-server-*.tgz")
    pip = ("/usr/bin/python3", "-m", "pip", "install", "--no-index", "--target", folder / "none", wheel)
    npm = ("npm", "install", "--offline", "--prefix", folder, "--cache", folder / "cache", package)
    gem = ("gem", "install", "--local", "--install-dir", folder / "none", "sluice-server")
    for words, reason in (pip, "is not a supported wheel"), (npm, "EBADPLATFORM"), (gem, "Could not find a valid gem"):
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=ENVIRONMENT,
                              cwd=archives)
        if done.returncode == 0 or reason not in done.stdout:
            sys.exit(f"{words[0]} took {words[-1]}, or refused it for another reason:\n{done.stdout}")


def check_no_platform(folder, program):
    """One that there is no archive for is named, and those that there are."""
    for words in (program, "linux-riscv64", folder / "none"), ("--platform", "linux-riscv64"):
        done = subprocess.run([sys.executable, BUILD, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        for word in "linux-riscv64", "linux-x86_64 and linux-aarch64", "tools/run":
            expect(f"{word} in {done.stdout!r}", done.returncode == 1 and word in done.stdout, True)
    run(sys.executable, BUILD, "--platform", "linux-x86_64")


def main():
    if os.uname().machine != "x86_64":
        print("archives: left out, for the stand-in is for x86_64")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "program"
        program.write_text(STAND_IN, encoding="utf-8")
        archives = check_same(folder, program)
        check_tarball(archives)
        check_wheels(folder, archives)
        check_gems(folder, archives)
        check_npm(folder, archives)
        check_platforms(folder, program)
        check_no_platform(folder, program)
    print("archives: made twice alike, installed by pip, gem and npm")


if __name__ == "__main__":
    main()
