"""Locks: a lock taken and given back, and handed over to a waiter.

The load is made here: redis-benchmark can't send two commands for the same random key. What is
compared is the server's CPU time alone, so the load generator's own does not matter.
"""
import hashlib
import random
from dataclasses import dataclass

from .report import paired
from .resp import Client, encode
from .rounds import alternate
from .servers import Failure, server

CLIENTS = 20
KEYS = 100_000
CHUNKS = 100  # different pipelines, sent in turn
RELEASE = ('if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) '
           'else return 0 end')
RELEASE_SHA1 = hashlib.sha1(RELEASE.encode()).hexdigest()


def _native(key):
    return [["LOCK.ACQUIRE", key, "me", "LEASE", "10000"], ["LOCK.RELEASE", key, "me"]]


def _scripted(key):
    return [["SET", key, "me", "NX", "PX", "10000"], ["EVALSHA", RELEASE_SHA1, "1", key, "me"]]


@dataclass(frozen=True)
class LockPairs:
    """Take and release, both in one pipeline; a request is the pair."""
    name: str
    pairs: int
    pipeline: int  # commands at once
    bar: float | None = None

    def run(self, bench):
        with server(bench.binary("sluice")) as ours, server(bench.binary("redis")) as theirs:
            theirs.client.call("SCRIPT", "LOAD", RELEASE)
            native, scripted = alternate(bench, self.name,
                                         lambda: self._round(bench, ours, _native, lines=6),
                                         lambda: self._round(bench, theirs, _scripted, lines=2))
        yield paired(self.name, "µs/pair", native, scripted, bar=self.bar,
                     note="reference: SET NX PX and EVALSHA on redis")

    def _round(self, bench, target, commands_of, lines):
        chooser = random.Random(1)
        per_chunk = self.pipeline // 2
        chunks = [b"".join(encode(command) for _ in range(per_chunk)
                           for command in commands_of(f"lock:{chooser.randrange(KEYS):012}"))
                  for _ in range(CHUNKS)]
        clients = [Client(target.port) for _ in range(CLIENTS)]
        left = bench.scaled(self.pairs) // (per_chunk * CLIENTS)
        before = target.cpu()
        for step in range(left):
            for at, client in enumerate(clients):
                client.socket.sendall(chunks[(step + at) % CHUNKS])
            for client in clients:
                _read_lines(client, per_chunk * lines)
        cost = target.cpu_since(before)[0] / (left * per_chunk * CLIENTS)
        for client in clients:
            client.close()
        return cost


def _read_lines(client, count):
    while count > 0:
        received = client.socket.recv(1 << 16)
        if not received or received.startswith(b"-"):
            raise Failure(f"an error instead of a lock: {received[:80]}")
        count -= received.count(b"\n")


@dataclass(frozen=True)
class LockHandOver:
    """A release until the next holder has its answer, with many waiters at one lock, beside as many
    locks with one waiter each: the same connections wake up in turn, so what differs is the line."""
    name: str
    waiters: int
    hand_overs: int
    bar: float | None = None

    def run(self, bench):
        with server(bench.binary("sluice")) as target:
            many, one = alternate(
                bench, self.name,
                lambda: self._round(bench, target, doors=1, at_each=self.waiters + 1),
                lambda: self._round(bench, target, doors=self.waiters // 2, at_each=2))
        yield paired(self.name, "µs", many, one, bar=self.bar,
                     note=f"{self.waiters} waiters at one lock; reference: one at each of many")

    def _round(self, bench, target, doors, at_each):
        lines = [_Line(target, f"door:{door}", at_each) for door in range(doors)]
        steps = bench.scaled(self.hand_overs)
        before = target.cpu()
        for step in range(steps):
            lines[step % doors].hand_over()
        cost = target.cpu_since(before)[0] / steps
        for line in lines:
            line.close()
        # A lock that goes before the server has seen that nobody waits is given to one that has gone.
        while b"blocked_clients:0" not in target.client.call("INFO", "clients"):
            pass
        target.client.call("DEL", *(line.door for line in lines))
        return cost


class _Line:
    """Clients of one lock: the first holds it, the others wait in their order."""

    def __init__(self, target, door, clients):
        self.door, self.holder = door, 0
        self.clients = [Client(target.port) for _ in range(clients)]
        owners = [f"{door}:{at}" for at in range(clients)]
        self.acquire = [encode(["LOCK.ACQUIRE", door, owner, "LEASE", "600000", "WAIT", "600000"])
                        for owner in owners]
        self.release = [encode(["LOCK.RELEASE", door, owner]) for owner in owners]
        for client, request in zip(self.clients, self.acquire):
            client.socket.sendall(request)
            target.client.call("PING")  # so that they queue in this order
        self.clients[0]._read()

    def hand_over(self):
        """A client that releases waits again, at the end."""
        at, self.holder = self.holder, (self.holder + 1) % len(self.clients)
        self.clients[at].socket.sendall(self.release[at] + self.acquire[at])
        self.clients[at]._read()
        self.clients[self.holder]._read()

    def close(self):
        for client in self.clients:
            client.close()
