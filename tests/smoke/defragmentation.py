#!/usr/bin/python3
"""After a load that leaves pages sparsely used, resident memory comes down without a restart: keys of mixed sizes,
of which nine in ten are deleted at random; keys that all change their size. Nothing of what is kept changes.

  defragmentation.py [--server program] [name ...]     names: those of the functions test_*
  defragmentation.py --compare [--keys 2000000]        the figures, beside redis-server
"""
import argparse
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server import REDIS, SLUICE, Server  # noqa: E402
from smoke import MIB, Checked, client, info, run_tests, send_all, until  # noqa: E402

KEYS = 200_000
KEPT = 10  # one in so many
EAGER = ("--active-defrag-ignore-bytes", "1mb")
QUIET_SECONDS = 3


def text(number):
    return "x" * (16 + number * 7919 % 400)


def fill(asking, keys):
    """Texts inside of their entries and beside them, some with deadlines, and small hashes and sorted sets."""
    def commands():
        for number in range(keys):
            kind = number % 8
            if kind == 0:
                yield ["HSET", f"key:{number}", "field", text(number), "other", number]
            elif kind == 1:
                yield ["ZADD", f"key:{number}", number, f"member:{number}", 1, text(number)]
            elif kind == 2:
                yield ["SET", f"key:{number}", text(number), "EX", 100_000]
            else:
                yield ["SET", f"key:{number}", text(number)]
    send_all(asking, commands())


def thin_out(asking, keys):
    numbers = list(range(keys))
    random.Random(7).shuffle(numbers)
    send_all(asking, (["DEL", f"key:{number}"] for number in numbers[keys // KEPT:]))


def digest(asking):
    return asking.call("DEBUG", "DIGEST"), asking.call("DBSIZE"), info(asking, "keyspace")[b"db0"].split(b",avg")[0]


def fill_and_thin_out(server, asking, keys=KEYS):
    """The resident memory in between, and what has stayed."""
    fill(asking, keys)
    peak = server.rss_bytes()
    thin_out(asking, keys)
    return peak, digest(asking)


def comes_down(server, peak, part, what):
    until(lambda: server.rss_bytes() < peak * part, f"{what}: from {peak / MIB:.0f} MiB below {part:.0%}")


def test_deletions():
    with Checked(*EAGER, grow=400 * MIB) as server:
        asking = client(server)
        peak, kept = fill_and_thin_out(server, asking)
        comes_down(server, peak, 0.45, "nine keys in ten are gone")
        assert digest(asking) == kept
        until(lambda: info(asking, "memory")[b"active_defrag_running"] == b"0", "the end of it")
        assert int(info(asking, "memory")[b"memory_returned_bytes"]) > peak * 0.2, info(asking, "memory")
        assert int(info(asking, "stats")[b"active_defrag_hits"]) > 0
        # What was moved is found, read, changed and freed like all else.
        send_all(asking, (["APPEND", f"key:{number}", "y"] for number in range(0, KEYS, 3) if number % 8 > 1))
        assert asking.call("DEBUG", "DIGEST") != kept[0]
        asking.call("FLUSHALL")


def test_changed_sizes():
    with Checked(*EAGER, grow=400 * MIB) as server:
        asking = client(server)
        send_all(asking, (["SET", f"key:{number}", "x" * 100] for number in range(KEYS)))
        peak = server.rss_bytes()
        send_all(asking, (["SET", f"key:{number}", "x" * (100 if number % 9 == 0 else 5)] for number in range(KEYS)))
        comes_down(server, peak, 0.75, "most have become short")


def test_off_and_by_hand():
    with Checked("--activedefrag", "no", grow=400 * MIB) as server:
        asking = client(server)
        peak, kept = fill_and_thin_out(server, asking, KEYS // 2)
        time.sleep(QUIET_SECONDS)
        assert info(asking, "stats")[b"active_defrag_hits"] == b"0"
        assert asking.call("MEMORY", "PURGE") == ("+", b"OK")
        comes_down(server, peak, 0.5, "MEMORY PURGE")
        assert digest(asking) == kept


def test_while_a_snapshot_is_written():
    with Checked(*EAGER, grow=400 * MIB) as server:
        asking = client(server)
        peak, kept = fill_and_thin_out(server, asking)
        asking.call("BGSAVE")
        comes_down(server, peak, 0.5, "with a snapshot in between")
        assert digest(asking) == kept
        server.kill()
        server.start()
        again = client(server)
        until(lambda: info(again, "persistence")[b"loading"] == b"0", "loaded")
        assert again.call("DEBUG", "DIGEST") == kept[0]


# --- by hand

def compare(keys, seconds):
    # Debian's redis-server is built without activedefrag.
    for name, program in (("sluice", SLUICE), ("redis-server", REDIS)):
        with Server(program) as server:
            asking = client(server)
            peak, _ = fill_and_thin_out(server, asking, keys)
            after, began, line = server.rss_bytes(), time.monotonic(), []
            while time.monotonic() < began + seconds:
                time.sleep(seconds / 10)
                line.append(server.rss_bytes() // MIB)
            used = int(info(asking, "memory")[b"used_memory"])
            print(f"{name}: peak {peak // MIB} MiB, after the deletions {after // MIB}, then {line}; "
                  f"used {used // MIB} MiB", flush=True)


if __name__ == "__main__":
    if "--compare" in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--compare", action="store_true")
        parser.add_argument("--keys", type=int, default=2_000_000)
        parser.add_argument("--seconds", type=float, default=60)
        parser.add_argument("--server", default=SLUICE)
        options = parser.parse_args()
        SLUICE = options.server
        compare(options.keys, options.seconds)
        sys.exit(0)
    sys.exit(run_tests(__doc__, globals()))
