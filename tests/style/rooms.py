#!/usr/bin/python3
"""Checks that a person who opens a folder of the server is told what it is, and finds its tests.

Every room, a folder just below server/ or at the top of the sources, has a README.md of at least three
lines that names a file to read first. The rooms of the server are those that CMake makes libraries of, and
server/README.md lists them in the same order. Every folder of unit tests has the name of the folder that it
tests, and no test stands above those. Prints each breach and exits 1 if there is one.

  rooms.py [the source tree]
"""
import pathlib
import re
import sys

from lib import libraries

TOPS = ("protocol", "storage", "scripting", "server")
UNITS = pathlib.Path("tests/unit")
# Binaries of their own, for they link libraries and not layers: where what they test is.
ELSEWHERE = {"embed": "server/embed", "embed_server": "server/embed/serving",
             "program": "server/program"}
# Layers whose tests stand in folders alone.
ROOMY = {"server"}

READ_FIRST = re.compile(r"\bfirst\b", re.IGNORECASE)
LISTED = re.compile(r"^\| \[(\w+)/\]", re.M)


def rooms(root):
    """The folders that a README is asked of, relative to the root."""
    for top in TOPS:
        yield pathlib.Path(top)
    for folder in sorted((root / "server").iterdir()):
        if folder.is_dir() and any(file.suffix in (".h", ".cc") for file in folder.rglob("*")):
            yield folder.relative_to(root)


def check_room(root, room):
    """Yields a sentence for each breach."""
    readme = root / room / "README.md"
    if not readme.is_file():
        yield f"{room}: no README.md says what it is"
        return
    text = readme.read_text()
    if len(text.strip().split("\n")) < 3 or not READ_FIRST.search(text):
        yield f"{room}/README.md: no word of which file to read first"


def check_list(root, all_rooms):
    """Yields a sentence for each breach."""
    built = libraries.rooms(root)
    there = {room.name for room in all_rooms if room.parent.name}
    for name in sorted(there ^ set(built)):
        yield f"server/{name}: " + ("no library is made of it" if name in there else "CMake names it, and it is not there")
    listed = LISTED.findall((root / "server/README.md").read_text())
    if listed != built:
        yield f"server/README.md: lists {' '.join(listed)}, and CMake {' '.join(built)}"


def check_tests(root):
    """Yields a sentence for each breach."""
    for test in sorted((root / UNITS).rglob("*_test.cc")):
        layer, *below = test.relative_to(root / UNITS).parts[:-1]
        tested = pathlib.Path(ELSEWHERE.get(layer, layer), *below)
        if not (root / tested).is_dir():
            yield f"{test.relative_to(root)}: there is no {tested} that it could test"
        elif layer in ROOMY and not below:
            yield f"{test.relative_to(root)}: it belongs to the folder that it tests"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    all_rooms = list(rooms(root))
    found = [breach for room in all_rooms for breach in check_room(root, room)]
    found += check_list(root, all_rooms)
    found += check_tests(root)
    for breach in found:
        print(breach)
    if not found:
        print(f"rooms: {len(all_rooms)}, and each says what it is; tests stand where they look")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
