#!/usr/bin/python3
"""Made-up requests to a redis-server that is one of two in a cluster, and to a Sluice whose map is the same: whether
the keys are here, elsewhere (-MOVED), or of several slots (-CROSSSLOT), both have to say word for word.

  slots.py [--server program] [--oracle program] [--seed n] [--requests n]

Each is asked inside MULTI, where no command waits. Then the same of EXEC, of scripts, of a map with gaps, and what
CLUSTER answers of the map itself.
"""
import argparse
import pathlib
import random
import re
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))
sys.path.insert(0, str(FOLDER))

import wire  # noqa: E402
from grammar import KEYS, Grammar  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed, free_port  # noqa: E402

SLOTS = 16384
OF_SLOTS = re.compile(rb"MOVED |CROSSSLOT |CLUSTERDOWN |EXECABORT |ERR Script attempted|ERR Can not run script")
TAGS = [b"{a}", b"{b}", b"{}", b"{", b"}{", b"{a", b"a}"]
WAIT_SECONDS = 30


class Cluster:
    """Two redis-servers, of which the first is asked, and a Sluice in the first one's place. The first half of the
    slots is the first one's, the other the second one's but for `gap` at the end."""

    def __init__(self, options, gap=0):
        bus = [("--cluster-enabled", "yes", "--cluster-port", free_port()) for _ in range(2)]
        self.redis = [Server(options.oracle, words, tcp=True) for words in bus]
        self.oracles = [wire.Connection(server.connect()) for server in self.redis]
        self.ids = [oracle.call("CLUSTER", "MYID")[1].decode() for oracle in self.oracles]
        self.ranges = [(0, SLOTS // 2 - 1), (SLOTS // 2, SLOTS - 1 - gap)]
        for oracle, (first, last) in zip(self.oracles, self.ranges):
            assert oracle.call("CLUSTER", "ADDSLOTSRANGE", first, last) == ("+", b"OK")
        other = self.redis[1]
        assert self.oracles[0].call("CLUSTER", "MEET", "127.0.0.1", other.port, bus[1][3]) == ("+", b"OK")
        self.wait(lambda: self.known() == 2 and bool(gap) != (b"cluster_state:ok" in self.info()))
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        words = ("--cluster-enabled", "yes", "--cluster-map", self.map(), "--cluster-me", self.ids[0],
                 "--cluster-require-full-coverage", "no" if gap else "yes")
        self.sluice = Server(options.server, words, tcp=True)
        self.both = [wire.Connection(self.sluice.connect()), wire.Connection(self.redis[0].connect())]
        self.differences = self.compared = 0

    def map(self):
        path = pathlib.Path(self.folder.name) / "cluster.map"
        lines = [f"{first}-{last} 127.0.0.1:{server.port} {node}" for (first, last), server, node
                 in zip(self.ranges, self.redis, self.ids)]
        path.write_text("epoch 1\n" + "\n".join(lines) + "\n", encoding="ascii")
        return path

    def info(self):
        return self.oracles[0].call("CLUSTER", "INFO")[1]

    def known(self):
        """How many of the two know the other one's slots."""
        return sum(len(oracle.call("CLUSTER", "SLOTS")[1]) == 2 for oracle in self.oracles)

    @staticmethod
    def wait(done):
        end = time.monotonic() + WAIT_SECONDS
        while not done():
            assert time.monotonic() < end, "the redis-servers make no cluster"
            time.sleep(0.05)

    @staticmethod
    def stores_twice(words, ours):
        """GEORADIUS with two places for its result: redis-server asks where the last is, Sluice for both."""
        if words[0] not in (b"GEORADIUS", b"GEORADIUSBYMEMBER"):
            return False
        stores = [word for word in words if word.upper() in (b"STORE", b"STOREDIST")]
        return len(stores) > 1 and ours[1].startswith(b"CROSSSLOT")

    def has_no_keys(self, words, theirs):
        """Whether redis-server queues them, as it finds no keys in what makes no sense."""
        return theirs == ("+", b"QUEUED") and (
            is_stream_read(words) or self.oracles[1].call("COMMAND", "GETKEYS", *words)[0] == "-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in (*self.redis, self.sluice):
            server.stop()
        self.folder.cleanup()

    def ask(self, *args, only_of_slots=False):
        """The answers; noted where they differ."""
        ours, theirs = (connection.call(*args) for connection in self.both)
        self.compared += 1
        counts = not only_of_slots or any(reply[0] == "-" and OF_SLOTS.match(reply[1]) for reply in (ours, theirs))
        excused = senseless(theirs) or self.has_no_keys(args, theirs) or self.stores_twice(args, ours)
        if counts and ours != theirs and not excused:
            self.differences += 1
            if self.differences <= 20:
                print(f"{args}\n  ours   {ours!r}\n  theirs {theirs!r}")
        return ours, theirs


def senseless(reply):
    """Arguments that later versions have, which redis-server does not understand."""
    return reply[0] == "-" and (b"syntax error" in reply[1] or b"wrong number of arguments" in reply[1])


def is_stream_read(words):
    """XREAD and XREADGROUP: redis-server looks at no key of those that make no sense, and says so to nobody."""
    return words[0] in (b"XREAD", b"XREADGROUP")


def tagged(args, rng):
    """Some of its words with a tag, so that there are keys of one slot."""
    if rng.random() < 0.5:
        return args
    tag = rng.choice(TAGS)
    return [tag + word if word in KEYS else word for word in args]


def play(cluster, options, rng):
    names = [{entry[1][0][1].decode() for entry in connection.call("COMMAND")[1]} for connection in cluster.both]
    grammar = Grammar(names[0] & names[1])
    for _ in range(options.requests):
        command = rng.choice(grammar.commands)
        if command.name.startswith("@"):
            continue
        cluster.ask("MULTI")
        for _ in range(rng.randrange(1, 3)):
            cluster.ask(*tagged(grammar.draw(command, rng), rng), only_of_slots=True)
        cluster.ask("DISCARD")


def key(rng):
    return rng.choice(TAGS[:2]) + rng.choice([b"1", b"2"]) if rng.random() < 0.7 else rng.choice(KEYS)


def play_transactions(cluster, rng):
    for _ in range(200):
        cluster.ask("MULTI")
        for _ in range(rng.randrange(0, 4)):
            cluster.ask("SET", key(rng), "v") if rng.random() < 0.5 else cluster.ask("MGET", key(rng), key(rng))
        cluster.ask("EXEC")
        cluster.ask("WATCH", key(rng))
        cluster.ask("UNWATCH")


SCRIPTS = (b"return redis.call('get', ARGV[1])", b"return redis.pcall('set', ARGV[1], ARGV[2])",
           b"redis.call('get', ARGV[1]) return redis.call('get', ARGV[2])",
           b"redis.call('get', KEYS[1] or ARGV[1]) redis.call('set', ARGV[2], '1')",
           b"return redis.call('mget', ARGV[1], ARGV[2])")
HEADS = (b"", b"#!lua\n", b"#!lua flags=allow-cross-slot-keys\n", b"#!lua flags=no-cluster\n",
         b"#!lua flags=no-writes\n")


def play_scripts(cluster, rng):
    for _ in range(300):
        text = rng.choice(HEADS) + rng.choice(SCRIPTS)
        keys = [key(rng) for _ in range(rng.randrange(0, 3))]
        cluster.ask("EVAL", text, len(keys), *keys, key(rng), key(rng))


ODD = ([], ["x"], ["-1"], ["0"], ["1"], ["16383"], ["16384"], ["1", "1"], ["1", "2"], ["2", "1"], ["1", "x"],
       ["99999999999999999999"], ["", ""], ["1", "1", "1"], ["{a}b"])


def play_answers(cluster):
    """What needs no bus. The rest is not the same: there is none here."""
    for name in "KEYSLOT COUNTKEYSINSLOT GETKEYSINSLOT SLOTS MYID REPLICAS SLAVES COUNT-FAILURE-REPORTS NOSUCH".split():
        for words in ODD:
            cluster.ask("CLUSTER", name, *words)
    for node in cluster.ids:
        cluster.ask("CLUSTER", "REPLICAS", node)
        cluster.ask("CLUSTER", "COUNT-FAILURE-REPORTS", node)
    for words in (["READONLY"], ["READWRITE"], ["ASKING"], ["READONLY", "x"], ["SELECT", "0"], ["SELECT", "1"],
                  ["SELECT", "99"], ["SELECT", "x"], ["SWAPDB", "0", "1"], ["SWAPDB", "x", "y"], ["MOVE", "{a}", "1"],
                  ["MOVE", "{a}", "x"], ["COPY", "{a}1", "{a}2", "DB", "1"], ["COPY", "{a}1", "{a}2", "DB", "99"],
                  ["COPY", "{a}1", "{a}2", "DB", "0"], ["SORT", "{b}l", "BY", "w_*"], ["SORT", "{b}l", "GET", "#"],
                  ["SORT", "{b}l", "BY", "nosort"], ["INFO", "cluster"]):
        cluster.ask(*words)
    ours, theirs = (dict(zip((each[1] for each in reply[1][::2]), reply[1][1::2]))
                    for reply in (connection.call("HELLO") for connection in cluster.both))
    assert ours[b"mode"] == theirs[b"mode"] == ("$", b"cluster"), (ours, theirs)


def play_gaps(cluster, rng):
    """A slot of nobody: everything is refused, or only what lies in it."""
    for coverage in ("yes", "no"):
        for reads in ("no", "yes"):
            for connection in cluster.both:
                connection.call("CONFIG", "SET", "cluster-require-full-coverage", coverage)
                connection.call("CONFIG", "SET", "cluster-allow-reads-when-down", reads)
            cluster.wait(lambda: (b"cluster_state:ok" in cluster.both[1].call("CLUSTER", "INFO")[1])
                         == (coverage == "no"))
            for _ in range(100):
                cluster.ask("GET", key(rng))
                cluster.ask("SET", key(rng), "v")
                cluster.ask("MGET", key(rng), key(rng))
                cluster.ask("SPUBLISH", key(rng), "m")
            play_transactions(cluster, rng)
            play_scripts(cluster, rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--requests", type=int, default=6000)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    compared = differences = 0
    with Cluster(options) as whole:
        play(whole, options, rng)
        play_transactions(whole, rng)
        play_scripts(whole, rng)
        play_answers(whole)
        compared, differences = whole.compared, whole.differences
    with Cluster(options, gap=4000) as gapped:
        play_gaps(gapped, rng)
        compared, differences = compared + gapped.compared, differences + gapped.differences
    print(f"{compared} answers, {differences} differences (--seed {options.seed})")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
