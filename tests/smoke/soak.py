#!/usr/bin/python3
"""A real server under ordinary work for as long as you like: clients that come and go, locks by lease and by
connection with waiters, limits, keys that end, pub/sub, scripts. When all have left, what it uses and what is
resident is what it was after the first quarter, within 2 %.

  soak.py [--server program] [--seconds 600] by hand: continuous integration runs --seconds 20
"""
import argparse
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import SLUICE, Server, first_seed  # noqa: E402
from smoke import until  # noqa: E402

FLAT = 0.02
WARM_UP = 0.25      # of the time
USERS = 5000
CROWD = 40          # clients at a time
KEYS_FOR_EVER = 110  # counters, a stream, a sorted set
QUIET_SECONDS = 3    # the server tidies up
MIB = 1 << 20
# Beside 2 %: tables grow with the largest crowd, and pages come by the slice.
TABLES, PAGES = 32 << 10, 512 << 10


def words(*args):
    return wire.encode([str(arg).encode() for arg in args])


def visit(server, chance):
    """A client's life: what it sends in one go, and whether it says goodbye."""
    user = f"user:{chance.randrange(USERS)}"
    peer = wire.Connection(server.connect())
    number = chance.randrange(100)
    requests = [
        words("SET", user, "x" * chance.randrange(1, 400), "EX", chance.randrange(1, 20)),
        words("LIMIT.TAKE", f"limit:{user}", "ROLLING", 100, 5000),
        words("LIMIT.TAKE", f"log:{user}", "LOG", 10, 5000),
        words("LBUCKET.COUNT", f"bucket:{user}", 5),
        words("HSET", f"profile:{user}", "name", user, "seen", number),
        words("EXPIRE", f"profile:{user}", chance.randrange(1, 20)),
        words("ZADD", "scores", number, user), words("ZREMRANGEBYRANK", "scores", 0, -101),
        words("EVAL", f"return redis.call('INCR', KEYS[1]) + {number}", 1, f"counter:{number}"),
        words("WATCH", user), words("MULTI"), words("GET", user), words("EXEC"),
        words("LOCK.ACQUIRE", f"lease:{user}", user, "LEASE", chance.randrange(1, 5000)),
        words("XADD", "events", "MAXLEN", "100", "*", "user", user),
        words("PUBLISH", "news", user),
        words("LOCK.ACQUIRE", f"room:{number % 10}", f"{user}:{chance.random()}", "SESSION", "WAIT", 20)]
    peer.send(b"".join(requests))
    peer.replies(len(requests))
    if chance.random() < 0.2:
        peer.send(words("SUBSCRIBE", "news", f"private:{user}"))
        peer.replies(2)
    return peer


def used_and_resident(asking, server):
    lines = asking.call("INFO", "memory")[1].split(b"\r\n")
    fields = dict(line.split(b":", 1) for line in lines if b":" in line)
    return int(fields[b"used_memory"]), server.rss_bytes()


def work(server, chance, seconds):
    """So many visits; all have left when it returns."""
    crowd, visits, began = [], 0, time.monotonic()
    while time.monotonic() < began + seconds:
        crowd.append(visit(server, chance))
        visits += 1
        if len(crowd) > CROWD:
            crowd.pop(chance.randrange(len(crowd))).close()
    for peer in crowd:
        peer.close()
    return visits


def quiet(server, asking):
    """What is left when all that ends has ended: how much there is in the midst of work hangs on the machine."""
    asking.call("SCRIPT", "FLUSH")
    until(lambda: int(asking.call("DBSIZE")[1]) <= KEYS_FOR_EVER, "all that ends has ended")
    time.sleep(QUIET_SECONDS)
    return used_and_resident(asking, server)


def is_flat(before, after):
    flat = True
    for what, first, last, spare in zip(("used_memory", "resident"), before, after, (TABLES, PAGES)):
        print(f"  {what}: {first / MIB:.2f} MiB, then {last / MIB:.2f} MiB: {last / first - 1:+.2%}")
        flat = flat and last < first * (1 + FLAT) + spare
    return flat


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    seed = first_seed()
    print(f"soak: seed {seed}", flush=True)
    chance = random.Random(seed)
    with Server(options.server, ["--maxmemory", "64mb", "--maxmemory-policy", "volatile-lru",
                                 "--fence-retention", "5000"]) as server:
        asking = wire.Connection(server.connect())
        visits = work(server, chance, options.seconds * WARM_UP)
        before = quiet(server, asking)
        visits += work(server, chance, options.seconds * (1 - WARM_UP))
        after = quiet(server, asking)
        print(f"  {visits} clients came and went")
        assert server.alive(), server.output()
        assert is_flat(before, after), "it has grown"
    return 0


if __name__ == "__main__":
    sys.exit(main())
