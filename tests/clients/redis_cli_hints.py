#!/usr/bin/python3
"""What redis-cli shows behind a command that is being typed: the grammar of our own commands, which it has from
COMMAND DOCS when it connects. It runs at a terminal of its own; what it draws is read until the hint is there.
  redis_cli_hints.py PORT
"""
import os
import pty
import re
import select
import shutil
import struct
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
    "LIMIT.TAKE ": "key WINDOW|ROLLING|SLIDING|LOG|GCRA|LEAKY max period-ms|POLICY name",
    "LIMIT.POLICY SET ": "name WINDOW|ROLLING|SLIDING|LOG|GCRA|LEAKY max period-ms [BURST burst]",
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


def main():
    if not shutil.which("redis-cli"):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as home:
        for typed, hint in HINTS.items():
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
