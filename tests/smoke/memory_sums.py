#!/usr/bin/python3
"""What Sluice accounts for is what the allocator has handed out: used_memory beside allocator_allocated, over
loads of one kind each, and over all that MEMORY STATS names. And what was large for a moment is allocated no more.

  memory_sums.py [--server program] [name ...]     names: those of the functions test_*
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import Server  # noqa: E402
from smoke import MIB, Checked, Chosen, client, info, run_tests, send_all, until  # noqa: E402

NEAR = 0.06  # of what the load has added
CHARGED_NEAR = 0.2  # free room in tables is nobody's
SCALE = int(os.environ.get("SLUICE_MEMORY_SCALE", 1))  # 10: a million keys
KEYS = 100_000 * SCALE
CLIENTS = 500
ROOM = 4096 * MIB


def figures(asking):
    told = info(asking, "memory")
    return int(told[b"used_memory"]), int(told[b"allocator_allocated"])


def charged(asking):
    """What all clients are charged with."""
    return sum(int(field[8:]) for field in asking.call("CLIENT", "LIST")[1].split() if field.startswith(b"tot-mem="))


def check(load, keep=None, options=(), of_clients=False):
    """`load` gets a server and a connection; what it returns lives until the end. `of_clients`: it is all kept for
    clients, and so are they charged with it."""
    with Checked(*options, grow=ROOM) as server:
        asking = client(server)
        figures(asking)  # once, as the first INFO takes memory too
        used, allocated = figures(asking)
        charged_before = charged(asking)
        keep = load(server, asking)
        charged_after = charged(asking)
        used_after, allocated_after = figures(asking)
        told, real = used_after - used, allocated_after - allocated
        print(f"  accounted for {told / MIB:.1f} MiB, allocated {real / MIB:.1f} MiB: {told / real - 1:+.1%}",
              flush=True)
        assert abs(told - real) < NEAR * real, f"accounted for {told}, allocated {real}"
        if of_clients:
            share = (charged_after - charged_before) / real
            print(f"  charged to clients: {share:.0%}", flush=True)
            assert 1 - CHARGED_NEAR < share < 1 + NEAR, f"clients are charged with {share:.0%} of it"
        stats = asking.call("MEMORY", "STATS")[1]
        check_stats({stats[i][1]: stats[i + 1][1] for i in range(0, len(stats), 2)},
                    int(info(asking, "memory")[b"used_memory_dataset"]))
        del keep


def check_stats(stats, dataset):
    ours = [b"scripts", b"locks.waiters", b"locks.fences", b"tracking", b"pubsub", b"watches", b"waiters",
            b"slowlog", b"timers", b"replication.buffers"]
    total = dataset + int(stats[b"clients.normal"]) + sum(int(stats[name]) for name in ours)
    assert abs(total - int(stats[b"total.allocated"])) < 0.01 * total + 65536, (total, stats)


def test_small_keys():
    check(lambda server, asking: send_all(asking, (["SET", f"key:{i:010}", i] for i in range(KEYS))))


def test_keys_with_deadlines():
    check(lambda server, asking: send_all(asking, (["SET", f"key:{i:010}", "x" * 30, "EX", 10_000 + i]
                                               for i in range(KEYS))))


def test_texts_of_all_sizes():
    check(lambda server, asking: send_all(asking, (["SET", f"key:{i:010}", "x" * (i * 7919 % 3000)]
                                               for i in range(KEYS // 4))))


def test_large_texts():
    check(lambda server, asking: send_all(asking, (["SET", f"key:{i}", "x" * 300_000] for i in range(100)), 10))


def test_small_hashes():
    check(lambda server, asking: send_all(asking, (["HSET", f"key:{i}", *(f"{w}{j}" for j in range(8) for w in "fv")]
                                               for i in range(KEYS // 4))))


def test_large_hashes():
    check(lambda server, asking: send_all(asking, (["HSET", f"key:{i % 20}", f"field:{i}", f"value:{i}"]
                                               for i in range(KEYS * 2))))


def test_sorted_sets():
    check(lambda server, asking: send_all(asking, (["ZADD", f"key:{i % 50}", i, f"member:{i}"] for i in range(KEYS))))


def test_sets():
    check(lambda server, asking: send_all(asking, (["SADD", f"key:{i % 50}", f"member:{i}"] for i in range(KEYS * 2))))


def test_lists():
    check(lambda server, asking: send_all(asking, (["RPUSH", f"key:{i % 500}", f"element:{i}"] for i in range(KEYS * 2))))


def test_streams():
    check(lambda server, asking: send_all(asking, (["XADD", f"key:{i % 200}", "*", "field", f"value:{i}"]
                                               for i in range(KEYS * 2))))


def test_limiters():
    check(lambda server, asking: send_all(asking, (["LIMIT.TAKE", f"key:{i}", "GCRA", 100, 3_600_000]
                                               for i in range(KEYS))))


def test_locks():
    check(lambda server, asking: send_all(asking, (["LOCK.ACQUIRE", f"lock:{i}", f"owner:{i}", "LEASE", 3_600_000]
                                               for i in range(KEYS))))


def test_a_lock_is_small():
    """The figures of docs/memory.md: bytes a lock, for 4 MB of maxmemory-reserved-for-locks to be 17,000 of them."""
    lease = ["LEASE", 3_600_000]
    for key, owner, terms, bound in (("lock:{}", "owner:{}", lease, 250), ("lock:{}", "owner:{}", ["SESSION"], 650),
                                     ("lock:user:{}", "6ba7b810-9dad-11d1-80b4-00c0{:08}", lease, 310)):
        with Checked(grow=ROOM) as server:
            asking = client(server)
            figures(asking)
            before = figures(asking)[0]
            send_all(asking, (["LOCK.ACQUIRE", key.format(i), owner.format(i), *terms] for i in range(KEYS)))
            bytes_a_lock = (figures(asking)[0] - before) / KEYS
            print(f"  a lock takes {bytes_a_lock:.0f} bytes", flush=True)
            assert 150 < bytes_a_lock < bound, bytes_a_lock


def steady(figure):
    """It stays as it is over some round trips."""
    before = figure()
    return all(figure() == before for _ in range(20))


def crowd(server, count=CLIENTS):
    return [client(server) for _ in range(count)]


def test_locks_with_waiters():
    def load(server, asking):
        send_all(asking, (["LOCK.ACQUIRE", f"lock:{i}", "holder", "LEASE", 3_600_000] for i in range(CLIENTS * SCALE)))
        waiting = crowd(server, CLIENTS * SCALE)
        for number, waiter in enumerate(waiting):
            waiter.send(wire.encode([b"LOCK.ACQUIRE", b"lock:%d" % number, b"waiter:%d" % number, b"LEASE",
                                     b"3600000", b"WAIT", b"3600000"]))
        while int(info(asking, "clients")[b"blocked_clients"]) < len(waiting):
            pass
        return waiting
    check(load)


def test_idle_clients():
    check(lambda server, asking: [peer for peer in crowd(server, CLIENTS * SCALE) if peer.call("PING")])


def test_clients_with_half_a_request():
    def load(server, asking):
        peers = crowd(server)
        for peer in peers:
            peer.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$30000\r\n" + b"x" * 20_000)
        until(lambda: steady(lambda: charged(asking)), "nothing more comes")
        return peers
    check(load, of_clients=True)


def test_clients_with_many_arguments_of_a_request():
    def load(server, asking):
        peers = crowd(server, 50)
        for peer in peers:
            peer.send(b"*1000000\r\n" + b"$1\r\na\r\n" * 10_000)
        until(lambda: steady(lambda: charged(asking)), "nothing more comes")
        return peers
    check(load, of_clients=True)


def test_queues_of_multi():
    def load(server, asking):
        peers = crowd(server, 10)
        for peer in peers:
            send_all(peer, [["MULTI"], *(["SET", f"key:{i:010}", "x" * 50] for i in range(KEYS // 20))])
        return peers
    check(load, of_clients=True)


def test_tracked_prefixes():
    def load(server, asking):
        peer = client(server)
        send_all(peer, (["CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", f"prefix of some length:{i * 7919 % 30_000:012}"]
                        for i in range(30_000)))
        return peer
    check(load, of_clients=True)


def test_shard_channels():
    def load(server, asking):
        peer = client(server)
        send_all(peer, (["SSUBSCRIBE", f"channel of some length:{i}"] for i in range(KEYS)))
        return peer
    check(load, of_clients=True)


def test_channels():
    def load(server, asking):
        peer = client(server)
        send_all(peer, (["SUBSCRIBE", f"channel:{i}"] for i in range(KEYS)))
        return peer
    check(load, of_clients=True)


def test_patterns():
    def load(server, asking):
        peer = client(server)
        send_all(peer, (["PSUBSCRIBE", f"news:{i}:*"] for i in range(KEYS // 10)))
        return peer
    check(load, of_clients=True)


def test_watched_keys():
    def load(server, asking):
        peers = crowd(server, 10)
        for peer in peers:
            send_all(peer, (["WATCH", f"a key that is watched:{i}"] for i in range(KEYS // 10)))
        return peers
    check(load, of_clients=True)


def test_waiters_for_keys():
    def load(server, asking):
        peers = crowd(server, CLIENTS * SCALE)
        for number, peer in enumerate(peers):
            peer.send(wire.encode([b"BLPOP", *(b"a list of jobs:%d:%d" % (number, i) for i in range(20)), b"0"]))
        while int(info(asking, "clients")[b"blocked_clients"]) < len(peers):
            pass
        return peers
    check(load, of_clients=True)


def test_slow_log():
    check(lambda server, asking: send_all(asking, (["SET", f"key:{i % 10}", *["x" * 100]] for i in range(20_000))),
          options=("--slowlog-log-slower-than", "0", "--slowlog-max-len", "20000"))


def test_scripts():
    check(lambda server, asking: send_all(asking, (["SCRIPT", "LOAD", f"return redis.call('GET', KEYS[1]) or {i}"]
                                               for i in range(5000))))


def test_tracked_keys():
    def load(server, asking):
        peer = client(server)
        peer.call("HELLO", "3")
        peer.call("CLIENT", "TRACKING", "ON")
        send_all(peer, (["GET", f"user:{i:012}"] for i in range(KEYS)))
        return peer
    check(load, of_clients=True)


# --- what was large for a moment goes back

LARGE = 64 * MIB


def goes_back(use, *options):
    """What is allocated after `use` has had LARGE bytes on their way: they are gone, and so is every copy. When the
    allocator returns free pages to the system is its own affair."""
    with Checked(*options, grow=ROOM, tcp=True) as server:
        asking = client(server)
        figures(asking)
        _, before = figures(asking)
        use(server, asking)
        asking.call("SCRIPT", "FLUSH")
        until(lambda: figures(asking)[1] - before < LARGE // 16, "all of it is free")


def write_large(asking):
    assert asking.call("SET", "large", b"x" * LARGE) == ("+", b"OK")
    assert asking.call("DEL", "large") == (":", b"1")


def test_of_the_stream_nothing_stays():
    def use(server, asking):
        with Server(Chosen.program, ("--replicaof", f"127.0.0.1 {server.port}"), tcp=True) as replica:
            following = client(replica)
            until(lambda: info(following, "replication").get(b"master_link_status") == b"up", "its link is up")
            write_large(asking)
            assert asking.call("WAIT", "1", "10000") == (":", b"1")
            until(lambda: int(info(asking, "memory")[b"used_memory"]) < LARGE // 4, "used_memory comes down")
    goes_back(use, "--repl-diskless-sync-delay", "0")


def test_of_a_script_nothing_stays():
    def use(_, asking):
        script = "redis.call('SET', KEYS[1], string.rep('x', ARGV[1])) redis.call('DEL', KEYS[1])"
        assert asking.call("EVAL", script, "1", "large", str(LARGE))[0] == "$-1"
    goes_back(use, "--appendonly", "yes")


def test_of_migrate_nothing_stays():
    def use(_, asking):
        with Server(Chosen.program, (), tcp=True) as other:
            assert asking.call("SET", "large", os.urandom(LARGE)) == ("+", b"OK")
            assert asking.call("MIGRATE", "127.0.0.1", str(other.port), "large", "0", "10000") == ("+", b"OK")
    goes_back(use)


def test_of_events_nothing_stays():
    def use(server, asking):
        listening = client(server)
        listening.call("SUBSCRIBE", "news")
        name = b"n" * LARGE
        assert asking.call("SET", name, "v") == ("+", b"OK")
        assert asking.call("DEL", name) == (":", b"1")
    goes_back(use, "--notify-keyspace-events", "KEA")


def test_of_a_request_of_a_million_nothing_stays():
    goes_back(lambda _, asking: asking.call("EXISTS", *(["x"] * 1_000_000)))


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
