#!/usr/bin/python3
"""Checks who includes whom, and who may ask the system for time, against the tables below.

Data flows protocol <- storage <- scripting <- server, and inside server/ in SERVER_ORDER; main.cc
comes last. Includes go down that way only, no two folders include each other, time and the
environment enter at server/system, and of Asio only its public interface is used. Prints each breach as file:line and exits 1 if there is one.

  layers.py [the source tree]
"""
import pathlib
import re
import sys

TOPS = ("protocol", "storage", "scripting", "server")
LOWER = {"protocol", "storage", "scripting"}

# The folders of server/ in the order of their needs: each may include itself and those before it.
SERVER_ORDER = ("core", "access", "config", "observe", "clients", "notify", "dispatch", "waiting", "limits", "locks",
                "snapshots", "log", "test_double", "engine", "commands", "http", "replication", "system", "spaces", "net", "embed", "program", "linked")

# Folder: the folders that it may include, itself among them.
MAY_INCLUDE = {
    "protocol": {"protocol"},
    "storage": {"storage", "protocol"},
    "scripting": LOWER,
}
for place, name in enumerate(SERVER_ORDER):
    MAY_INCLUDE[f"server/{name}"] = LOWER | {f"server/{each}" for each in SERVER_ORDER[:place + 1]}
    if place < SERVER_ORDER.index("snapshots"):  # functions are in files; scripts are the engine's
        MAY_INCLUDE[f"server/{name}"] -= {"scripting"}
MAIN = "server/main.cc"
MAIN_INCLUDES = "server/program/daemon.h"

NETWORK = re.compile(r"boost/(asio|beast)\b")
INSIDES = re.compile(r"\basio(/|::)detail\b")
ASKS_SYSTEM = re.compile(r"\b(clock_gettime|gettimeofday|system_clock|steady_clock|"
                         r"high_resolution_clock|getenv|secure_getenv)\b")
MAY_ASK_SYSTEM = {"server/system", "server/net", "server/embed", "server/program"}

INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
STRING = r'"(?:\\.|[^"\\\n])*"'


def folder_of(path):
    """The row of MAY_INCLUDE that a file (relative, with slashes) falls under, or None."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in MAY_INCLUDE:
        parts.pop()
    return "/".join(parts) or None


def code_lines(text):
    """Numbered lines without comments; strings are kept, for includes are strings too."""
    def blank(match):
        return match.group() if match.group().startswith('"') else "\n" * match.group().count("\n")
    text = re.sub(STRING + r"|//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)
    return enumerate(text.split("\n"), 1)


def check_include(root, path, target):
    """Yields a sentence for each rule that one #include breaks."""
    folder = folder_of(path)
    if NETWORK.match(target) and folder != "server/net":
        yield f"{target} belongs to server/net alone"
    if target.split("/")[0] not in TOPS:
        if ((root / path).parent / target).is_file():
            yield f'"{target}": write the path from the top of the tree'
    elif path == MAIN:
        if target != MAIN_INCLUDES:
            yield f"main.cc includes {MAIN_INCLUDES} alone, not {target}"
    elif folder_of(target) not in MAY_INCLUDE[folder]:
        yield f"{folder} may not include {target}"


def check_file(root, path, edges):
    """Yields (line, sentence) for each breach; notes in edges which directory includes which."""
    for number, line in code_lines((root / path).read_text()):
        if INSIDES.search(line):
            yield number, "Asio's insides are not ours: its public interface alone"
        include = INCLUDE.match(line)
        if include:
            target = include.group(1)
            for sentence in check_include(root, path, target):
                yield number, sentence
            here, there = path.rpartition("/")[0], target.rpartition("/")[0]
            if here != there and path != MAIN:
                edges.setdefault((here, there), f"{path}:{number}")
        elif folder_of(path) not in MAY_ASK_SYSTEM and path != MAIN:
            asked = ASKS_SYSTEM.search(re.sub(STRING, '""', line))
            if asked:
                yield number, f"{asked.group()}: only server/system asks the system"


def breaches(root):
    edges = {}
    for top in TOPS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in (".h", ".cc"):
                path = file.relative_to(root).as_posix()
                for number, sentence in check_file(root, path, edges):
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
