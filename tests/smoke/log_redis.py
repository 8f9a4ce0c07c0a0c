#!/usr/bin/python3
"""The log's files and the programs of Redis: redis-check-aof accepts ours, redis-server loads them, and the
append-only directory of redis-server 7.0 loads here; a second server on one folder is refused.

  log_redis.py --server program [--oracle program]
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import REDIS, SLUICE, Server  # noqa: E402

LOG = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]
LARGE = "x" * 300_000
WRITES = 40


def client_of(server):
    client = wire.Connection(server.connect())
    while True:
        kind, text = client.call("INFO", "persistence")
        if kind != "-" and b"loading:1" not in text:
            return client
        time.sleep(0.01)


def write_all_types(client):
    for request in (
            ("SET", "string", "v"), ("SET", "volatile", "v", "PX", "3600000"), ("INCR", "number"),
            ("SET", "large", LARGE), ("APPEND", "large", "y"), ("RPUSH", "list", "a", "b", "c"),
            ("HSET", "hash", "f", "v", "g", "w"), ("SADD", "set", "1", "2", "x"), ("SPOP", "set"),
            ("ZADD", "zset", "1", "a", "2.5", "b"), ("XADD", "stream", "*", "f", "v"),
            ("XGROUP", "CREATE", "stream", "g", "0"),
            ("XREADGROUP", "GROUP", "g", "me", "STREAMS", "stream", ">"),
            ("PFADD", "hll", "a", "b"), ("SETBIT", "bits", "77", "1"),
            ("GEOADD", "geo", "13.4", "52.5", "here"), ("SELECT", "3"), ("SET", "\x00\r\n#M:", "#"),
            ("MULTI",), ("INCR", "a"), ("INCR", "b"), ("SET", "grouped", "v", "EX", "3600"),
            ("PEXPIRE", "grouped", "7200000"), ("EXEC",), ("SET", "absolute", "v", "EXAT", "9999999999"),
            ("EVAL", "redis.call('set','c','1') return redis.call('incr','c')", "0"),
            ("SELECT", "0"), ("PEXPIRE", "list", "7200000"), ("RENAME", "string", "renamed"), ("DEL", "number"),
            ("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() end)")):
        kind, value = client.call(*request)
        assert kind != "-", (request, value)


def digest(client):
    ends = [client.call("SELECT", "3"), client.call("PEXPIRETIME", "grouped"), client.call("PEXPIRETIME", "absolute"),
            client.call("SELECT", "0"), client.call("PEXPIRETIME", "volatile"), client.call("PEXPIRETIME", "list")]
    return client.call("DEBUG", "DIGEST"), client.call("FUNCTION", "LIST"), ends


def hand_over(source, target):
    """Both servers are down: the log of the one becomes that of the other."""
    folder = pathlib.Path(target.folder, "appendonlydir")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pathlib.Path(source.folder, "appendonlydir"), folder)


def shut_down(server, client):
    try:
        client.call("SHUTDOWN", "NOSAVE")
    except (OSError, EOFError):
        pass
    server.process.wait(20)


def check_with_redis(server):
    manifest = pathlib.Path(server.folder, "appendonlydir", "appendonly.aof.manifest")
    checked = subprocess.run(["redis-check-aof", manifest], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def check_here(program, server, wanted):
    folder = pathlib.Path(server.folder, "appendonlydir")
    checked = subprocess.run([program, "--check-aof", folder], capture_output=True, text=True)
    assert checked.returncode == wanted, checked.stdout + checked.stderr
    return checked.stdout


def last_increment(server):
    """That the manifest names: a server that was killed may have begun another file."""
    folder = pathlib.Path(server.folder, "appendonlydir")
    lines = (folder / "appendonly.aof.manifest").read_text().splitlines()
    return folder / [line.split()[1] for line in lines if line.split()[5] == "i"][-1]


def second_is_refused(program, server):
    second = subprocess.run([program, "--port", "0", "--dir", server.folder, "--unixsocket",
                             server.socket_path + "2", *LOG],
                            capture_output=True, text=True, timeout=30)
    assert second.returncode == 1, second.stdout
    assert f"process {server.process.pid}, has the log" in second.stderr, second.stderr


def bring_back(theirs, ours, preamble):
    """Redis rewrites its log, its base as commands or as an RDB file, and writes on; ours loads that."""
    client = client_of(theirs)
    assert client.call("CONFIG", "SET", "aof-use-rdb-preamble", preamble) == ("+", b"OK")
    client.call("SELECT", "5")
    client.call("RPUSH", "long", *[f"{i}" * 50 for i in range(2000)])
    client.call("SELECT", "0")
    assert client.call("BGREWRITEAOF")[0] != "-"
    while b"aof_rewrite_in_progress:1" in client.call("INFO", "persistence")[1]:
        time.sleep(0.01)
    for request in (("SET", "theirs" + preamble, "1"), ("EXPIRE", "theirs" + preamble, "3600"),
                    ("LPOP", "list"), ("HDEL", "hash", "f")):
        assert client.call(*request)[0] != "-", request
    wanted = digest(client)
    base = next(pathlib.Path(theirs.folder, "appendonlydir").glob("*.base.*"))
    assert (base.read_bytes()[:5] == b"REDIS") == (preamble == "yes"), base
    shut_down(theirs, client)
    hand_over(theirs, ours)
    if ours.process is None or ours.process.poll() is not None:
        ours.start()
    client = client_of(ours)
    assert digest(client) == wanted, (preamble, digest(client), wanted)
    if preamble == "no":
        shut_down(ours, client)
        theirs.start()


def seconds_of(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def answers_come(server, client):
    """Under `always` an answer leaves when the disk has what it says, not when the next timer is due: that
    was half a second a write. What the disk takes is measured beside each write."""
    assert client.call("CONFIG", "SET", "appendfsync", "always") == ("+", b"OK")
    writes, syncs = [], []
    with open(pathlib.Path(server.folder, "synced"), "wb", buffering=0) as file:
        for _ in range(WRITES):
            file.write(b"x" * 100)
            syncs.append(seconds_of(lambda: os.fdatasync(file.fileno())))
            writes.append(seconds_of(lambda: client.call("INCR", "synced")))
    write, sync = statistics.median(writes), statistics.median(syncs)
    assert write < 0.25 + 10 * sync, f"a write took {write:.3f} s, a sync {sync:.3f} s"
    assert client.call("CONFIG", "SET", "appendfsync", "everysec") == ("+", b"OK")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    ours = Server(options.server, LOG)
    theirs = Server(options.oracle, LOG)
    try:
        client = client_of(ours)
        write_all_types(client)
        client.call("CONFIG", "SET", "aof-timestamp-enabled", "yes")
        client.call("INCR", "stamped")
        answers_come(ours, client)
        second_is_refused(options.server, ours)
        wanted = digest(client)
        shut_down(ours, client)
        check_with_redis(ours)
        assert "commands" in check_here(options.server, ours, 0)

        shut_down(theirs, client_of(theirs))
        hand_over(ours, theirs)
        theirs.start()
        client = client_of(theirs)
        assert digest(client) == wanted, (digest(client), wanted)

        # Back again, with what Redis has written behind our turns, rewritten, and behind that.
        for preamble in ("no", "yes"):
            bring_back(theirs, ours, preamble)
        client = client_of(ours)

        # Turned on beside data: a base of our own.
        client.call("CONFIG", "SET", "appendonly", "no")
        client.call("SET", "between", "1")
        turned_on = client.call("CONFIG", "SET", "appendonly", "yes")
        assert turned_on == ("+", b"OK"), turned_on
        client.call("SET", "behind", "1")
        wanted = digest(client)
        shut_down(ours, client)
        check_with_redis(ours)
        hand_over(ours, theirs)
        for server in (ours, theirs):
            server.start()
            assert digest(client_of(server)) == wanted, server.program

        ours.kill()
        with open(last_increment(ours), "ab") as file:
            file.write(b"*3\r\n$3\r\nSET\r\n")
        assert "a repair cuts the last 13 of" in check_here(options.server, ours, 1)
        ours.start()
        assert digest(client_of(ours)) == wanted
    finally:
        ours.stop()
        theirs.stop()
    print("ok")


if __name__ == "__main__":
    main()
