#!/usr/bin/python3
"""Checks who includes whom, and who may ask the system for time.

A folder includes those whose libraries its own is linked with, as the lines sluice_library(...) of CMake say, and no
others; main.cc comes last. No two folders include each other, time and the environment enter at server/system, and of
Asio only its public interface is used. Prints each breach as file:line and exits 1 if there is one.

  layers.py [the source tree]
"""
import pathlib
import re
import sys

from lib.libraries import may_include

TOPS = ("protocol", "storage", "scripting", "server")
MAIN = "server/main.cc"
MAIN_INCLUDES = "server/program/daemon.h"

NETWORK = re.compile(r"boost/(asio|beast)\b")
INSIDES = re.compile(r"\basio(/|::)detail\b")
ASKS_SYSTEM = re.compile(r"\b(clock_gettime|gettimeofday|system_clock|steady_clock|"
                         r"high_resolution_clock|getenv|secure_getenv)\b")
MAY_ASK_SYSTEM = {"server/system", "server/net", "server/embed", "server/program"}

INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
STRING = r'"(?:\\.|[^"\\\n])*"'


def folder_of(path, folders):
    """Which of the folders a file (relative, with slashes) is in, the innermost, or None."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in folders:
        parts.pop()
    return "/".join(parts) or None


def room_of(path):
    return "/".join(path.split("/")[:2])


def code_lines(text):
    """Numbered lines without comments; strings are kept, for includes are strings too."""
    def blank(match):
        return match.group() if match.group().startswith('"') else "\n" * match.group().count("\n")
    text = re.sub(STRING + r"|//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)
    return enumerate(text.split("\n"), 1)


def check_include(root, allowed, path, target):
    """Yields a sentence for each rule that one #include breaks. `allowed`: which folders a folder may include."""
    folder = folder_of(path, allowed)
    if NETWORK.match(target) and room_of(path) != "server/net":
        yield f"{target} belongs to server/net alone"
    if target.split("/")[0] not in TOPS:
        if ((root / path).parent / target).is_file():
            yield f'"{target}": write the path from the top of the tree'
    elif path == MAIN:
        if target != MAIN_INCLUDES:
            yield f"main.cc includes {MAIN_INCLUDES} alone, not {target}"
    elif folder_of(target, allowed) not in allowed[folder]:
        yield f"{folder} may not include {target}"


def check_file(root, allowed, path, edges):
    """Yields (line, sentence) for each breach; notes in edges which directory includes which."""
    for number, line in code_lines((root / path).read_text()):
        if INSIDES.search(line):
            yield number, "Asio's insides are not ours: its public interface alone"
        include = INCLUDE.match(line)
        if include:
            target = include.group(1)
            for sentence in check_include(root, allowed, path, target):
                yield number, sentence
            here, there = path.rpartition("/")[0], target.rpartition("/")[0]
            if here != there and path != MAIN:
                edges.setdefault((here, there), f"{path}:{number}")
        elif room_of(path) not in MAY_ASK_SYSTEM and path != MAIN:
            asked = ASKS_SYSTEM.search(re.sub(STRING, '""', line))
            if asked:
                yield number, f"{asked.group()}: only server/system asks the system"


def breaches(root):
    allowed = may_include(root)
    edges = {}
    for top in TOPS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in (".h", ".cc"):
                path = file.relative_to(root).as_posix()
                for number, sentence in check_file(root, allowed, path, edges):
                    yield f"{path}:{number}: {sentence}"
    for (here, there), place in sorted(edges.items()):
        if here < there and (there, here) in edges:
            yield f"{place}: {here} and {there} include each other ({edges[there, here]})"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(breaches(root))
    print("\n".join(found) or "layers: every include goes down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
