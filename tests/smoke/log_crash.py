#!/usr/bin/python3
"""kill -9 under load with an append-only log: what was acknowledged is there after the restart, no token is
given twice, and no lock has two owners. The clients' own records are the judge.

  log_crash.py --server program [--cycles 200] [--seconds 150] [--seed N]

Ends after so many cycles, or so many seconds. Half of the cycles run under appendfsync always, half under
everysec.
"""
import argparse
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import SLUICE, Server, first_seed  # noqa: E402

CLIENTS = 4
LOCKS = 16
LEASE_MS = 600_000


class Record:
    """What one client was told, over all cycles."""

    def __init__(self, number):
        self.number = number
        self.count = 0      # of its counter, the last that was acknowledged
        self.asked = 0      # and that was asked for
        self.items = 0      # in its list
        self.asked_items = 0
        self.held = {}      # lock: token
        self.maybe = set()  # locks whose request was not answered
        self.tokens = []


def ask(client, *request):
    answer = client.call(*request)
    if answer is None:
        raise EOFError  # killed
    return answer


def work(server, record, chance):
    """Writes until the server is gone."""
    try:
        client = wire.Connection(server.connect())
        while True:
            choice = chance.random()
            if choice < 0.5:
                record.asked = record.count + 1
                kind, value = ask(client, "INCR", f"count:{record.number}")
                assert kind == ":", (kind, value)
                record.count = int(value)
            elif choice < 0.8:
                record.asked_items = record.items + 1
                kind, value = ask(client, "RPUSH", f"list:{record.number}", record.items)
                assert kind == ":", (kind, value)
                record.items += 1
            else:
                change_lock(client, record, chance)
    except (OSError, EOFError):
        pass  # killed


def change_lock(client, record, chance):
    name = f"lock:{chance.randrange(LOCKS)}"
    owner = f"owner:{record.number}"
    record.maybe.add(name)
    if name in record.held:
        ask(client, "LOCK.RELEASE", name, owner)
        del record.held[name]
    else:
        kind, grant = ask(client, "LOCK.ACQUIRE", name, owner, "LEASE", LEASE_MS)
        assert kind in ("*", "*-1", "$-1", "_"), (kind, grant)
        if kind == "*" and grant:
            record.held[name] = int(grant[0][1])
            record.tokens.append(record.held[name])
    record.maybe.discard(name)


def check(client, records):
    for record in records:
        value = client.call("GET", f"count:{record.number}")[1]
        value = int(value) if value else 0
        assert record.count <= value <= max(record.asked, record.count), (record.number, value)
        record.count = value
        items = client.call("LRANGE", f"list:{record.number}", 0, -1)[1]
        items = [int(item[1]) for item in items]
        assert record.items <= len(items) <= max(record.asked_items, record.items), len(items)
        assert items == list(range(len(items))), "items are missing or twice"
        record.items = len(items)
    owners = {}
    for record in records:
        for name, token in record.held.items():
            if name in record.maybe:
                continue
            assert name not in owners, f"{name} was granted to two owners"
            owners[name] = record.number
            # Its owner holds it still, under its token.
            kind, value = client.call("LOCK.RENEW", name, f"owner:{record.number}",
                                      "LEASE", LEASE_MS, "TOKEN", token)
            assert kind == ":" and int(value) > 0, (name, token, kind, value)
    # What was asked for and not answered is let go of, so that it is known again.
    for record in records:
        for name in record.maybe:
            client.call("LOCK.RELEASE", name, f"owner:{record.number}", "ALL")
            record.held.pop(name, None)
        record.maybe.clear()
    tokens = [token for record in records for token in record.tokens]
    assert len(tokens) == len(set(tokens)), "a token was given twice"


def wait_until_loaded(client):
    while b"loading:1" in client.call("INFO", "persistence")[1]:
        time.sleep(0.005)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--seed", type=int, default=first_seed())
    options = parser.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    deadline = time.monotonic() + options.seconds
    cycles = 0
    for fsync in ("always", "everysec"):
        server = Server(options.server, ["--appendonly", "yes", "--appendfsync", fsync])
        records = [Record(number) for number in range(CLIENTS)]
        try:
            half = options.cycles // 2 if fsync == "always" else options.cycles
            until = deadline - options.seconds / 2 if fsync == "always" else deadline
            while cycles < half and time.monotonic() < until:
                threads = [threading.Thread(target=work, args=(server, record,
                                                               random.Random(chance.random())))
                           for record in records]
                for thread in threads:
                    thread.start()
                time.sleep(chance.uniform(0, 0.1))
                server.kill()
                for thread in threads:
                    thread.join()
                server.start()
                client = wire.Connection(server.connect())
                wait_until_loaded(client)
                check(client, records)
                client.close()
                cycles += 1
            writes = sum(record.count + record.items for record in records)
            print(f"{fsync}: {cycles} cycles, {writes} writes")
        finally:
            server.stop()
    print("ok")


if __name__ == "__main__":
    main()
