#!/usr/bin/python3
"""A real server under ordinary work for as long as you like: clients that come and go, locks by lease and by
connection with waiters, limits, keys that end, pub/sub, scripts, evictions. What it uses and what is resident
stay within 2 % from the end of the warm-up on.

  soak.py [--server program] [--seconds 600] by hand: continuous integration runs --seconds 20
"""
import argparse
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import SLUICE, Server, first_seed  # noqa: E402

FLAT = 0.02
WARM_UP = 0.25      # of the time
USERS = 5000
CROWD = 40          # clients at a time
SAMPLES_LEAST = 8
MIB = 1 << 20


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
        words("ZADD", "scores", number, user), words("ZREMRANGEBYRANK", "scores", 0, -1000),
        words("EVAL", f"return redis.call('INCR', KEYS[1]) + {number}", 1, f"counter:{number}"),
        words("WATCH", user), words("MULTI"), words("GET", user), words("EXEC"),
        words("LOCK.ACQUIRE", f"lease:{user}", user, "LEASE", chance.randrange(1, 5000)),
        words("XADD", "events", "MAXLEN", "1000", "*", "user", user),
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


def soak(server, seconds, seed):
    chance = random.Random(seed)
    asking = wire.Connection(server.connect())
    began = time.monotonic()
    crowd, samples, visits = [], [], 0
    next_sample = began + seconds * WARM_UP
    while time.monotonic() < began + seconds:
        crowd.append(visit(server, chance))
        visits += 1
        if len(crowd) > CROWD:
            crowd.pop(chance.randrange(len(crowd))).close()
        if time.monotonic() >= next_sample:
            samples.append(used_and_resident(asking, server))
            next_sample += seconds * (1 - WARM_UP) / 60
    return visits, samples


def report(visits, samples):
    """True when the last fifth of the samples is where the first fifth was."""
    part = max(1, len(samples) // 5)
    flat = True
    for what, column in (("used_memory", 0), ("resident", 1)):
        first = statistics.median(sample[column] for sample in samples[:part])
        last = statistics.median(sample[column] for sample in samples[-part:])
        print(f"  {what}: {first / MIB:.2f} MiB, then {last / MIB:.2f} MiB: {last / first - 1:+.2%}")
        flat = flat and last < first * (1 + FLAT)
    print(f"  {visits} clients came and went")
    return flat


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    seed = first_seed()
    print(f"soak: seed {seed}", flush=True)
    with Server(options.server, ["--maxmemory", "64mb", "--maxmemory-policy", "volatile-lru"]) as server:
        visits, samples = soak(server, options.seconds, seed)
        assert server.alive(), server.output()
        # Ten seconds are no steady state: there only that it lives and comes to its samples is asked.
        is_flat = report(visits, samples)
        assert len(samples) >= SAMPLES_LEAST, samples
        assert is_flat or options.seconds < 120, "it has grown"
    return 0


if __name__ == "__main__":
    sys.exit(main())
