#!/usr/bin/python3
"""redis-server follows Sluice, and another redis-server follows that one: what Redis can hold is on all, however often
links are cut.

  replicas.py [--server program] [--sender program] [--seconds 3] [test ...]      --seconds 600: as long as a campaign

--sender: the program request_sender of the same build, for the requests of command_fuzz.
"""
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import REDIS, ROOT, Server, first_seed  # noqa: E402
from smoke import PATIENCE, Chosen, Skip, client, info, run_tests, until  # noqa: E402

SECONDS = 3
SENDER = ROOT / "build-test" / "tests" / "request_sender"
DATABASES = 16
MASTER = ("--repl-diskless-sync-delay", "0", "--repl-backlog-size", "64mb")
KEYS = [f"key{number}" for number in range(40)]
OWN = [f"own{number}" for number in range(8)]  # of types that Redis does not have


def master(*options):
    return Server(Chosen.program, MASTER + options, tcp=True)


def follower(leader, *options):
    return Server(REDIS, ("--replicaof", f"127.0.0.1 {leader.port}", "--repl-timeout", "20", *options), tcp=True)


def number(connection, section, field):
    return int(info(connection, section)[field.encode()])


def is_up(connection):
    return info(connection, "replication").get(b"master_link_status") == b"up"


def offset(connection):
    return number(connection, "replication", "master_repl_offset")


def has_caught_up(leader, behind):
    return is_up(behind) and offset(behind) == offset(leader)


def contents(connection, names):
    """Values by their digests, and moments of end, of these keys in both databases."""
    found = {}
    for db in "0", "1":
        connection.call("SELECT", db)
        for name in names:
            if connection.call("EXISTS", name)[1] == 1 or connection.call("EXISTS", name)[1] == "1":
                found[db, name] = (connection.call("DEBUG", "DIGEST-VALUE", name), connection.call("PEXPIRETIME", name))
    connection.call("SELECT", "0")
    return found


def compare(leader, *followers):
    """At rest: the same on all."""
    for behind in followers:
        until(lambda: has_caught_up(leader, behind), "it has caught up")  # noqa: B023
    expected = contents(leader, KEYS)
    for behind in followers:
        assert contents(behind, KEYS) == expected, "the data differ"
        errors = [(f[0], f[1]) for f in info(behind, "errorstats").items()]
        assert number(behind, "stats", "unexpected_error_replies") == 0, f"a command was refused: {errors}"
        if b"sluice" not in behind.call("INFO", "server")[1].lower():
            compare_names(leader, behind)


def names_of(connection):
    return set(connection.call("KEYS", "*")[1] or ())


def compare_names(leader, behind):
    """A redis-server has no key that its leader lacks, and none of types that it cannot hold. Keys may end meanwhile."""
    own = {("$", name.encode()) for name in OWN}
    for db in "0", "1", "0":
        leader.call("SELECT", db)
        behind.call("SELECT", db)
        until(lambda: names_of(behind) <= names_of(leader) - own, "it has no other keys")


def is_held_by_redis(kind):
    return kind not in (b"limiter", b"leakybucket", b"lock")


def all_contents(connection):
    """As contents, of all keys in all databases that Redis can hold."""
    found = {}
    for db in range(DATABASES):
        connection.call("SELECT", db)
        for _, name in connection.call("KEYS", "*")[1]:
            if is_held_by_redis(connection.call("TYPE", name)[1]):
                found[db, name] = (connection.call("DEBUG", "DIGEST-VALUE", name), connection.call("PEXPIRETIME", name))
    connection.call("SELECT", "0")
    return found


def refused(server):
    """What of the stream this redis-server could not do, by its log."""
    return [line for line in server.output(1 << 20).split("\n") if "CRITICAL" in line]


def compare_all(leader, *servers):
    """At rest, once nothing ends meanwhile."""
    for server in servers:
        behind = client(server)
        until(lambda: has_caught_up(leader, behind), "it has caught up")  # noqa: B023
        assert number(behind, "stats", "unexpected_error_replies") == 0, refused(server)
        until(lambda: all_contents(leader) == all_contents(behind), "the data are the same")  # noqa: B023


def requests(chance):
    """A few requests, which belong together."""
    key, other = chance.sample(KEYS, 2)
    own = chance.choice(OWN)
    value, field = str(chance.randrange(1000)), f"f{chance.randrange(5)}"
    ms = str(chance.choice((1, 50, 5_000, 100_000)))
    return chance.choice((
        [("SET", key, value)], [("SET", key, value, "PX", ms)], [("SET", key, value, "NX", "PX", ms)],
        [("SET", key, value, "KEEPTTL")], [("INCR", key)], [("APPEND", key, value)], [("GETDEL", key)],
        [("PEXPIRE", key, ms)], [("PERSIST", key)], [("DEL", key, other)], [("RENAME", key, other)],
        [("COPY", key, other, "REPLACE")], [("COPY", key, other, "DB", "1", "REPLACE")], [("MOVE", key, "1")],
        [("DEL", key), ("RPUSH", key, value, "b", "c"), ("LPOP", key)], [("LPUSH", key, value)],
        [("DEL", key), ("HSET", key, field, value), ("HPEXPIRE", key, ms, "FIELDS", "1", field)],
        [("HINCRBY", key, field, "3")], [("HDEL", key, field)],
        [("DEL", key), ("SADD", key, value, "x", "y"), ("SPOP", key)], [("ZADD", key, value, field)],
        [("XADD", key, "*", field, value)], [("PFADD", key, value)], [("SETBIT", key, value, "1")],
        [("MULTI",), ("SET", key, value), ("INCR", other), ("LIMIT.TAKE", own, "WINDOW", "5", ms), ("EXEC",)],
        [("EVAL", "redis.call('set', KEYS[1], ARGV[1]) return redis.call('incr', KEYS[1])", "1", key, value)],
        [("MSETEX", "2", key, value, other, value, "PX", ms)], [("PUBLISH", "channel", value)],
        [("LIMIT.TAKE", own, "GCRA", "5", ms)], [("LOCK.ACQUIRE", own, "me", "LEASE", ms)], [("DEL", own)],
        [("RENAME", own, key), ("DEL", key)], [("SELECT", "1")], [("SELECT", "0")], [("SWAPDB", "0", "1")],
        [("GET", key)], [("SORT", key, "ALPHA", "STORE", other)],
    ))


def work(connection, chance, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for request in requests(chance):
            connection.call(*request)
    connection.call("SELECT", "0")


def test_a_redis_server_has_all_that_redis_can_hold():
    chance = random.Random(first_seed())
    with master() as leader:
        writer = client(leader)
        work(writer, chance, 1)
        with follower(leader) as near, follower(near) as far:
            near_client, far_client = client(near), client(far)
            until(lambda: is_up(near_client) and is_up(far_client), "both have a full sync")
            compare(writer, near_client, far_client)
            work(writer, chance, 1)
            compare(writer, near_client, far_client)
            assert number(writer, "stats", "sync_full") == 1


def test_links_that_are_cut_cost_no_full_sync():
    chance = random.Random(first_seed() + 1)
    with master() as leader, follower(leader) as near, follower(near, "--repl-backlog-size", "64mb") as far:
        writer, near_client, far_client = client(leader), client(near), client(far)
        until(lambda: is_up(near_client) and is_up(far_client), "both have a full sync")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            work(writer, chance, 0.3)
            cut(chance, writer, near_client, far_client)
            if chance.randrange(4) == 0:
                compare(writer, near_client, far_client)
        compare(writer, near_client, far_client)
        assert number(writer, "stats", "sync_full") == 1, info(writer, "stats")
        assert number(writer, "stats", "sync_partial_ok") > 0


def cut(chance, *clients):
    """One of the links, at its one end or the other."""
    which = chance.randrange(3)
    clients[which].call("CLIENT", "KILL", "TYPE", ("replica", "master", "master")[which])


def test_what_command_fuzz_asks_for():
    """Every command of the table, with words of all kinds, while links are cut."""
    if not pathlib.Path(SENDER).exists():
        raise Skip(f"{SENDER} is not built")
    seed = first_seed() + 3
    chance = random.Random(seed)
    options = ("--proto-max-bulk-len", "1mb", "--repl-backlog-size", "256mb")
    with master(*options) as leader, follower(leader) as near, follower(near, "--repl-backlog-size", "256mb") as far:
        writer, near_client, far_client = client(leader), client(near), client(far)
        until(lambda: is_up(near_client) and is_up(far_client), "both have a full sync")
        end = time.monotonic() + SECONDS
        for part in range(1 << 30):
            seconds = min(10, end - time.monotonic())
            if seconds <= 0:
                break
            print(f"  request_sender {seed + part * 1000003}", flush=True)
            sender = subprocess.Popen((SENDER, leader.socket_path, f"{seconds:.1f}", str(seed + part * 1000003)),
                                      stdout=subprocess.DEVNULL)
            while sender.poll() is None:
                time.sleep(0.2)
                cut(chance, client(leader), near_client, far_client)
            writer = client(leader)  # CLIENT KILL is among what it asks for
            writer.call("FAILOVER", "ABORT")  # and FAILOVER, during which no replica is let in, as in Redis
            assert sender.returncode == 0, f"the server has gone:\n{leader.output()}"
            compare_all(writer, near, far)
        assert number(writer, "stats", "sync_full") == 1, info(writer, "stats")


def test_wait_and_min_replicas():
    with master("--min-replicas-to-write", "1") as leader:
        writer = client(leader)
        assert writer.call("SET", "k", "v") == ("-", b"NOREPLICAS Not enough good replicas to write.")
        with follower(leader) as near:
            until(lambda: writer.call("SET", "k", "v")[0] == "+", "there is one")
            assert int(writer.call("WAIT", "1", "20000")[1]) == 1
            assert client(near).call("GET", "k") == ("$", b"v")
            role = writer.call("ROLE")[1]
            assert role[0] == ("$", b"master") and len(role[2][1]) == 1, role


def test_redis_cli_fetches_a_file():
    with master() as leader, tempfile.TemporaryDirectory() as folder:
        writer = client(leader)
        writer.call("SET", "k", "v")
        writer.call("LOCK.ACQUIRE", "lock", "me", "LEASE", "60000")
        path = folder + "/fetched.rdb"
        subprocess.run(("redis-cli", "-p", str(leader.port), "--rdb", path), check=True, capture_output=True)
        checked = subprocess.run(("redis-check-rdb", path), capture_output=True, text=True, check=True)
        assert "1 keys read" in checked.stdout, checked.stdout


def test_a_restart_costs_no_full_sync():
    with master("--appendonly", "yes") as leader, follower(leader) as near:
        writer, near_client = client(leader), client(near)
        writer.call("SET", "key1", "v")
        until(lambda: is_up(near_client), "it has a full sync")
        compare(writer, near_client)
        before = info(writer, "replication")
        try:
            writer.call("SHUTDOWN")
        except (OSError, EOFError):
            pass
        leader.process.wait()
        leader.start()
        writer = client(leader)
        writer.call("SET", "key2", "w")
        until(lambda: is_up(near_client), "it is back")
        compare(writer, near_client)
        after = info(writer, "replication")
        assert after[b"master_replid2"] == before[b"master_replid"], after
        assert number(writer, "stats", "sync_full") == 0 and number(writer, "stats", "sync_partial_ok") == 1


def test_the_end_waits_for_a_replica():
    """SIGTERM while one lags: writes are held back, and it has all before the server goes."""
    with master() as leader, follower(leader, "--repl-timeout", "60") as near:
        writer, near_client = client(leader), client(near)
        until(lambda: is_up(near_client), "it has a full sync")
        near.process.send_signal(signal.SIGSTOP)
        for key in range(200):
            writer.call("SET", f"key{key}", "x" * 100_000)  # more than the sockets hold
        leader.process.send_signal(signal.SIGTERM)
        until(lambda: b"shutdown_in_milliseconds" in info(writer, "server"), "it waits")
        late = client(leader)
        late.send(wire.encode([b"SET", b"late", b"1"]))
        assert writer.call("GET", "key0")[0] == "$"
        near.process.send_signal(signal.SIGCONT)
        assert leader.process.wait(PATIENCE) == 0, leader.output()
        assert near_client.call("EXISTS", "key199", "late") == (":", b"1")
        log = leader.output()
        assert "1 of 1 replicas are in sync when shutting down." in log and "Lagging replica" not in log, log


def test_redis_cli_fetches_functions():
    with master() as leader, tempfile.TemporaryDirectory() as folder:
        writer = client(leader)
        writer.call("SET", "k", "v")
        writer.call("FUNCTION", "LOAD", "#!lua name=mine\nredis.register_function('f', function() end)")
        path = folder + "/functions.rdb"
        subprocess.run(("redis-cli", "-p", str(leader.port), "--functions-rdb", path), check=True, capture_output=True)
        checked = subprocess.run(("redis-check-rdb", path), capture_output=True, text=True, check=True)
        assert "0 keys read" in checked.stdout and b"name=mine" in pathlib.Path(path).read_bytes(), checked.stdout


def test_a_crash_never_leaves_a_silent_difference():
    chance = random.Random(first_seed() + 2)
    with master("--appendonly", "yes", "--appendfsync", "everysec") as leader, follower(leader) as near:
        near_client = client(near)
        for _ in range(3):
            writer = client(leader)
            until(lambda: is_up(near_client), "it follows")
            work(writer, chance, 0.5)
            leader.restart()  # kill -9
            writer = client(leader)
            until(lambda: is_up(near_client), "it is back")
            compare(writer, near_client)


if __name__ == "__main__":
    for name in "--seconds", "--sender":
        if name in sys.argv:
            at = sys.argv.index(name)
            globals()[name[2:].upper()] = float(sys.argv[at + 1]) if name == "--seconds" else sys.argv[at + 1]
            del sys.argv[at:at + 2]
    sys.exit(run_tests(__doc__, globals()))
