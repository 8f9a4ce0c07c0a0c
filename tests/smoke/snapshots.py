#!/usr/bin/python3
"""Snapshots and the programs of Redis: redis-check-rdb accepts ours, redis-server loads them and we load its;
a save that is killed leaves the file of before; SIGTERM saves where there are save points; and a log that is
written anew under load, and killed at a random moment, has all that was acknowledged.

  snapshots.py --server program [--oracle program] [--cycles n]
"""
import argparse
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time

from log_redis import client_of, digest, hand_over, shut_down, write_all_types
from server import REDIS, SLUICE, Server

CYCLES = 10


def rdb(server):
    return pathlib.Path(server.folder, "dump.rdb")


def info(client, field):
    for line in client.call("INFO", "persistence")[1].split(b"\r\n"):
        if line.startswith(field.encode() + b":"):
            return line.split(b":")[1].decode()
    raise AssertionError(field)


def saved_aside(client):
    saves = int(info(client, "rdb_saves"))
    assert client.call("BGSAVE") == ("+", b"Background saving started")
    while info(client, "rdb_bgsave_in_progress") == "1":
        time.sleep(0.01)
    assert info(client, "rdb_last_bgsave_status") == "ok"
    assert int(info(client, "rdb_saves")) == saves + 1


def check_with_redis(server):
    checked = subprocess.run(["redis-check-rdb", rdb(server)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def from_and_to_redis(ours, theirs):
    client = client_of(ours)
    write_all_types(client)
    wanted = digest(client)
    saved_aside(client)
    check_with_redis(ours)
    shut_down(theirs, client_of(theirs))
    shutil.copy(rdb(ours), rdb(theirs))
    theirs.start()
    client = client_of(theirs)
    assert digest(client) == wanted, (digest(client), wanted)
    for request in (("SET", "theirs", "1", "PX", "3600000"), ("LPOP", "list"), ("SAVE",)):
        assert client.call(*request)[0] != "-", request
    wanted = digest(client)
    ours.kill()
    shutil.copy(rdb(theirs), rdb(ours))
    ours.start()
    assert digest(client_of(ours)) == wanted


def large_values_are_of_one_instant(ours):
    """Large values are saved in pieces. What clients write to them meanwhile is not in the file, and done."""
    client = client_of(ours)
    client.call("FLUSHALL")
    members = 60_000
    fill = """for i = 1, ARGV[1] do
        redis.call('HSET', 'hash', i, i) redis.call('ZADD', 'zset', i, i) redis.call('SADD', 'set', 'm' .. i)
        redis.call('RPUSH', 'list', i) redis.call('XADD', 'stream', i .. '-1', 'f', i) end"""
    assert client.call("EVAL", fill, "0", str(members))[0] != "-"
    client.call("XGROUP", "CREATE", "stream", "group", "0")
    client.call("XREADGROUP", "GROUP", "group", "me", "COUNT", str(members), "STREAMS", "stream", ">")
    client.call("SETRANGE", "text", str(5_000_000), "end")
    wanted = digest(client)
    rounds = 0
    assert client.call("BGSAVE") == ("+", b"Background saving started")
    while info(client, "rdb_bgsave_in_progress") == "1":
        for request in (("HSET", "hash", "1", "new"), ("ZADD", "zset", "7", "1"), ("SREM", "set", "m1"),
                        ("LPUSH", "list", "new"), ("XACK", "stream", "group", "1-1"), ("APPEND", "text", "x"),
                        ("SET", f"key:{rounds}", "1")):
            assert client.call(*request)[0] != "-", request
        rounds += 1
    assert rounds > 0 and client.call("HGET", "hash", "1")[1] == b"new"
    check_with_redis(ours)
    shut_down(ours, client)
    ours.start()
    assert digest(client_of(ours)) == wanted


def own_types_come_back(ours):
    client = client_of(ours)
    token = client.call("LOCK.ACQUIRE", "door", "me", "LEASE", "3600000")[1][0]
    client.call("LIMIT.TAKE", "user", "ROLLING", "10", "3600000", "COST", "4")
    client.call("HSET", "timed", "f", "v", "g", "w")
    client.call("HPEXPIRE", "timed", "3600000", "FIELDS", "1", "f")
    taken = client.call("LIMIT.TAKE", "user", "ROLLING", "10", "3600000", "PEEK")[1][2]
    saved_aside(client)
    check_with_redis(ours)
    ours.restart()
    client = client_of(ours)
    assert client.call("LOCK.INFO", "door")[1][2] == token
    assert client.call("LIMIT.TAKE", "user", "ROLLING", "10", "3600000", "PEEK")[1][2] == taken
    left = [each[1] for each in client.call("HPTTL", "timed", "FIELDS", "2", "f", "g")[1]]
    assert 0 < int(left[0]) <= 3_600_000 and int(left[1]) == -1, left


def killed_save_leaves_the_old(ours):
    client = client_of(ours)
    before = rdb(ours).read_bytes()
    client.call("CONFIG", "SET", "rdb-key-save-delay", "10000000")
    client.call("SET", "late", "1")
    assert client.call("BGSAVE") == ("+", b"Background saving started")
    ours.kill()
    assert rdb(ours).read_bytes() == before
    ours.start()
    assert client_of(ours).call("EXISTS", "late") == (":", b"0")


def the_end_saves(ours):
    client = client_of(ours)
    client.call("CONFIG", "SET", "save", "3600 1")
    client.call("SET", "last", "1")
    ours.process.send_signal(signal.SIGTERM)
    assert ours.process.wait(20) == 0
    ours.start()
    client = client_of(ours)
    assert client.call("GET", "last") == ("$", b"1")
    client.call("SET", "lost", "1")
    shut_down(ours, client)  # NOSAVE
    ours.start()
    assert client_of(ours).call("EXISTS", "lost") == (":", b"0")
    assert client_of(ours).call("CONFIG", "SET", "dir", "/") != ("+", b"OK")


def failures_are_answered_as_by_redis(program, oracle):
    """Where dump.rdb is a folder no snapshot gets its name."""
    servers = [Server(each, ["--save", "3600 1000000"]) for each in (program, oracle)]
    try:
        clients = [client_of(server) for server in servers]
        watchers = [client_of(server) for server in servers]  # the others are in MULTI at times

        def same(*request):
            ours, theirs = (client.call(*request) for client in clients)
            assert ours == theirs, (request, ours, theirs)

        def same_figures():
            for client in watchers:
                while info(client, "rdb_bgsave_in_progress") == "1":
                    time.sleep(0.01)
            for field in ("rdb_last_bgsave_status", "rdb_saves"):
                ours, theirs = (info(client, field) for client in watchers)
                assert ours == theirs, (field, ours, theirs)
            # Whole seconds, of which either may see one more go by; -1: none has ended.
            ours, theirs = (info(client, "rdb_last_bgsave_time_sec") == "-1" for client in watchers)
            assert ours == theirs, "rdb_last_bgsave_time_sec"

        for server in servers:
            rdb(server).mkdir()
        for request in (("SET", "k", "1"), ("SAVE",), ("SET", "k", "2"), ("PING",)):
            same(*request)
            same_figures()
        same("BGSAVE")
        same_figures()
        for request in (("SET", "k", "3"), ("GET", "k"), ("PING",), ("PING", "x"), ("MULTI",), ("PING",), ("EXEC",),
                        ("EVAL", "return redis.call('SET', 'k', '4')", "0"), ("SAVE",), ("SHUTDOWN", "SAVE")):
            same(*request)
            same_figures()
        for server in servers:
            rdb(server).rmdir()
        for request in (("BGSAVE",), ("SET", "k", "5"), ("PING",), ("CONFIG", "RESETSTAT")):
            same(*request)
            same_figures()
    finally:
        for server in servers:
            server.stop()


def rewritten_under_load(program, cycles):
    """What a client was told is there, whenever the server is killed beside a rewriting."""
    server = Server(program, ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"])
    try:
        acknowledged = 0
        for _ in range(cycles):
            client = client_of(server)
            kind, value = client.call("GET", "count")
            assert int(value or 0) >= acknowledged, (value, acknowledged)
            client.call("CONFIG", "SET", "rdb-key-save-delay", random.choice(("0", "50", "500")))
            for i in range(300):
                client.call("SET", f"key:{i}", str(random.random()))
            kill = threading.Timer(random.uniform(0.01, 0.25), server.kill)
            kill.start()
            try:
                while True:
                    if random.random() < 0.02:
                        client.call("BGREWRITEAOF")
                    told = client.call("INCR", "count")
                    if told is None:  # the server is gone
                        break
                    acknowledged = max(acknowledged, int(told[1]))
            except OSError:
                pass
            kill.join()
            server.start()
        client = client_of(server)
        assert int(client.call("GET", "count")[1]) >= acknowledged
    finally:
        server.stop()


def log_goes_to_redis(program, oracle):
    """Ours, written anew, as Redis loads it."""
    log = ["--appendonly", "yes"]
    ours, theirs = Server(program, log), Server(oracle, log)
    try:
        client = client_of(ours)
        write_all_types(client)
        assert client.call("BGREWRITEAOF")[0] == "+"
        while info(client, "aof_rewrites") == "0":
            time.sleep(0.01)
        client.call("SET", "behind", "1")
        wanted = digest(client)
        shut_down(ours, client)
        shut_down(theirs, client_of(theirs))
        hand_over(ours, theirs)
        theirs.start()
        assert digest(client_of(theirs)) == wanted
    finally:
        ours.stop()
        theirs.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--cycles", type=int, default=CYCLES)
    options = parser.parse_args()
    ours, theirs = Server(options.server), Server(options.oracle)
    try:
        from_and_to_redis(ours, theirs)
        large_values_are_of_one_instant(ours)
        own_types_come_back(ours)
        killed_save_leaves_the_old(ours)
        the_end_saves(ours)
    finally:
        ours.stop()
        theirs.stop()
    failures_are_answered_as_by_redis(options.server, options.oracle)
    log_goes_to_redis(options.server, options.oracle)
    rewritten_under_load(options.server, options.cycles)
    print("ok")


if __name__ == "__main__":
    main()
