"""Loading: CPU and wall time from exec until all of a file is there, each side its own file of the same content.

    Loading        a log, or a snapshot, beside redis-server's
    DrainsLoading  a bucket's pending drains, a snapshot beside the log of the same

The files are in the system's cache, so no disk is measured.
"""
import shutil
import tempfile
import time
from dataclasses import dataclass

from .load import CLIENTS, KEYS, redis_benchmark
from .log import EVERYSEC
from .report import paired
from .resp import ReplyError, encode
from .rounds import alternate
from .servers import NO_LOG, server

SET = "SET key:__rand_int__ xxx"
LARGE = ("hash", "zset", "list", "stream")
FILL_LARGE = """for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do
    redis.call('hset', KEYS[1], i, i) redis.call('zadd', KEYS[2], i, i) redis.call('rpush', KEYS[3], i)
    redis.call('xadd', KEYS[4], '*', 'f', i) end"""
FILLED_AT_ONCE = 10_000
LOOK_SECONDS = 0.002  # between two looks whether it is there: few enough that they cost nothing


def fill_large(target, members):
    """One large value of each type in LARGE."""
    for begin in range(0, members, FILLED_AT_ONCE):
        target.client.call("EVAL", FILL_LARGE, "4", *LARGE, str(begin), str(FILLED_AT_ONCE))


def loading(binary, flags, folder):
    """ms of CPU, and of wall time, from the start until all is loaded."""
    begin = time.perf_counter()
    with server(binary, flags, folder) as target:
        while not is_loaded(target):
            time.sleep(LOOK_SECONDS)
        return target.cpu()[0] / 1000, (time.perf_counter() - begin) * 1000


def is_loaded(target):
    """A server that loads says so to every PING."""
    try:
        target.client.call("PING")
    except ReplyError:
        return False
    return True


def loading_ms(binary, flags, folder):
    """Wall time alone."""
    return loading(binary, flags, folder)[1]


@dataclass(frozen=True)
class TurnsOf:
    """A log of so many SETs, written by one client in turns of so many."""
    commands: int
    turn: int
    flags = EVERYSEC

    def fill(self, bench, target):
        redis_benchmark(target, SET, bench.scaled(self.commands), 1, self.turn, KEYS)


@dataclass(frozen=True)
class SnapshotOf:
    """A snapshot of so many strings, every fourth with a deadline."""
    keys: int
    flags = NO_LOG

    def fill(self, bench, target):
        target.client.pipeline(encode(["SET", f"key:{key:012}", "xxx"] + ["EX", "86400"] * (key % 4 == 0))
                               for key in range(bench.scaled(self.keys)))
        target.client.call("SAVE")


@dataclass(frozen=True)
class LargeValuesOf:
    """A snapshot of LARGE, each of so many members."""
    members: int
    flags = NO_LOG

    def fill(self, bench, target):
        fill_large(target, bench.scaled(self.members))
        target.client.call("SAVE")


@dataclass(frozen=True)
class Loading:
    name: str
    content: TurnsOf | SnapshotOf | LargeValuesOf
    bar: float

    def run(self, bench):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            for side, folder in (("sluice", ours), ("redis", theirs)):
                bench.progress(f"{self.name}: filling {side}")
                with server(bench.binary(side), self.content.flags, folder) as target:
                    self.content.fill(bench, target)
            rounds = alternate(bench, self.name,
                               lambda: loading(bench.binary("sluice"), self.content.flags, ours),
                               lambda: loading(bench.binary("redis"), self.content.flags, theirs))
        for name, unit, column in ((self.name, "ms CPU", 0), (f"{self.name}-wall", "ms", 1)):
            yield paired(name, unit, *([round_[column] for round_ in side] for side in rounds), bar=self.bar)


@dataclass(frozen=True)
class DrainsLoading:
    """A bucket's pending drains: time until a snapshot of them is loaded, beside the log of the same that made them.
    No Redis beside it."""
    name: str
    drains: int
    seconds: int  # until they run out
    bar: float

    def run(self, bench):
        count = f"LBUCKET.COUNT key:__rand_int__ {self.seconds}"
        with tempfile.TemporaryDirectory() as replayed, tempfile.TemporaryDirectory() as saved:
            bench.progress(f"{self.name}: filling")
            with server(bench.binary("sluice"), EVERYSEC, replayed) as target:
                redis_benchmark(target, count, bench.scaled(self.drains), CLIENTS, 64, KEYS)
                target.client.call("SAVE")
                shutil.move(f"{replayed}/dump.rdb", saved)
            times = alternate(bench, self.name, lambda: loading_ms(bench.binary("sluice"), NO_LOG, saved),
                              lambda: loading_ms(bench.binary("sluice"), EVERYSEC, replayed))
        yield paired(self.name, "ms", *times, bar=self.bar, note="a snapshot / the log of the same")
