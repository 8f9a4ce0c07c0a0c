#!/usr/bin/python3
"""What MEMORY USAGE and INFO's used_memory say is what keys cost: thousands of one shape, against the
growth of the process.

  memory_usage.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from smoke import MIB, Checked, client, run_tests  # noqa: E402

# The allocator's classes and the keyspace's spare room are not all told.
LEAST, MOST = 0.7, 1.1


def words(count, shape="member%d"):
    return [(shape % index).encode() for index in range(count)]


def pairs(count):
    return [word for index in range(count) for word in (b"%d" % index, b"member%d" % index)]


def cost(command, arguments, keys):
    """Bytes of growth a key, and what is said of them: by MEMORY USAGE, by used_memory."""
    with Checked(grow=512 * MIB) as server:
        asking = client(server)
        used = used_memory(asking)
        rss = server.rss_bytes()
        for begin in range(0, keys, 500):
            asking.send(b"".join(wire.encode([command, b"key:%06d" % index, *arguments])
                                 for index in range(begin, begin + 500)))
            asking.replies(500)
        grown = (server.rss_bytes() - rss) / keys
        told = int(asking.call("MEMORY", "USAGE", "key:000077")[1])
        return grown, told, (used_memory(asking) - used) / keys


def used_memory(asking):
    fields = dict(line.split(b":", 1) for line in asking.call("INFO", "memory")[1].split(b"\r\n")
                  if b":" in line)
    return int(fields[b"used_memory"])


def check(command, arguments, keys):
    grown, told, used = cost(command, arguments, keys)
    for what, bytes_a_key in (("MEMORY USAGE", told), ("used_memory", used)):
        assert LEAST * grown < bytes_a_key < MOST * grown, f"{what} {bytes_a_key}, grown {grown:.1f}"


def test_strings():
    check(b"SET", [b"x" * 100], 100_000)
    check(b"SET", [b"x" * 3000], 10_000)


def test_lists():
    check(b"RPUSH", words(10), 30_000)
    check(b"RPUSH", words(500), 5_000)


def test_hashes():
    check(b"HSET", pairs(10), 30_000)
    check(b"HSET", pairs(200), 5_000)


def test_sets():
    check(b"SADD", words(10), 30_000)
    check(b"SADD", words(200), 5_000)
    check(b"SADD", words(200, "%d"), 20_000)


def test_sorted_sets():
    check(b"ZADD", pairs(10), 30_000)
    check(b"ZADD", pairs(200), 5_000)


def test_limiters():
    check(b"LIMIT.TAKE", [b"GCRA", b"100", b"3600000"], 100_000)


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
