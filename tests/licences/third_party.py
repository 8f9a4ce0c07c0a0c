#!/usr/bin/python3
"""Checks docs/third-party.md: each library that a build links, and each package whose headers it includes, has
a row there, and each row is of one of them. The project's own licence stands where packages look for it.

  third_party.py SOURCE_TREE BUILD_FOLDER       77: this is no Debian, or nothing is built
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

# The sources of packages that only tests are built with.
FOR_TESTS = {"googletest", "hiredis"}
LICENCE = "BSD-3-Clause"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def linked_files(build):
    """Libraries outside the tree on the line that links the server; -lm and its kind are glibc's."""
    line = output("ninja", "-C", build, "-t", "commands", "sluice").splitlines()[-1]
    return {word for word in shlex.split(line) if re.search(r"^/.*\.(a|so)(\.[0-9.]*)?$", word)}


def included_files(build):
    files = re.findall(r"^ +(/usr/\S+)$", output("ninja", "-C", build, "-t", "deps"), re.MULTILINE)
    return set(files)


def sources_of(files):
    """The Debian source packages that files belong to."""
    real = sorted({os.path.realpath(file) for file in files})
    found = subprocess.run(["dpkg", "-S", *real], capture_output=True, text=True, check=False).stdout
    packages = {line.split(":", 1)[0] for line in found.splitlines() if not line.startswith("diversion ")}
    told = output("dpkg-query", "-W", "-f=${source:Package}\n", *sorted(packages))
    return set(told.split())


def rows(page):
    """The column `Debian source` of the table."""
    cells = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    return {row[2].strip() for row in cells if row[1].strip() != "Library"}


def licence_faults(root):
    named = {
        "CMakeLists.txt": f"SPDX-License-Identifier: {LICENCE}" in (root / "CMakeLists.txt").read_text(),
        **{path: json.loads((root / path).read_text())["license"] == LICENCE
           for path in ("clients/node/package.json", "clients/envoy/package.json")},
        "clients/python/pyproject.toml":
            f'license = {{text = "{LICENCE}"}}' in (root / "clients/python/pyproject.toml").read_text(),
        "packaging/debian/copyright":
            f"License: {LICENCE}" in (root / "packaging/debian/copyright").read_text(),
    }
    return [f"{path}: does not say {LICENCE}" for path, is_named in named.items() if not is_named]


def main():
    root, build = pathlib.Path(sys.argv[1]), sys.argv[2]
    if not shutil.which("dpkg") or not shutil.which("ninja") or not os.path.exists(f"{build}/.ninja_deps"):
        return 77
    page = root / "docs/third-party.md"
    used = sources_of(linked_files(build) | included_files(build)) - FOR_TESTS
    told = rows(page.read_text())
    faults = licence_faults(root)
    faults += [f"{page}: has no row for {name}, which the build uses" for name in sorted(used - told)]
    faults += [f"{page}: {name} is not used by the build" for name in sorted(told - used)]
    print("\n".join(faults) or f"third_party: {len(told)} libraries, each with its licence")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
