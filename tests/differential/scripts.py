#!/usr/bin/python3
"""Plays the scripts of scripts.txt on Sluice and on redis-server and compares the raw replies.

  scripts.py [--server program] [--oracle program]
"""
import argparse
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server  # noqa: E402

# What two runs of one server answer differently too.
ADDRESS = re.compile(rb"0x[0-9a-f]+")


def cases():
    for line in (FOLDER / "scripts.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            arguments, script = line.split(" | ", 1)
            text = re.sub(r"\\(n|\\)", lambda found: "\n" if found[1] == "n" else "\\", script)
            yield text, arguments.split()


def answers(program, resp):
    with Server(program) as server:
        connection = wire.Connection(server.connect())
        connection.call("HELLO", str(resp))
        for script, arguments in cases():
            yield script, ADDRESS.sub(b"0x", repr(connection.call("EVAL", script, *arguments)).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    different = count = 0
    for resp in (2, 3):
        for (script, ours), (_, theirs) in zip(answers(options.server, resp),
                                               answers(options.oracle, resp)):
            count += 1
            if ours != theirs:
                different += 1
                print(f"RESP{resp}: {script}\n  ours   {ours.decode()}\n  theirs {theirs.decode()}")
    print(f"{count} scripts, {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
