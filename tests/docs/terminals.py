"""Blocks of redis-cli: several terminals, each with the real redis-cli, on one page.

    alice> LOCK.ACQUIRE door alice LEASE 30000         what is typed at alice's terminal ...
    1) (integer) 1800000000000                         ... and what it answers
    bob> LOCK.ACQUIRE door bob LEASE 30000 WAIT 60000  nothing below: it waits
    alice> LOCK.RELEASE door alice
    (integer) 0
    bob:                                               what bob's terminal says now
    1) (integer) 1800000000001
    # a remark

A terminal opens with its first command. Who waits is known by the server's own word (clients that are blocked, requests
that a fault holds), so that the next terminal is typed at when the one before has its place.
"""
import os
import pty
import re
import select
import socket
import subprocess
import time
import tty

import wire

PATIENCE = 30  # seconds for what takes milliseconds on an idle machine
TYPED = re.compile(r"^([a-z][a-z0-9-]*)> (.+)$")
LATER = re.compile(r"^([a-z][a-z0-9-]*):$")
PROMPT = re.compile(rb"(^|\n)(127\.0\.0\.1:\d+|not connected)(\(TX\))?(\[\d+\])?(\(subscribed mode\))?> $")


class Terminal:
    """One redis-cli. TERM=dumb has it print plain lines behind a plain prompt."""

    def __init__(self, port):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        self.process = subprocess.Popen(["redis-cli", "-p", str(port)], stdin=slave, stdout=slave, stderr=slave,
                                        env={**os.environ, "TERM": "dumb", "REDISCLI_RCFILE": "/dev/null",
                                             "REDISCLI_HISTFILE": "/dev/null"})
        os.close(slave)
        self.data = b""
        self.answer(time.monotonic() + PATIENCE)

    def type(self, command):
        os.write(self.master, command.encode() + b"\n")

    def answer(self, deadline):
        """The lines before the next prompt; None where there is none by then."""
        while not PROMPT.search(self.data):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                return None
            self.data += os.read(self.master, 1 << 16)
        text = PROMPT.sub(b"", self.data).decode()
        self.data = b""
        return [line.rstrip() for line in text.splitlines()]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


class Screen:
    """All terminals of a block."""

    def __init__(self, port):
        self.port = port
        self.terminals = {}

    def close(self):
        for terminal in self.terminals.values():
            terminal.close()

    def held(self):
        """Requests that have come and wait: clients that are blocked, and what rules have hit."""
        watch = wire.Connection(socket.create_connection(("127.0.0.1", self.port)))
        blocked = watch.call("CLIENT", "LIST")[1].count(b" flags=b ")
        hits = sum(int(rule[1][-1][1]) for rule in watch.call("SLUICE.FAULT", "LIST")[1])
        watch.close()
        return blocked + hits

    def terminal(self, name):
        if name not in self.terminals:
            self.terminals[name] = Terminal(self.port)
        return self.terminals[name]

    def type(self, name, command, waits):
        """What is answered; [] where it waits, as it should."""
        terminal = self.terminal(name)
        before = self.held() if waits else None
        terminal.type(command)
        if not waits:
            return self.arrived(name)
        deadline = time.monotonic() + PATIENCE
        while self.held() == before:
            early = terminal.answer(time.monotonic() + 0.01)
            if early is not None:
                return early
            if time.monotonic() > deadline:
                return [f"({name} neither waits nor answers)"]
        return []

    def arrived(self, name):
        answer = self.terminal(name).answer(time.monotonic() + PATIENCE)
        return [f"({name} still waits)"] if answer is None else answer


def steps(lines):
    """(the line that is typed or awaited, what the page shows below it) of a block."""
    found = []
    for line in lines:
        if line.startswith("# ") or not line:
            continue
        if TYPED.match(line) or LATER.match(line):
            found.append((line, []))
        elif not found:
            raise ValueError(f"nothing was typed before: {line}")
        else:
            found[-1][1].append(line)
    return found


def play(block, port):
    """(what the page shows, what was answered) of each step."""
    screen = Screen(port)
    try:
        for line, shown in steps(block.lines):
            typed = TYPED.match(line)
            if typed:
                real = screen.type(typed[1], typed[2], waits=not shown)
            else:
                real = screen.arrived(LATER.match(line)[1])
            yield line, shown, real
    finally:
        screen.close()
