#!/usr/bin/python3
"""What redis-cli shows behind a command that is being typed: the grammar of our own commands, which it has from
COMMAND DOCS when it connects, and what its `help` tells of them: of every one that Redis does not have. It runs at
a terminal of its own; what it draws is read until the hint is there.
  redis_cli_hints.py PORT
"""
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl

PATIENCE = 30  # seconds; a hint is there in some milliseconds
HINTS = {
    "LOCK.ACQUIRE ": "key owner [LEASE lease-ms] [SESSION] [WAIT wait-ms] [SHARED|PERMITS n OF m]",
    "lock.acquire door me ": "[LEASE lease-ms] [SESSION] [WAIT wait-ms] [SHARED|PERMITS n OF m]",
    "LOCK.BREAK door ": "[TOKEN token]",
    "LIMIT.TAKE ": "key WINDOW|ROLLING|SLIDING|LOG|GCRA|LEAKY max period-ms|CALENDAR max",
    "LIMIT.POLICY SET ": "name WINDOW|ROLLING|SLIDING|LOG|GCRA|LEAKY max period-ms|CALENDAR max",
}
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Terminal:
    def __init__(self, port, home):
        pid, self.file = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", HOME=home)
            os.execvp("redis-cli", ["redis-cli", "-p", port])
        self.pid = pid
        ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))
        self.drawn = ""

    def wait_for(self, text):
        """False: it did not come."""
        end = time.monotonic() + PATIENCE
        while text not in ESCAPES.sub("", self.drawn):
            if not select.select([self.file], [], [], max(0, end - time.monotonic()))[0]:
                return False
            try:
                self.drawn += os.read(self.file, 65536).decode(errors="replace")
            except OSError:
                return False
        return True

    def type(self, text):
        self.drawn = ""
        os.write(self.file, text.encode())

    def close(self):
        os.close(self.file)
        os.waitpid(self.pid, 0)


def asked(port, *words):
    return subprocess.run(["redis-cli", "-p", port, *words], capture_output=True, check=True, text=True).stdout


def ours(port):
    """Name and documentation of each of our commands, subcommands among them; what was there first in Redis has a
    version of Redis."""
    for name, doc in json.loads(asked(port, "--json", "COMMAND", "DOCS")).items():
        if not doc["since"].startswith("0."):
            continue
        yield name.upper(), doc
        for sub, about in doc.get("subcommands", {}).items():
            yield sub.upper().replace("|", " "), about


def grammar(arguments):
    """The words of a command's grammar, in their order."""
    for argument in arguments:
        if "token" in argument:
            yield argument["token"]
        if "arguments" in argument:
            yield from grammar(argument["arguments"])
        elif argument["type"] != "pure-token":
            yield argument.get("display_text", argument["name"])


def help_of(port, name, doc):
    """Its grammar, as redis-cli shows it."""
    # A container's help is followed by that of its subcommands, a blank line before each.
    blocks = ESCAPES.sub("", asked(port, "help", *name.split(" "))).strip().split("\n\n")
    text = blocks[0].strip()
    lines = dict(line.strip().partition(": ")[::2] for line in text.splitlines()[1:])
    shown = text.splitlines()[0].removeprefix(name).strip()
    at = 0
    for word in grammar(doc.get("arguments", [])):
        at = shown.find(word, at)
        if at < 0:
            sys.exit(f"help {name} shows {text!r}: {word!r} is missing, or stands elsewhere")
    for part in ("summary", "since", "group"):
        if not doc[part] or lines.get(part) != doc[part]:
            sys.exit(f"help {name} shows {text!r}, not its {part} {doc[part]!r}")
    return shown


def main():
    if not shutil.which("redis-cli"):
        sys.exit(77)
    hints, commands = dict(HINTS), 0
    for name, doc in ours(sys.argv[1]):
        commands += 1
        shown = help_of(sys.argv[1], name, doc)
        if "subcommands" not in doc:
            hints[name + " "] = shown
    if commands < 20:
        sys.exit(f"COMMAND DOCS has {commands} commands that Redis does not have")
    with tempfile.TemporaryDirectory() as home:
        for typed, hint in hints.items():
            terminal = Terminal(sys.argv[1], home)
            prompted = terminal.wait_for("> ")
            terminal.type(typed)
            shown = terminal.wait_for(typed + hint)
            terminal.close()
            if not prompted or not shown:
                sys.exit(f"behind {typed!r} redis-cli shows {terminal.drawn[-500:]!r}, not {hint!r}")
    print("ok")


if __name__ == "__main__":
    main()
