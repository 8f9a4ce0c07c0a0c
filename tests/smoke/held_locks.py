#!/usr/bin/python3
"""Locks of clients/python, node and ruby while the server that they are of dies: over clients that ask Sentinels, and over
those of a cluster. Each waits for its lock, holds it, and says after the failover that it still holds it, for the new
server knows of it and of its token; and that it is lost when that server says so.

  held_locks.py [--server program] [--client python-sentinel ...]

A client is a program of tests/clients that is told by lines what to do, and says by lines what came of it.
"""
import argparse
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from cluster_clients import Cluster, connection  # noqa: E402
from sentinels import Group  # noqa: E402
from server import ROOT, SLUICE, die_with_parent  # noqa: E402
from smoke import PATIENCE, Chosen, until  # noqa: E402

PYTHON = ("/usr/bin/python3", ROOT / "tests/clients/held_redis_py.py")
RUBY = ("ruby", ROOT / "tests/clients/held_ruby.rb")
NODE = ("node", ROOT / "tests/clients/held_node.js")
SENTINEL, CLUSTER = "sentinel", "cluster"
PROGRAMS = {
    "python-sentinel": (SENTINEL, *PYTHON, "sentinel"), "python-cluster": (CLUSTER, *PYTHON, "cluster"),
    "asyncio-sentinel": (SENTINEL, *PYTHON, "sentinel-asyncio"), "asyncio-cluster": (CLUSTER, *PYTHON, "cluster-asyncio"),
    "ruby-sentinel": (SENTINEL, *RUBY, "sentinel"), "ruby-cluster": (CLUSTER, *RUBY, "cluster"),
    **{f"{name}-{kind}": (kind, *NODE, name, kind) for name in ("ioredis", "ioredis-6", "redis", "redis-6")
       for kind in (SENTINEL, CLUSTER)},
}
SKIPPED = 77
DOOR = 1  # is in slot 8632: of the second of three servers


class Skipped(Exception):
    """The program says why."""


class Holder:
    """A program that holds a lock."""

    def __init__(self, words, ports):
        self.process = subprocess.Popen([str(word) for word in (*words, *ports)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        preexec_fn=die_with_parent)
        self.lines, self.said = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def next_line(self):
        try:
            line = self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"it says nothing more, and said {self.said[-5:]}") from None
        if line is None and self.process.wait() == SKIPPED:
            raise Skipped(self.said[-1])
        assert line is not None, f"it has ended, and said {self.said}"
        self.said.append(line)
        return line

    def begun(self):
        """The token."""
        line = self.next_line()
        if not line.startswith("held "):
            line = self.next_line()  # raises Skipped
        return int(line.removeprefix("held "))

    def ask(self, word):
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self.next_line()

    def done(self, word):
        """Asks again while the answer is that it went wrong on its way. Whatever is lost is no such answer."""
        deadline = time.monotonic() + PATIENCE
        while (line := self.ask(word)).startswith("failed "):
            assert time.monotonic() < deadline, self.said[-5:]
            time.sleep(0.05)
        assert line.startswith("done"), self.said[-5:]

    def stop(self):
        self.process.kill()
        self.process.wait()


def hold(holder, fail_over):
    """fail_over(): what asks the server that leads afterwards."""
    token = holder.begun()
    holder.done("renew")
    ask = fail_over()
    begin = time.monotonic()
    holder.done("renew")
    holder.done("fenced")
    took = time.monotonic() - begin
    assert ask("GET", "{door}result") == ("$", b"mine")
    held = ask("LOCK.INFO", "door")
    assert str(token).encode() in str(held).encode(), (token, held)
    assert ask("LOCK.BREAK", "door") == (":", b"1")
    while (line := holder.next_line()).startswith("failed "):
        pass
    assert line == "lost NOTHELD", line
    assert holder.ask("renew") == "lost NOTHELD"
    assert holder.ask("fenced") == "lost STALE"
    return took


def with_sentinels(words):
    options = ("--appendonly", "yes", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10")
    with Group(*[Chosen.program] * 3, options=options) as group:
        until(group.is_settled, "all are well")
        holder = Holder(words, [sentinel.port for sentinel in group.sentinels])

        def fail_over():
            old = group.leader()
            old.server.kill()
            return group.failed_over(old).ask
        try:
            return hold(holder, fail_over)
        finally:
            holder.stop()


def with_cluster(words):
    with Cluster("--cluster-map-follow", "yes", "--min-replicas-to-write", "1") as cluster:
        master, replica = cluster.pairs[DOOR]
        others = [port for number, pair in enumerate(cluster.ports) if number != DOOR for port in pair]
        holder = Holder(words, others)

        def fail_over():
            """A Sentinel's part is played by hand."""
            master.process.send_signal(signal.SIGKILL)
            master.process.wait()
            ask = connection(replica).call
            assert ask("CONFIG", "SET", "min-replicas-to-write", "0") == ("+", b"OK")
            assert ask("REPLICAOF", "NO", "ONE") == ("+", b"OK")
            return ask
        try:
            return hold(holder, fail_over)
        finally:
            holder.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--client", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    chosen = parser.parse_args()
    Chosen.program = chosen.server
    for name in chosen.client:
        kind, *words = PROGRAMS[name]
        try:
            took = {SENTINEL: with_sentinels, CLUSTER: with_cluster}[kind](words)
            print(f"{name}: held over a failover, known after {took:.2f} s; lost when it was taken away", flush=True)
        except Skipped as why:
            print(f"{name}: skipped: {why}", flush=True)


if __name__ == "__main__":
    main()
