#!/usr/bin/python3
"""Sluice follows redis-server and Sluice, and others follow it: what Redis can hold is on all, offsets are equal at rest,
and links that are cut cost no full sync.

  following.py [--server program] [--seconds 2] [test ...]      --seconds 600: as long as a campaign
"""
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from replicas import compare as compare_all, is_up, number, offset, requests  # noqa: E402
from server import REDIS, Server, first_seed  # noqa: E402
from smoke import Chosen, client, info, run_tests, until  # noqa: E402

SECONDS = 2
OPTIONS = ("--repl-diskless-sync-delay", "0", "--repl-backlog-size", "64mb", "--repl-timeout", "20")
READ_ONLY = ("-", b"READONLY You can't write against a read only replica.")


def server(kind, leader=None, *options):
    """kind: S or R; it follows the leader, if there is one."""
    if leader:
        options += ("--replicaof", f"127.0.0.1 {leader.port}")
    return Server(Chosen.program if kind == "S" else REDIS, OPTIONS + options, tcp=True)


def known(kinds, batch):
    """Of a batch of requests those that a server of that kind knows."""
    if kinds[0] == "S":
        return batch
    own = ("LIMIT", "LOCK", "MSETEX", "HPEXPIRE")
    return [request for request in batch if not request[0].startswith(own)]


def work(kinds, connection, chance, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for request in known(kinds, requests(chance)):
            connection.call(*request)
    connection.call("SELECT", "0")


class Chain:
    """Servers of these kinds, each follows the one before it."""

    def __init__(self, kinds, *options):
        self.kinds, self.options, self.servers = kinds, options, []

    def __enter__(self):
        for kind in self.kinds:
            self.servers.append(server(kind, self.servers[-1] if self.servers else None, *self.options))
        self.clients = [client(one) for one in self.servers]
        for follower in self.clients[1:]:
            until(lambda: is_up(follower), "its link is up")  # noqa: B023
        return self

    def __exit__(self, *_):
        for one in self.servers:
            one.__exit__(*_)

    def full_syncs(self):
        return sum(number(one, "stats", "sync_full") for one in self.clients)


def compare(chain):
    leader, *followers = chain.clients
    for follower in followers:
        until(lambda: is_up(follower) and offset(follower) == offset(leader), "it has caught up")  # noqa: B023
    if "R" in chain.kinds:
        compare_all(leader, *followers)
        return
    for follower in followers:
        assert number(follower, "stats", "unexpected_error_replies") == 0, "a command was refused"
        until(lambda: follower.call("DEBUG", "DIGEST") == leader.call("DEBUG", "DIGEST"), "equal")  # noqa: B023


def play(kinds):
    chance = random.Random(first_seed())
    with Chain(kinds) as chain:
        syncs = chain.full_syncs()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            work(kinds, chain.clients[0], chance, 0.3)
            if chance.randrange(2) == 0:
                chance.choice(chain.clients).call("CLIENT", "KILL", "TYPE", chance.choice(("master", "replica")))
            if chance.randrange(3) == 0:
                compare(chain)
        compare(chain)
        assert chain.full_syncs() == syncs, "a cut has cost a full sync"


def test_sluice_follows_redis():
    play("RS")


def test_sluice_follows_sluice():
    play("SS")


def test_a_chain_of_sluice_redis_sluice():
    play("SRS")


def test_a_chain_of_redis_sluice_redis():
    play("RSR")


def test_a_chain_of_sluices():
    play("SSS")


def test_each_of_a_chain_is_promoted_in_turn():
    chance = random.Random(first_seed() + 1)
    for kinds in ("SSS", "SRS", "RSR"):
        with Chain(kinds) as chain:
            work(kinds, chain.clients[0], chance, 0.2)
            compare(chain)
            syncs = chain.full_syncs()
            for _ in range(2):
                leader, follower = chain.clients[:2]
                assert follower.call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
                assert leader.call("REPLICAOF", "127.0.0.1", chain.servers[1].port) == ("+", b"OK")
                chain.clients.append(chain.clients.pop(0))
                chain.servers.append(chain.servers.pop(0))
                kinds = kinds[1:] + kinds[:1]
                chain.kinds = kinds
                for one, behind in zip(chain.servers, chain.clients[1:]):
                    behind.call("REPLICAOF", "127.0.0.1", one.port)
                for behind in chain.clients[1:]:
                    until(lambda: is_up(behind), "its link is up")  # noqa: B023
                work(kinds, chain.clients[0], chance, 0.2)
                compare(chain)
            assert chain.full_syncs() == syncs, (kinds, chain.full_syncs(), syncs)


def test_clients_of_a_replica_read_and_do_not_write():
    with Chain("SS") as chain:
        leader, follower = chain.clients
        leader.call("SET", "key", "value")
        compare(chain)
        assert follower.call("GET", "key") == ("$", b"value")
        for request in (("SET", "key", "other"), ("LOCK.ACQUIRE", "lock", "me", "LEASE", "1000"),
                        ("LIMIT.TAKE", "limit", "WINDOW", "5", "1000"), ("DEL", "key")):
            assert follower.call(*request) == READ_ONLY, request
        assert follower.call("EVAL", "return redis.call('set', 'key', '1')", "0")[1].startswith(READ_ONLY[1])
        assert follower.call("EVAL", "return redis.call('get', 'key')", "0") == ("$", b"value")
        follower.call("MULTI")
        assert follower.call("SET", "key", "other") == READ_ONLY
        assert follower.call("EXEC")[0] == "-"
        assert follower.call("WAIT", "1", "0")[0] == "-"
        role = follower.call("ROLE")[1]
        assert role[0] == ("$", b"slave") and role[3] == ("$", b"connected"), role


def test_a_restart_goes_on_where_it_was():
    for kinds in ("RS", "SS"):
        with Chain(kinds, "--appendonly", "yes") as chain:
            leader, follower = chain.clients
            for number_of in range(100):
                leader.call("SET", f"key{number_of % 40}", number_of)
            leader.call("SELECT", "1")
            leader.call("SET", "key1", "in 1")
            compare(chain)
            syncs = number(leader, "stats", "sync_full")
            try:
                follower.call("SHUTDOWN")
            except (OSError, EOFError):
                pass
            chain.servers[1].process.wait()
            leader.call("SET", "key2", "in 1, too")
            chain.servers[1].start()
            chain.clients[1] = follower = client(chain.servers[1])
            until(lambda: is_up(follower), "it is back")  # noqa: B023
            compare(chain)
            assert number(leader, "stats", "sync_full") == syncs, "the restart has cost a full sync"


def test_a_master_that_is_away_is_found_again():
    with Chain("SS", "--replica-serve-stale-data", "no") as chain:
        leader, follower = chain.clients
        leader.call("SET", "key", "value")
        compare(chain)
        chain.servers[0].process.kill()
        chain.servers[0].process.wait()
        until(lambda: not is_up(follower), "it knows")
        assert follower.call("GET", "key")[1].startswith(b"MASTERDOWN")
        chain.servers[0].start()
        chain.clients[0] = leader = client(chain.servers[0])
        leader.call("SET", "key", "new")
        until(lambda: is_up(follower), "it is back")
        compare(chain)
        assert follower.call("GET", "key") == ("$", b"new")


if __name__ == "__main__":
    if "--seconds" in sys.argv:
        at = sys.argv.index("--seconds")
        SECONDS = float(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    sys.exit(run_tests(__doc__, globals()))
