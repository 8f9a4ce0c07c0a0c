#!/usr/bin/python3
"""Replicas whose wall clocks are wrong by seconds or years, or step while they follow: what ends on them ends at the
master's moment or a little later, never earlier, and what they say of moments is what the master says. The package
faketime moves the clocks.

  skewed.py [--server program] [test ...]
"""
import contextlib
import glob
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from replicas import is_up, offset  # noqa: E402
from server import Server  # noqa: E402
from smoke import Chosen, Skip, client, run_tests, until  # noqa: E402

KEYS = 10_000
DECADE_S = 10 * 365 * 86400
LATE_MS_MAX = 2  # beside the way of a command


class Clocked:
    """A server whose wall clock is so many seconds ahead of the machine's; its steady clock is right."""

    def __init__(self, ahead_s, *options):
        libraries = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if not libraries:
            raise Skip("the package faketime is not installed")
        with open(Chosen.program, "rb") as program:
            if b"__asan_init" in program.read():
                raise Skip("a sanitizer's library has to be the first")
        self.file = tempfile.NamedTemporaryFile("w+")
        self.step(ahead_s)
        self.server = Server(Chosen.program, ("--repl-diskless-sync-delay", "0", *options), tcp=True, environment={
            "LD_PRELOAD": libraries[0], "DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1",
            "FAKETIME_TIMESTAMP_FILE": self.file.name})
        self.client = client(self.server)

    def step(self, ahead_s):
        self.file.seek(0)
        self.file.truncate()
        self.file.write(f"{ahead_s:+d}s\n")
        self.file.flush()

    def close(self):
        self.server.__exit__()
        self.file.close()


@contextlib.contextmanager
def group(*ahead_s):
    """A master, and those that follow it."""
    servers = []
    try:
        for seconds in ahead_s:
            following = ("--replicaof", f"127.0.0.1 {servers[0].server.port}") if servers else ()
            servers.append(Clocked(seconds, *following))
        for one in servers[1:]:
            until(lambda: is_up(one.client), "its link is up")  # noqa: B023
        yield servers
    finally:
        for one in servers:
            one.close()


def has_all(master, replica):
    until(lambda: offset(replica.client) == offset(master.client), "it has caught up")


def unix_of(server):
    return int(server.client.call("TIME")[1][0][1])


def reset_at_of(server):
    fields = [value for _, value in server.client.call("LIMIT.PEEK", "limit", "WINDOW", "100", "600000")[1]]
    return int(fields[5])


def pttl_of(server):
    return int(server.client.call("PTTL", "key")[1])


def late_ms(master, replica):
    """How much later the key would end on the replica. Earlier is a failure."""
    delays = []
    for _ in range(200):
        before, here, behind = pttl_of(master), pttl_of(replica), pttl_of(master)
        assert here >= behind, (before, here, behind, "it would end early")
        delays.append(here - before)
    return min(delays)


def compare(master, replica):
    has_all(master, replica)
    assert reset_at_of(replica) == reset_at_of(master), (reset_at_of(replica), reset_at_of(master))
    assert replica.client.call("PEXPIRETIME", "key") == master.client.call("PEXPIRETIME", "key")
    # What it knows of its master's time is as late as the heartbeat that came fastest; on a busy machine the first
    # heartbeats are slow.
    until(lambda: late_ms(master, replica) <= LATE_MS_MAX, "it ends in time")


def write(master):
    assert master.client.call("SET", "key", "value", "PX", "600000") == ("+", b"OK")
    assert master.client.call("LIMIT.TAKE", "limit", "WINDOW", "100", "600000")[0] == "*"


def test_moments_are_the_masters():
    with group(0, +5, -5, +DECADE_S, -DECADE_S) as (master, *replicas):
        write(master)
        for replica, ahead_s in zip(replicas, (+5, -5, +DECADE_S, -DECADE_S)):
            assert abs(unix_of(replica) - unix_of(master) - ahead_s) <= 2, "faketime moves its clock"
            compare(master, replica)


def test_steps_change_nothing():
    with group(0, 0) as (master, replica):
        write(master)
        for ahead_s in (+5, -5, 3600, -DECADE_S, 0):
            replica.step(ahead_s)
            until(lambda: abs(unix_of(replica) - unix_of(master) - ahead_s) <= 2, "it has stepped")  # noqa: B023
            compare(master, replica)
        for ahead_s in (+5, -5, -3600, 0):
            master.step(ahead_s)
            until(lambda: abs(unix_of(master) - unix_of(replica) - ahead_s) <= 2, "it has stepped")  # noqa: B023
            write(master)
            compare(master, replica)


def missing(server):
    names = [f"short:{number}" for number in range(KEYS)]
    return {name for name, value in zip(names, server.client.call("MGET", *names)[1]) if value[1] is None}


def test_no_key_is_missing_early():
    for ahead_s in (+5, -5):
        with group(0, ahead_s) as (master, replica):
            script = "for i = 0, ARGV[1] - 1 do redis.call('set', 'short:' .. i, 'v', 'PX', 1000) end"
            assert master.client.call("EVAL", script, "0", KEYS)[0] == "$-1"
            assert master.client.call("WAIT", "1", "10000") == (":", b"1")
            early, looks = set(), 0
            while True:
                here = missing(replica)
                there = missing(master)  # asked later
                early |= here - there
                looks += len(here) < KEYS
                if len(here) == KEYS:
                    break
            assert not early, f"{len(early)} keys were missing early"
            assert looks > 2, "they were there at first"


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
