#!/usr/bin/python3
"""Two clusters of three masters and three replicas, made by `redis-cli --cluster create`, of redis-servers and of
Sluices: what their servers say of the cluster, what a replica reads, what is counted of -MOVED, sharded messages, and
made-up requests while slots are on their way (SETSLOT, ASKING, -ASK, MIGRATE). Both have to say the same, with ids and
ports written as the servers' numbers.

  made_clusters.py [--server program] [--oracle program] [--seed n] [--requests n]
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed, free_port  # noqa: E402

SERVERS = 6
WAIT_SECONDS = 60
A, B, C = 15495, 3300, 7365  # the slots of {a}, {b} and {c}: each master has one of them


class Cluster:
    def __init__(self, program):
        options = ["--cluster-enabled", "yes", "--repl-diskless-sync-delay", "0"]
        # The bus of a redis-server is 10,000 above its port, unless it is told.
        bus = [["--cluster-port", free_port()] if program == str(REDIS) else [] for _ in range(SERVERS)]
        self.servers = [Server(program, (*options, *words), tcp=True) for words in bus]
        self.clients = [self.connect(number) for number in range(SERVERS)]
        self.create()
        self.number_replicas()
        self.names = {str(server.port): f"P{number}" for number, server in enumerate(self.servers)}
        self.ids = [client.call("CLUSTER", "MYID")[1].decode() for client in self.clients]
        self.names.update({node: f"N{number}" for number, node in enumerate(self.ids)})
        self.pattern = re.compile("|".join(rf"\b{name}\b" for name in self.names))

    def create(self):
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        done = subprocess.run(["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"], capture_output=True, text=True, timeout=120)
        assert "[OK] All 16384 slots covered." in done.stdout, done.stdout + done.stderr
        self.wait(lambda: all(client.call("CLUSTER", "NODES")[1].count(b"slave") == 3 for client in self.clients))
        self.wait(lambda: all(b"cluster_state:ok" in client.call("CLUSTER", "INFO")[1] for client in self.clients))
        self.wait(lambda: all(b"master_link_status:up" in client.call("INFO", "replication")[1]
                              for client in self.clients[3:]))
        # A redis-server shows a replica of which it has heard that it has some of the stream.
        for client, tag in zip(self.clients, "bca"):
            assert client.call("SET", f"{{{tag}}}first", "1") == ("+", b"OK")
        self.wait(lambda: all(str(client.call("CLUSTER", "SHARDS")).count("online") == SERVERS
                              for client in self.clients))

    def number_replicas(self):
        """redis-cli draws whose replica a server becomes; number n + 3 is to be that of n."""
        ports = [server.port for server in self.servers]
        order = sorted(range(3, SERVERS), key=lambda number: ports.index(int(self.clients[number].call("ROLE")[1][2][1])))
        self.servers[3:] = [self.servers[number] for number in order]
        self.clients[3:] = [self.clients[number] for number in order]

    @staticmethod
    def wait(done):
        end = time.monotonic() + WAIT_SECONDS
        while not done():
            assert time.monotonic() < end, "the cluster does not get there"
            time.sleep(0.05)

    def connect(self, number):
        return wire.Connection(self.servers[number].connect())

    def named(self, value):
        """Ids and ports as the servers' numbers, in all that a reply holds."""
        if isinstance(value, bytes):
            return self.pattern.sub(lambda match: self.names[match[0]], value.decode("latin-1"))
        if isinstance(value, (list, tuple)):
            return type(value)(self.named(element) for element in value)
        return value

    def stop(self):
        for server in self.servers:
            server.stop()


class Pair:
    """The same said to both; `ask` notes where the answers differ."""

    def __init__(self, options):
        self.clusters = []
        try:
            self.clusters = [Cluster(options.server), Cluster(options.oracle)]
        except BaseException:
            self.stop()
            raise
        self.compared = self.differences = 0
        self.extra = {}

    def stop(self):
        for cluster in self.clusters:
            cluster.stop()

    def compare(self, what, ours, theirs):
        self.compared += 1
        if ours == theirs:
            return
        self.differences += 1
        if self.differences <= 20:
            print(f"{what}\n  ours   {ours!r:.2000}\n  theirs {theirs!r:.2000}")

    def ask(self, number, *words, form=lambda value: value, client=None):
        """`client`: of those that `open` has made. A word N<n> is a server's id, a word P<n> its port."""
        answers = []
        for cluster in self.clusters:
            connection = self.extra[client][cluster] if client else cluster.clients[number]
            filled = [self.fill(cluster, word) for word in words]
            answers.append(form(cluster.named(connection.call(*filled))))
        self.compare((number, client, words), *answers)
        return answers[0]

    @staticmethod
    def fill(cluster, word):
        if re.fullmatch(r"N\d", word):
            return cluster.ids[int(word[1])]
        return str(cluster.servers[int(word[1])].port) if re.fullmatch(r"P\d", word) else word

    def open(self, name, number):
        self.extra[name] = {cluster: cluster.connect(number) for cluster in self.clusters}

    def pushed(self, name, count):
        self.compare((name, "is told"), *(
            cluster.named([wire.reply(raw) for raw in self.extra[name][cluster].replies(count)])
            for cluster in self.clusters))


def nodes_form(reply):
    """Without times and epochs, which are no same in two clusters, and the bus."""
    lines = []
    for line in reply[1].splitlines():
        words = line.split()
        lines.append((words[0], words[1].split("@")[0], words[2], words[3], *words[7:]))
    return sorted(lines)


def shards_form(reply):
    def fields(pairs):
        values = dict(zip((name[1] for name in pairs[::2]), pairs[1::2]))
        if "replication-offset" in values:
            values["replication-offset"] = None
        return values
    shards = []
    for shard in reply[1]:
        outer = fields(shard[1])
        nodes = [sorted(fields(node[1]).items(), key=str) for node in outer["nodes"][1]]
        shards.append((str(outer["slots"]), sorted(nodes, key=str)))
    return sorted(shards, key=str)


def play_answers(pair):
    for number in range(SERVERS):
        pair.ask(number, "CLUSTER", "SLOTS")
        pair.ask(number, "CLUSTER", "NODES", form=nodes_form)
        pair.ask(number, "CLUSTER", "SHARDS", form=shards_form)
        for other in range(SERVERS):
            pair.ask(number, "CLUSTER", "REPLICAS", f"N{other}", form=lambda reply: reply if reply[0] == "-" else
                     nodes_form(("$", "\n".join(line[1] for line in reply[1]))))


def play_holes(pair):
    """Slots that a master gives back, and takes again: ranges that end, begin and part there, and slots that stand alone.
    Others of a redis-cluster do not hear of it, so the master alone is asked, and of itself."""
    for words in (["SLOTS", "x"], ["NODES", "x"], ["SHARDS", "x"], ["SHARDS"], ["LINKS", "x"]):
        pair.ask(0, "CLUSTER", *words, form=lambda reply: reply if reply[0] == "-" else shards_form(reply))
    for number, first in ((0, 0), (2, 10923)):
        for words in (["DELSLOTS", first + 100], ["DELSLOTSRANGE", first + 102, first + 200, first + 300, first + 301],
                      ["DELSLOTS", first, first + 2, first + 5000], ["DELSLOTS", first], ["ADDSLOTS", first + 2],
                      ["ADDSLOTS", first, first + 100, first + 5000],
                      ["ADDSLOTSRANGE", first + 102, first + 200, first + 300, first + 301]):
            own = f"N{number}"
            pair.ask(number, "CLUSTER", *(str(word) for word in words))
            pair.ask(number, "CLUSTER", "SLOTS", form=lambda reply: [each for each in reply[1] if own in str(each[1][2])])
            pair.ask(number, "CLUSTER", "NODES", form=lambda reply: [each for each in nodes_form(reply) if each[0] == own])
            pair.ask(number, "CLUSTER", "SHARDS", form=lambda reply: [each for each in shards_form(reply) if own in str(each[1])])
    for cluster in pair.clusters:
        cluster.wait(lambda cluster=cluster: all(b"cluster_state:ok" in client.call("CLUSTER", "INFO")[1]
                                                 for client in cluster.clients))


def play_replicas(pair):
    """A replica reads for those who say READONLY: by itself, in MULTI, and in scripts."""
    replica = 3
    pair.ask(0, "SET", "{b}x", "1")
    for cluster in pair.clusters:
        cluster.wait(lambda cluster=cluster: cluster.clients[0].call("WAIT", "1", "1000") == (":", b"1"))
    read = "return redis.call('get', KEYS[1])"
    for words in (["GET", "{b}x"], ["READONLY"], ["GET", "{b}x"], ["GET", "{a}x"], ["SET", "{b}x", "2"],
                  ["MULTI"], ["GET", "{b}x"], ["EXEC"], ["MULTI"], ["SET", "{b}x", "2"], ["EXEC"],
                  ["MULTI"], ["GET", "{b}x"], ["PING"], ["EXEC"], ["EVAL", read, "1", "{b}x"],
                  ["EVAL_RO", read, "1", "{b}x"], ["EVAL", "#!lua\n" + read, "1", "{b}x"],
                  ["EVAL", "#!lua flags=no-writes\n" + read, "1", "{b}x"],
                  ["EVAL", "return redis.call('set', KEYS[1], '1')", "1", "{b}x"], ["READWRITE"], ["GET", "{b}x"],
                  ["MULTI"], ["GET", "{b}x"], ["EXEC"], ["SPUBLISH", "{b}x", "m"], ["SPUBLISH", "{a}x", "m"]):
        pair.ask(replica, *words)


def play_counts(pair):
    """-MOVED is an error that is counted, and the command as one that was rejected."""
    def counted(reply):
        return sorted(re.sub(r"usec=\d+,usec_per_call=[\d.]+,", "", line) for line in reply[1].splitlines()
                      if re.match(r"errorstat_(MOVED|CROSSSLOT|ASK|EXECABORT)|cmdstat_(get|mget|exec|set)", line))
    pair.ask(0, "CONFIG", "RESETSTAT")
    for words in (["GET", "{a}x"], ["GET", "{b}x"], ["MGET", "{a}x", "{b}x"], ["MULTI"], ["GET", "{a}x"], ["EXEC"],
                  ["MULTI"], ["SET", "{b}x", "1"], ["EXEC"]):
        pair.ask(0, *words)
    pair.ask(0, "INFO", "errorstats", form=counted)
    pair.ask(0, "INFO", "commandstats", form=counted)


def play_shards(pair):
    pair.open("hears", 0)
    for words in (["SSUBSCRIBE", "{b}1"], ["SSUBSCRIBE", "{a}1"], ["SSUBSCRIBE", "{b}1", "{a}1"],
                  ["SUNSUBSCRIBE", "{b}2"], ["SSUBSCRIBE", "{b}2"]):
        pair.ask(0, *words, client="hears")
    for words in (["SPUBLISH", "{b}1", "m"], ["SPUBLISH", "{a}1", "m"], ["SPUBLISH", "{b}3", "m"],
                  ["PUBSUB", "SHARDNUMSUB", "{b}1", "{b}9"], ["MULTI"], ["SPUBLISH", "{b}2", "n"], ["EXEC"]):
        pair.ask(0, *words)
    pair.pushed("hears", 2)


KEYS = [f"{{{tag}}}{number}" for tag in "abc" for number in range(3)]
SLOTS = {"a": A, "b": B, "c": C}


def play_moves(pair, rng, requests):
    """Slots of the three tags are opened, closed and given away at will, and asked for on every master. Redis gossips
    what is given away, so that is said to all at once, the new owner first."""
    owner = {"a": 2, "b": 0, "c": 1}
    for number in range(3):
        pair.open(f"m{number}", number)
    for _ in range(requests):
        tag = rng.choice("abc")
        slot, other = str(SLOTS[tag]), rng.randrange(3)
        key = [rng.choice([name for name in KEYS if name[1] == tag]) for _ in range(2)]
        choice = rng.random()
        if choice < 0.06:
            pair.ask(owner[tag], "CLUSTER", "SETSLOT", slot, "MIGRATING", f"N{other}")
        elif choice < 0.12:
            pair.ask(other, "CLUSTER", "SETSLOT", slot, "IMPORTING", f"N{owner[tag]}")
        elif choice < 0.15:
            pair.ask(rng.randrange(3), "CLUSTER", "SETSLOT", slot, "STABLE")
        elif choice < 0.17:
            for word in (["x"], ["1"], ["16384", "STABLE"], [slot, "NODE", "x"], [slot, "MIGRATING", "N4"], [slot, "NOSUCH"],
                         [slot, "IMPORTING", "x"], [slot, "NODE", "N5"], [slot, "STABLE", "x"]):
                pair.ask(rng.randrange(3), "CLUSTER", "SETSLOT", *word)
        elif choice < 0.25 and other != owner[tag]:
            replace = ["REPLACE"] if rng.random() < 0.5 else []
            pair.ask(owner[tag], "MIGRATE", "127.0.0.1", f"P{other}", "", "0", "5000", *replace, "KEYS", *key)
        else:
            client = f"m{rng.randrange(3)}"
            if rng.random() < 0.4:
                pair.ask(None, "ASKING", client=client)
            words = rng.choice((["SET", key[0], "v"], ["GET", key[0]], ["MGET", *key], ["MSET", key[0], "1", key[1], "2"],
                                ["DEL", *key], ["EVAL", "return redis.call('exists', KEYS[1])", "1", key[0]],
                                ["SPUBLISH", key[0], "m"], ["PING"], ["EXISTS", *key]))
            pair.ask(None, *words, client=client)
    for number in range(3):
        pair.ask(number, "CLUSTER", "NODES", form=nodes_form)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--requests", type=int, default=2000)
    options = parser.parse_args()
    options.server, options.oracle = str(options.server), str(options.oracle)
    pair = Pair(options)
    try:
        play_answers(pair)
        play_holes(pair)
        play_answers(pair)
        play_replicas(pair)
        play_counts(pair)
        play_shards(pair)
        play_moves(pair, random.Random(options.seed), options.requests)
    finally:
        pair.stop()
    print(f"{pair.compared} answers, {pair.differences} differences (--seed {options.seed})")
    return 1 if pair.differences else 0


if __name__ == "__main__":
    sys.exit(main())
