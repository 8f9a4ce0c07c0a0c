#!/usr/bin/python3
"""MIGRATE with made-up arguments, of a redis-server and of a Sluice, each to a redis-server of its own: both have to
answer the same, and to leave the same keys behind, at both ends.

  migrate.py [--server program] [--oracle program] [--seed n] [--requests n]
"""
import argparse
import contextlib
import pathlib
import random
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed, free_port  # noqa: E402

KEYS = ["text", "number", "list", "set", "hash", "zset", "stream", "{tag}", "missing"]
DATABASES = (0, 1)
VALUES = (("SET", "text", "some text"), ("SET", "number", "17"), ("RPUSH", "list", "a", "b", "a"),
          ("SADD", "set", "x", "y"), ("HSET", "hash", "f", "v", "g", "w"), ("ZADD", "zset", "1", "m", "2.5", "n"),
          ("XADD", "stream", "1-1", "f", "v"), ("SET", "{tag}", "v"))
PASSWORD, USER = "secret", "mover"


class Way:
    """A server that gives, and a redis-server that takes. `locked`: the latter wants to know who asks."""

    def __init__(self, program, stack, locked):
        self.source, self.target = (self.start(stack, *words) for words in (
            (program,), (REDIS, *(("--requirepass", PASSWORD) if locked else ()))))
        self.to = wire.Connection(self.target.connect())
        if locked:
            assert self.to.call("AUTH", PASSWORD) == ("+", b"OK")
        self.ask(self.to, "ACL", "SETUSER", USER, "on", ">" + PASSWORD, "~*", "+restore", "+select", "+del")
        self.by = wire.Connection(self.source.connect())

    @staticmethod
    def start(stack, program, *options):
        server = Server(program, options, tcp=True)
        stack.callback(server.stop)
        return server

    @staticmethod
    def ask(connection, *words):
        answer = connection.call(*words)
        assert answer[0] != "-", (words, answer)

    def fill(self, expiring, busy):
        """The same keys again; those of `busy` are at the other end, too."""
        for connection in (self.by, self.to):
            self.ask(connection, "FLUSHALL")
        for words in VALUES:
            self.ask(self.by, *words)
        for name in expiring:
            self.ask(self.by, "PEXPIRE", name, "100000000")
        for name in busy:
            self.ask(self.to, "SET", name, "busy")

    def migrate(self, words):
        # A redis-server keeps its connection, and who it is there, for the next one.
        self.to.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        port = {"TARGET": self.target.port, "NOBODY": free_port()}
        return self.by.call("MIGRATE", *(port.get(word, word) for word in words))

    def left(self):
        """Values by key, of each end; times to live to the thousand seconds, as some pass on the way."""
        return [self.values(self.by, 0)] + [self.values(self.to, database) for database in DATABASES]

    def values(self, connection, database):
        self.ask(connection, "SELECT", database)
        found = {name: self.value(connection, name) for name in KEYS}
        self.ask(connection, "SELECT", 0)
        return found

    @staticmethod
    def value(connection, name):
        kind = connection.call("TYPE", name)[1]
        words = {b"string": ("GET", name), b"list": ("LRANGE", name, 0, -1), b"set": ("SMEMBERS", name),
                 b"hash": ("HGETALL", name), b"zset": ("ZRANGE", name, 0, -1, "WITHSCORES"),
                 b"stream": ("XRANGE", name, "-", "+")}
        value = connection.call(*words[kind])[1] if kind in words else None
        if kind in (b"set", b"hash"):
            value = sorted(value)
        return kind, value, round(int(connection.call("PTTL", name)[1]) / 1_000_000)


def login(rng, locked):
    right = (["AUTH", PASSWORD], ["AUTH2", USER, PASSWORD]) if locked else ([], ["AUTH2", USER, PASSWORD])
    wrong = (["AUTH", "wrong"], ["AUTH2", USER, "wrong"], ["AUTH2", "nobody", "x"], ["AUTH"], ["AUTH2", "x"])
    return rng.choice(right if rng.random() < 0.8 else wrong)


def options_of(rng, locked):
    """Words behind the time-out, in any order: KEYS, if it is there, the last."""
    words = [login(rng, locked)]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        words.append(rng.choice((["COPY"], ["REPLACE"], ["copy"], ["REPLACE"], ["NOSUCH"])))
    rng.shuffle(words)
    return [word for group in words for word in group]


def request(rng, locked):
    port = "TARGET" if rng.random() < 0.93 else rng.choice(("NOBODY", "x", "0", "70000", ""))
    several = rng.random() < 0.5
    name = "" if several and rng.random() < 0.95 else rng.choice(KEYS)
    database = rng.choice(("0", "0", "0", "0", "1", "1", "99", "x"))
    timeout = rng.choice(("1000", "1000", "1000", "1000", "0", "-5", "x"))
    words = ["127.0.0.1", port, name, database, timeout, *options_of(rng, locked)]
    if several:
        words += ["KEYS", *rng.choices(KEYS, k=rng.choice((0, 1, 1, 2, 3, 6)))]
    return words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--requests", type=int, default=300)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    compared = differences = moved = 0
    for locked in (False, True):
        with contextlib.ExitStack() as stack:
            ways = [Way(program, stack, locked) for program in (options.server, options.oracle)]
            for _ in range(options.requests):
                words = request(rng, locked)
                expiring, busy = (rng.sample(KEYS[:-1], k=rng.randrange(4)) for _ in range(2))
                for way in ways:
                    way.fill(expiring, busy)
                ours, theirs = ([way.migrate(words), *way.left()] for way in ways)
                compared += 1
                moved += theirs[0] == ("+", b"OK")
                if ours != theirs:
                    differences += 1
                    print(f"MIGRATE {words}, at both ends: {busy}\n  ours   {ours}\n  theirs {theirs}")
    print(f"{compared} requests, of which {moved} were done, {differences} differences (--seed {options.seed})")
    return 1 if differences or moved == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
