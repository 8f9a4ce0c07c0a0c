#!/usr/bin/python3
"""Dumps values of every type on Sluice and on redis-server, restores each on the other, and compares.

  dumps.py [--seed n] [--rounds n] [--server program]

Both must find the other's dump sound, and the restored value must have the digest and the encoding of
the one that was dumped. Types that Sluice does not serve are left out. Types that only Sluice has are
module values: redis-check-rdb goes past them, and Redis refuses them in words. Exit status 1 on a
difference.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed  # noqa: E402


def text(rng):
    roll = rng.randrange(7)
    if roll == 0:
        return str(rng.choice([0, 1, -1, 127, 128, 255, 300, -4096, 32767, 40000, -2**31, 2**31, 2**40, 2**63 - 1,
                               -2**63, rng.randrange(10**6)])).encode()
    if roll == 1:
        return rng.choice([b"", b"01", b"-0", b"+1", b"x", b"\x00\xff"])
    if roll == 2:
        return bytes(rng.randrange(256) for _ in range(rng.choice([5, 62, 63, 64, 65, 200])))
    return rng.choice([b"a", b"abc ", b"0123456789"]) * rng.choice([1, 2, 5, 7, 40]) + str(rng.randrange(99)).encode()


def texts(rng):
    return [text(rng) for _ in range(rng.choice([1, 2, 5, 20, 120, 600]))]


def stream(rng):
    commands, top = [], 0
    for _ in range(rng.choice([1, 3, 30, 130])):
        top += rng.randrange(1, 50)
        fields = rng.choice([[b"f"], [b"f", b"g"], [b"h"], [text(rng)]])
        commands.append([b"XADD", b"k", b"%d-%d" % (top, rng.randrange(3))] +
                        [part for field in fields for part in (field, text(rng))])
    ids = [command[2] for command in commands]
    commands += [[b"XDEL", b"k", rng.choice(ids)] for _ in range(rng.randrange(4))]
    if rng.random() < 0.6:
        commands.append([b"XGROUP", b"CREATE", b"k", b"g", rng.choice([b"0", b"$", ids[0]])])
        for consumer in (b"me", b"you"):
            commands.append([b"XREADGROUP", b"GROUP", b"g", consumer, b"COUNT", b"%d" % rng.randrange(1, 9),
                             b"STREAMS", b"k", b">"])
        commands.append([b"XACK", b"k", b"g", rng.choice(ids)])
    return commands


def scores(rng):
    return [part for member in texts(rng)
            for part in (rng.choice([b"0", b"1", b"-1.5", b"inf", b"-inf", b"3.14159", b"1e300", b"12345678901"]), member)]


MAKERS = {
    "set": lambda rng: [[b"SET", b"k", text(rng)]],
    "append": lambda rng: [[b"APPEND", b"k", text(rng) * rng.choice([1, 50])]],
    "xadd": stream,
    "rpush": lambda rng: [[b"RPUSH", b"k"] + texts(rng)],
    "sadd": lambda rng: [[b"SADD", b"k"] + rng.choice([texts(rng), [b"%d" % rng.randrange(-9, 10**rng.randrange(1, 15))
                                                                    for _ in range(rng.choice([1, 9, 600]))]])],
    "hset": lambda rng: [[b"HSET", b"k"] + [part for name in texts(rng) for part in (name, text(rng))]],
    "zadd": lambda rng: [[b"ZADD", b"k"] + scores(rng)],
}


def look(connection, key):
    return [connection.call("DEBUG", "DIGEST-VALUE", key), connection.call("OBJECT", "ENCODING", key),
            connection.call("TYPE", key)]


class Crossing:
    def __init__(self, options):
        self.servers = [Server(options.server), Server(options.oracle)]
        self.ours, self.theirs = (wire.Connection(server.connect()) for server in self.servers)
        self.differences = 0

    def stop(self):
        for server in self.servers:
            server.stop()

    def tell(self, title, *what):
        self.differences += 1
        print(title, *what, flush=True)

    def carry(self, title, source, target):
        dump = source.call("DUMP", "k")[1]
        answer = target.call("RESTORE", "copy", "0", dump, "REPLACE")
        if answer != ("+", b"OK"):
            return self.tell(title, "was refused:", answer, dump[:200])
        # At home, too: a value that was larger once may have another encoding than its copy.
        source.call("RESTORE", "home", "0", dump, "REPLACE")
        if look(source, "home") != look(target, "copy") or look(source, "k")[0] != look(source, "home")[0]:
            self.tell(title, "is another value:", look(source, "k"), look(target, "copy"), dump[:200])
        if source.call("XINFO", "GROUPS", "k") != target.call("XINFO", "GROUPS", "copy"):
            self.tell(title, "has other groups")

    def play(self, name, seed):
        rng = random.Random(seed)
        for connection in (self.ours, self.theirs):
            connection.call("FLUSHALL")
        for command in MAKERS[name](rng):
            answers = [connection.call(*command) for connection in (self.ours, self.theirs)]
            if command[0] != b"XREADGROUP" and answers[0] != answers[1]:
                return self.tell(f"{name}, seed {seed}: {command[:4]} answers {answers}")
        self.carry(f"{name}, seed {seed}, from Sluice to Redis", self.ours, self.theirs)
        self.carry(f"{name}, seed {seed}, from Redis to Sluice", self.theirs, self.ours)


# Types of Sluice's own, one of each form.
OWN = ["LIMIT.TAKE window WINDOW 5 100000 COST 2", "LIMIT.TAKE rolling ROLLING 7 100000 BURST 20",
       "LIMIT.TAKE sliding SLIDING 5 100000", "LIMIT.TAKE log LOG 5000000000 100000 COST 4000000000",
       "LIMIT.TAKE gcra GCRA 7 100000 BURST 3 COST 4", "LIMIT.TAKE leaky LEAKY 5 100000",
       "LIMIT.TAKE banned WINDOW 1 100000 COST 2 BAN 100000", "LBUCKET.COUNT bucket 100",
       "LBUCKET.COUNT bucket 9223372036854775807", "LOCK.ACQUIRE lock me LEASE 100000 LABEL 12345",
       "LOCK.ACQUIRE shared me LEASE 100000 SHARED MINHOLD 5000",
       "LOCK.ACQUIRE shared you SESSION SHARED LABEL aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
       "LOCK.ACQUIRE permits me LEASE 100000 PERMITS 3 OF 2147483648"]


def check_own(crossing):
    """An RDB file of such values is sound to redis-check-rdb, and Redis itself refuses each."""
    for line in OWN:
        crossing.ours.call(*line.split())
    keys = [key for _, key in crossing.ours.call("KEYS", "*")[1]]
    dumps = {key: crossing.ours.call("DUMP", key)[1] for key in keys}
    for key, dump in dumps.items():
        answer = crossing.theirs.call("RESTORE", key, "0", dump)
        if answer != ("-", b"ERR Bad data format"):
            crossing.tell(f"{key} answers {answer} on Redis")
    body = b"REDIS0010\xfe\x00"
    for key, dump in dumps.items():
        body += dump[:1] + bytes([len(key)]) + key + dump[1:-10]
    with tempfile.NamedTemporaryFile(suffix=".rdb") as file:
        file.write(body + b"\xff" + bytes(8))  # without a checksum
        file.flush()
        checked = subprocess.run(["redis-check-rdb", file.name], capture_output=True, text=True, check=False)
    if checked.returncode or f"{len(dumps)} keys read" not in checked.stdout:
        crossing.tell("redis-check-rdb does not read them:", checked.stdout)
    print(f"{len(dumps)} values of Sluice's own types")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--rounds", type=int, default=60, help="of each type")
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    crossing = Crossing(options)
    try:
        served = [name for name in MAKERS if crossing.ours.call("COMMAND", "INFO", name)[1][0][0] == "*"]
        for seed in range(options.seed, options.seed + options.rounds):
            for name in served:
                crossing.play(name, seed)
        for connection in (crossing.ours, crossing.theirs):
            connection.call("FLUSHALL")
        check_own(crossing)
    finally:
        crossing.stop()
    print(f"{options.rounds} values of each of {', '.join(served)} from --seed {options.seed}: "
          f"{crossing.differences} differences")
    return 1 if crossing.differences else 0


if __name__ == "__main__":
    sys.exit(main())
