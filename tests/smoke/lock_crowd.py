#!/usr/bin/python3
"""50 connections of several processes take, renew, wait for and give back locks, by leases and sessions, alone,
shared and several at once, until their connection is reset or killed; then they connect anew. What they were
answered is all that is judged:
  no client holds a lock for certain while a client that excludes it does;
  a later grant of a lock, and any later one of a client, has a higher token;
  when all are gone, nothing is held and no client waits.
  lock_crowd.py --server program
"""
import argparse
import collections
import json
import multiprocessing
import pathlib
import random
import select
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import SLUICE, Server  # noqa: E402

PROCESSES, CONNECTIONS_EACH = 5, 10
SECONDS = 8
KEYS = ["a", "b", "c", "d"]
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: no FIN, a RST
RENEWED_MS = 200
PATIENCE = 60


class Holding:
    """A client knows when it asked and was answered, so between which moments it certainly held a lock."""

    def __init__(self, key, token, shared, answered, lease_until):
        self.key, self.token, self.shared = key, token, shared
        self.since = answered
        self.lease_until = lease_until  # at the earliest; None: it is a session's

    def record(self, until):
        end = until if self.lease_until is None else min(until, self.lease_until)
        return {"key": self.key, "token": self.token, "shared": self.shared, "since": self.since,
                "until": end}


class Client:
    """One connection at a time, one request at a time. Every life of a connection has an owner of its own."""

    def __init__(self, name, port, dice):
        self.name, self.port, self.dice = name, port, dice
        self.lives = 0
        self.records, self.tokens = [], []
        self.connect()

    def connect(self):
        self.sock = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.lives += 1
        self.owner = f"{self.name}.{self.lives}"
        self.data = b""
        self.held = {}
        self.asked = None  # what the reply will be to
        self.last_answered = time.monotonic()

    def leave(self, moment):
        """The connection is over; until `moment` it was there for certain. A lease outlives it."""
        for holding in self.held.values():
            leased = holding.lease_until is not None
            self.records.append(holding.record(holding.lease_until if leased else moment))
        self.sock.close()

    def send(self, *words):
        self.asked_at = time.monotonic()
        self.sock.sendall(wire.encode([str(word).encode() for word in words]))

    def step(self):
        """Hangs up now and then; asks for something if no reply is awaited."""
        if self.dice.random() < 0.02:
            self.leave(time.monotonic())
            return self.connect()
        if self.asked is None:
            self.ask()

    def ask(self):
        free = [key for key in KEYS if key not in self.held]
        choice = self.dice.random()
        if self.held and (choice < 0.45 or not free):
            self.give_back_or_renew(self.dice.choice(sorted(self.held)), choice)
        elif choice < 0.97:
            self.acquire(free)
        else:
            self.asked = ("kill",)
            self.send("CLIENT", "KILL", "ID", self.dice.randint(2, 400))

    def acquire(self, free):
        several = len(free) > 1 and self.dice.random() < 0.2
        keys = self.dice.sample(free, 2) if several else [self.dice.choice(free)]
        shared = self.dice.random() < 0.3
        lease = self.dice.randint(20, 300) if self.dice.random() < 0.5 else None
        words = ["LOCK.MACQUIRE", len(keys), *keys] if several else ["LOCK.ACQUIRE", *keys]
        words += [self.owner] + (["LEASE", lease] if lease else ["SESSION"])
        words += ["SHARED"] if shared else []
        words += ["WAIT", self.dice.randint(1, 500)] if self.dice.random() < 0.7 else []
        self.asked = ("acquire", keys, several, shared, lease)
        self.send(*words)

    def give_back_or_renew(self, key, choice):
        holding = self.held[key]
        if holding.lease_until is not None and choice < 0.15:
            self.asked = ("renew", key, RENEWED_MS)
            self.send("LOCK.RENEW", key, self.owner, "LEASE", RENEWED_MS)
            # It may be shortened by that, and the answer be lost.
            renewed_until = self.asked_at + RENEWED_MS / 1000
            holding.lease_until = min(holding.lease_until, renewed_until)
            return
        # It may be another's as soon as this is on its way.
        self.asked = ("release",)
        self.records.append(self.held.pop(key).record(time.monotonic()))
        self.send("LOCK.RELEASE", key, self.owner)

    def readable(self):
        try:
            chunk = self.sock.recv(65536)
        except OSError:
            chunk = b""
        if not chunk:  # killed, at an unknown moment
            self.leave(self.last_answered)
            return self.connect()
        self.data += chunk
        while True:
            try:
                reply, end = wire.read(self.data)
            except wire.Incomplete:
                return
            self.data = self.data[end:]
            self.answered(reply)

    def answered(self, reply):
        asked, self.asked = self.asked, None
        now = self.last_answered = time.monotonic()
        if asked[0] == "acquire" and reply[0] == "*":
            _, keys, several, shared, lease = asked
            for at, key in enumerate(keys):
                token = int(reply[1][at if several else 0][1])
                self.tokens.append((key, token))
                until = self.asked_at + lease / 1000 if lease else None
                self.held[key] = Holding(key, token, shared, now, until)
        elif asked[0] == "acquire":
            assert reply[0] in ("*-1", "-"), reply
        elif asked[0] == "renew" and reply[0] == ":":
            holding = self.held[asked[1]]
            holding.lease_until = self.asked_at + asked[2] / 1000
        elif asked[0] == "renew":
            self.held.pop(asked[1])  # it was over


def play(number, port, seed, results):
    """A process with its connections; tells what they recorded."""
    dice = random.Random(seed * 1000 + number)
    clients = [Client(f"p{number}c{i}", port, dice) for i in range(CONNECTIONS_EACH)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for client in clients:
            try:
                client.step()
            except OSError:
                client.leave(client.last_answered)
                client.connect()
        ready, _, _ = select.select([client.sock for client in clients], [], [], 0.002)
        for client in clients:
            if client.sock in ready:
                client.readable()
    for client in clients:
        client.leave(time.monotonic())
    results.put(json.dumps([{"records": client.records, "tokens": client.tokens,
                             "connections": client.lives} for client in clients]))


def check(lives):
    """Judges what all clients recorded; returns how many grants there were."""
    by_key = collections.defaultdict(list)
    given = set()
    for life in lives:  # one client's, over all of its connections
        newest = 0
        for key, token in life["tokens"]:
            assert token > newest, f"token {token} of {key} came after {newest}"
            assert token not in given, f"token {token} of {key} was given twice"
            given.add(token)
            newest = token
        for record in life["records"]:
            if record["until"] > record["since"]:
                by_key[record["key"]].append(record)
    for key, records in by_key.items():
        records.sort(key=lambda record: record["since"])
        open_ones = []
        for record in records:
            open_ones = [other for other in open_ones if other["until"] > record["since"]]
            for other in open_ones:
                assert record["shared"] and other["shared"], f"two hold {key}: {other}, {record}"
            open_ones.append(record)
        check_order(key, records)
    return len(given)


def check_order(key, records):
    """A holding that began after another had ended for certain has the higher token."""
    ended = sorted(records, key=lambda record: record["until"])
    at, highest = 0, 0
    for record in records:
        while at < len(ended) and ended[at]["until"] <= record["since"]:
            highest = max(highest, ended[at]["token"])
            at += 1
        # Readers hold together: their answers may come in another order than their grants.
        assert record["shared"] or record["token"] > highest, f"{key}: {record} after {highest}"


def until_all_is_free(server):
    client = wire.Connection(server.connect())
    deadline = time.monotonic() + PATIENCE
    while True:
        fields = dict(line.split(b":", 1) for line in client.call("INFO", "locks")[1].splitlines()
                      if b":" in line)
        if all(int(fields[name]) == 0 for name in (b"locks_held", b"locks_waiting")):
            return fields
        assert time.monotonic() < deadline, f"still held: {fields}"
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    print(f"repeat (as far as time lets it) with --seed {options.seed}", flush=True)
    server = Server(options.server, tcp=True)
    try:
        results = multiprocessing.Queue()
        players = [multiprocessing.Process(target=play,
                                           args=(number, server.port, options.seed, results))
                   for number in range(PROCESSES)]
        for player in players:
            player.start()
        lives = [life for _ in players for life in json.loads(results.get(timeout=PATIENCE))]
        for player in players:
            player.join()
        grants = check(lives)
        fields = until_all_is_free(server)
        assert server.alive(), server.output()
        assert grants > 100, f"only {grants} grants"  # on the slowest machine
        told = int(fields[b"locks_granted"])
        assert grants <= told, f"{grants} grants were answered, {told} were given"
        connections = sum(life["connections"] for life in lives)
        print(f"ok: {grants} grants of {told} were answered over {connections} connections")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
