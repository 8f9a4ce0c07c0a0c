#!/usr/bin/python3
"""`sluice --export-redis` makes a file that redis-server loads, from a stopped Sluice's snapshot or log, or from a
running server: keys, values and deadlines are those of the source. What Redis cannot hold is left out and
counted. Nothing is written over, and no file of the source is changed.

  export_redis.py --server program [--oracle program]
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from import_backup import run, told
from log_redis import client_of, digest, shut_down, wire, write_all_types
from server import REDIS, SLUICE, Server

LOG = ["--appendonly", "yes"]
HOUR = "3600000"


def write_what_redis_has(client):
    """Values in small and large forms, with streams' groups and all kinds of deadlines."""
    write_all_types(client)
    fill = """for i = 1, 1500 do
        redis.call('HSET', 'large:hash', i, i) redis.call('ZADD', 'large:zset', i, 'm' .. i)
        redis.call('SADD', 'large:set', 'm' .. i) redis.call('SADD', 'numbers', i) redis.call('RPUSH', 'large:list', i)
        redis.call('XADD', 'large:stream', i .. '-1', 'f', i) end
        redis.call('XGROUP', 'CREATE', 'large:stream', 'group', '0')"""
    for request in (("EVAL", fill, "0"), ("XREADGROUP", "GROUP", "group", "me", "COUNT", "700", "STREAMS",
                                          "large:stream", ">"), ("XACK", "large:stream", "group", "5-1"),
                    ("PEXPIRE", "large:hash", HOUR), ("SELECT", "7"), ("SET", "seventh", "v", "EX", "1000"),
                    ("SELECT", "0")):
        kind, value = client.call(*request)
        assert kind != "-", (request, value)


def deadlines(client, databases=range(16)):
    """Of every key, the moment of its end."""
    ends = {}
    for db in databases:
        client.call("SELECT", str(db))
        for _, key in client.call("KEYS", "*")[1]:
            ends[db, key] = int(client.call("PEXPIRETIME", key)[1])
    client.call("SELECT", "0")
    return ends


def write_what_redis_has_not(client):
    for request in (("LOCK.ACQUIRE", "door", "me", "LEASE", HOUR), ("LOCK.ACQUIRE", "gate", "me", "LEASE", HOUR),
                    ("LOCK.ACQUIRE", "free", "me", "LEASE", HOUR), ("LOCK.RELEASE", "free", "me"),
                    ("LIMIT.TAKE", "user", "ROLLING", "10", HOUR, "COST", "4"),
                    ("LIMIT.POLICY", "SET", "slow", "ROLLING", "10", HOUR),
                    ("MCAPTCHA_CACHE.COUNT", "bucket", "3600"),
                    ("HSET", "timed", "a", "1", "b", "2", "c", "3", "d", "4"),
                    ("HPEXPIRE", "timed", HOUR, "FIELDS", "2", "a", "b"), ("HPEXPIRE", "timed", "1", "FIELDS", "1", "d"),
                    ("SET", "short", "v", "PX", "1")):
        kind, value = client.call(*request)
        assert kind != "-", (request, value)


LEFT_OUT = ["left out: 2 locks", "left out: 1 token of a lock that was given back", "left out: 1 limiter",
            "left out: 1 leaky bucket", "left out: 1 policy of limits",
            "left out: 2 deadlines of fields, in 1 hash: the fields are there, and stay"]
OWN_KEYS = {(0, b"door"), (0, b"gate"), (0, b"user"), (0, b"bucket")}


class Source:
    """What a server has, as Redis is to have it."""

    def __init__(self, client):
        for key in ("door", "gate", "user", "bucket", "timed", "short"):
            client.call("DEL", key)
        self.digest, self.ends = digest(client), deadlines(client)

    def check(self, oracle, file):
        """redis-server loads the file."""
        theirs = Server(oracle, wait=False)
        try:
            theirs.kill()
            shutil.copy(file, pathlib.Path(theirs.folder, "dump.rdb"))
            theirs.start()
            client = client_of(theirs)
            timed = dict(zip(*[iter(each[1] for each in client.call("HGETALL", "timed")[1])] * 2))
            assert timed == {b"a": b"1", b"b": b"2", b"c": b"3"}, timed
            assert client.call("PTTL", "timed") == (":", b"-1")
            assert client.call("EXISTS", "short", "door", "user", "bucket") == (":", b"0")
            client.call("DEL", "timed")
            # The lock's and the hash's moments are the server's: to the ms where the clock has not moved.
            ends = deadlines(client)
            assert ends.keys() == self.ends.keys(), ends.keys() ^ self.ends.keys()
            for key, end in self.ends.items():
                assert abs(ends[key] - end) <= 2, (key, ends[key], end)
            assert digest(client)[:2] == self.digest[:2]
        finally:
            theirs.stop()


def content(folder):
    return {path: path.read_bytes() for path in pathlib.Path(folder).rglob("*")
            if path.is_file() and path.name != "output"}


def export(program, file, *words, password=None):
    code, out, errors = run(program, "--export-redis", *words[:1], file, *words[1:], password=password)
    assert code == 0, errors
    assert f"{file}: {file.stat().st_size} bytes for redis-server 7.0\n" in out, out
    assert subprocess.run(["redis-check-rdb", file], capture_output=True).returncode == 0
    assert not list(file.parent.glob("*.temp-*")) and not list(file.parent.glob("*.snapshot-*"))
    return out.splitlines()


def export_all_ways(program, oracle, into):
    ours = Server(program, [*LOG, "--requirepass", "secret"], tcp=True)
    try:
        client = wire.Connection(ours.connect())
        assert client.call("AUTH", "secret") == ("+", b"OK")
        write_what_redis_has(client)
        write_what_redis_has_not(client)
        time.sleep(0.05)
        where = f"localhost:{ours.port}"
        out = export(program, into / "running.rdb", where, password="secret")
        assert [line for line in out if line.startswith("left out")] == LEFT_OUT, out
        keys = int(client.call("DBSIZE")[1]) + sum(
            client.call("SELECT", db) and int(client.call("DBSIZE")[1]) for db in ("3", "7"))
        assert any(line.startswith(f"written: {keys - len(OWN_KEYS)} keys, ") for line in out), (keys, out)
        assert "written: 1 library of functions" in out, out
        client.call("SELECT", "0")
        told(program, 1, "NOAUTH", "--export-redis", where, into / "none.rdb")
        told(program, 1, "is there already", "--export-redis", where, into / "running.rdb", "--pass", "secret")
        told(program, 1, "has the log in", "--export-redis", pathlib.Path(ours.folder, "appendonlydir"),
             into / "none.rdb")
        assert client.call("SAVE") == ("+", b"OK")
        shut_down(ours, client)

        folder = pathlib.Path(ours.folder)
        before = content(folder)
        told(program, 1, "name the one that counts", "--export-redis", folder, into / "none.rdb")
        for name, source in (("log", folder / "appendonlydir"), ("snapshot", folder / "dump.rdb")):
            out = export(program, into / f"{name}.rdb", source)
            assert [line for line in out if line.startswith("left out")] == LEFT_OUT, out
        assert content(folder) == before, "a file of the source was changed"
        assert not (into / "none.rdb").exists()

        ours.start()
        client = wire.Connection(ours.connect())
        client.call("AUTH", "secret")
        source = Source(client)
        for name in ("running", "log", "snapshot"):
            source.check(oracle, into / f"{name}.rdb")
    finally:
        ours.stop()
    told(program, 1, "cannot be connected to", "--export-redis", where, into / "none.rdb")


def what_is_over_is_left_out(program, into):
    """Keys and fields whose time ends while no server runs, in a log and in a snapshot."""
    ours = Server(program, LOG)
    try:
        client = client_of(ours)
        for request in (("SET", "a", "1", "PX", "300"), ("SET", "b", "1", "PX", "300"), ("SET", "c", "1"),
                        ("HSET", "h", "f", "1", "g", "2"), ("HPEXPIRE", "h", "300", "FIELDS", "1", "f"),
                        ("HSET", "all", "f", "1"), ("HPEXPIRE", "all", "300", "FIELDS", "1", "f"), ("SAVE",)):
            kind, value = client.call(*request)
            assert kind != "-", (request, value)
        ours.kill()
        time.sleep(0.4)
        folder = pathlib.Path(ours.folder)
        for name, source in (("over-log", folder / "appendonlydir"), ("over-snapshot", folder / "dump.rdb")):
            out = export(program, into / f"{name}.rdb", source)
            assert out[-3:] == ["written: 2 keys, 0 with a deadline", "left out: 3 keys whose time was over",
                                "left out: 1 field of a hash whose time was over"], out
    finally:
        ours.stop()


def many_databases(program, oracle, into):
    ours = Server(program, ["--databases", "40"])
    try:
        client = client_of(ours)
        client.call("SELECT", "33")
        client.call("SET", "k", "v")
        client.call("SAVE")
        out = export(program, into / "databases.rdb", ours.folder)
        assert out[-1] == "start redis-server with --databases 34", out
        told(program, 1, "database 33 is beyond", "--export-redis", ours.folder, into / "few.rdb", "--databases", "16")
    finally:
        ours.stop()
    theirs = Server(oracle, ["--databases", "34"], wait=False)
    try:
        theirs.kill()
        shutil.copy(into / "databases.rdb", pathlib.Path(theirs.folder, "dump.rdb"))
        theirs.start()
        assert deadlines(client_of(theirs), [33]) == {(33, b"k"): -1}
    finally:
        theirs.stop()


def refused(program, into):
    (into / "nothing").mkdir()
    (into / "text").write_bytes(b"hello\n")
    for sentence, *words in (
            ("has neither the manifest of a log nor dump.rdb", into / "nothing", into / "none.rdb"),
            ("is neither an RDB file nor a log", into / "text", into / "none.rdb"),
            (f"{into}/missing: ", into / "missing", into / "none.rdb"),
            ("cannot be made", into / "running.rdb", into / "missing" / "none.rdb"),
            ("is there already", into / "running.rdb", into / "text"),
            ("is there already", into / "running.rdb", into / "nothing")):
        told(program, 1, sentence, "--export-redis", *words)
    whole = (into / "running.rdb").read_bytes()
    (into / "cut.rdb").write_bytes(whole[:-20])
    told(program, 1, f"{into}/cut.rdb: offset ", "--export-redis", into / "cut.rdb", into / "none.rdb")
    told(program, 2, "takes two things", "--export-redis", into / "text")
    told(program, 2, "'--paswd' is not known here", "--export-redis", "localhost:1", into / "none.rdb", "--paswd", "x")
    told(program, 2, "nonsense", "--export-redis", into / "text", into / "none.rdb", "--nonsense", "1")
    os.symlink(into / "nowhere", into / "link")
    told(program, 1, "is there already", "--export-redis", into / "running.rdb", into / "link")
    assert not (into / "none.rdb").exists() and not (into / "nowhere").exists()
    assert not list(into.glob("*.temp-*")) and not list(into.glob("*.snapshot-*"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        into = pathlib.Path(folder)
        export_all_ways(options.server, options.oracle, into)
        what_is_over_is_left_out(options.server, into)
        many_databases(options.server, options.oracle, into)
        refused(options.server, into)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
