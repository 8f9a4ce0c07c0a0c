"""What the tests against the real binary share: a server that must survive, waiting without guessing how
long, and running every function test_* of a file."""
import argparse
import os
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import wire
from server import SLUICE, Server

MIB = 1 << 20
EMULATED = "SLUICE_EMULATED" in os.environ
PATIENCE = 300 if EMULATED else 30  # seconds for what takes milliseconds on an idle machine


class Skip(Exception):
    pass


class Chosen:
    """The program under test: --server. long: whether tests that have a long form take it. emulated: it is another
    processor's, and what is seen of its process is the emulator's."""
    program = SLUICE
    long = False
    emulated = EMULATED


def client(server, tcp=False):
    return wire.Connection(server.connect_tcp() if tcp else server.connect())


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.01)


def answer(connection, data):
    """Sends bytes; everything that comes until the connection is closed."""
    if data:
        connection.send(data)
    connection.sock.settimeout(PATIENCE)
    while connection.fill():
        pass
    assert connection.closed, "the server has not closed the connection"
    return connection.data


def send_all(connection, commands, batch=500):
    """Lists of words, so many at once; the replies are read and forgotten."""
    waiting = []
    for command in commands:
        waiting.append(wire.encode([word if isinstance(word, bytes) else str(word).encode() for word in command]))
        if len(waiting) == batch:
            connection.send(b"".join(waiting))
            connection.replies(batch)
            waiting.clear()
    connection.send(b"".join(waiting))
    connection.replies(len(waiting))


def info(connection, section):
    """The fields of that section of INFO, as bytes."""
    lines = connection.call("INFO", section)[1].split(b"\r\n")
    return dict(line.split(b":", 1) for line in lines if b":" in line)


class Checked:
    """A server that must still answer, within a bound of memory, when the test is over."""

    def __init__(self, *options, grow=64 * MIB, tcp=False):
        self.options, self.grow, self.tcp = options, grow, tcp

    def __enter__(self):
        self.server = Server(Chosen.program, self.options, tcp=self.tcp)
        self.rss = self.server.rss_bytes()
        return self.server

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                assert self.server.alive(), f"the server died:\n{self.server.output()}"
                assert client(self.server).call("PING") == ("+", b"PONG")
                until(lambda: self.server.rss_bytes() - self.rss < self.grow,
                      f"grew by less than {self.grow}")
        finally:
            self.server.stop()


def run_apart(names, options):
    """Each test in a process of its own, --jobs of them at a time: for those that wait more than they work."""
    words = [sys.executable, sys.argv[0], "--server", str(options.server), *(["--long"] if options.long else [])]

    def run_one(name):
        done = subprocess.run([*words, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, end="", flush=True)
        return done.returncode

    with ThreadPoolExecutor(options.jobs) as pool:
        return 1 if any(list(pool.map(run_one, names))) else 0


def run_tests(document, functions):
    """The command line of a file of tests; its exit status. functions: its globals()."""
    parser = argparse.ArgumentParser(description=document,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    Chosen.program, Chosen.long = options.server, options.long
    tests = {name: test for name, test in functions.items()
             if name.startswith("test_") and (not options.names or name in options.names)}
    if options.jobs > 1 and len(tests) > 1:
        return run_apart(list(tests), options)
    failed = 0
    for name, test in tests.items():
        started = time.monotonic()
        try:
            test()
            outcome = "ok"
        except Skip as reason:
            outcome = f"skipped: {reason}"
        except Exception:  # a test's failure is reported and the next one runs
            traceback.print_exc()
            outcome, failed = "FAILED", failed + 1
        print(f"{name}: {outcome} ({time.monotonic() - started:.1f} s)", flush=True)
    return 1 if failed else 0
