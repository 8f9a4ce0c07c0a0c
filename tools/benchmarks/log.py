"""The append-only log: what `always` costs in waiting and in syncs, and how long a log takes to load."""
import statistics
import tempfile
import time
from dataclasses import dataclass

from .load import CLIENTS, KEYS, redis_benchmark
from .report import Row, number, paired
from .resp import ReplyError
from .rounds import alternate
from .servers import server

# No side rewrites its log meanwhile.
EVERYSEC = ("--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")
ALWAYS = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
SET = "SET key:__rand_int__ xxx"


def persistence(target):
    """INFO persistence as a dictionary."""
    text = target.client.call("INFO", "persistence").decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


@dataclass(frozen=True)
class AlwaysSynced:
    """Time a request under `always`, with all clients at once; and syncs a write."""
    name: str
    requests: int
    bar: float
    syncs_bar: float

    def run(self, bench):
        syncs_a_write = []

        def ours_round():
            before = int(persistence(ours)["aof_syncs"])
            time_us = self._round(bench, ours)
            syncs = int(persistence(ours)["aof_syncs"]) - before
            syncs_a_write.append(syncs / bench.scaled(self.requests))
            return time_us

        with server(bench.binary("sluice"), ALWAYS) as ours, \
                server(bench.binary("redis"), ALWAYS) as theirs:
            times = alternate(bench, self.name, ours_round, lambda: self._round(bench, theirs))
        syncs = statistics.median(syncs_a_write)
        yield paired(self.name, "µs/req", *times, bar=self.bar,
                     note=f"wall time, {CLIENTS} clients; {number(1 / syncs)} writes a sync")
        yield Row(f"{self.name}-syncs", "syncs/write", syncs, bar=self.syncs_bar, absolute=True)

    def _round(self, bench, target):
        return 1e6 / redis_benchmark(target, SET, bench.scaled(self.requests), CLIENTS, 1, KEYS)


@dataclass(frozen=True)
class LogLoading:
    """Time from the start until a log of so many commands is loaded, each side its own."""
    name: str
    commands: int
    bar: float

    def run(self, bench):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            for side, folder in (("sluice", ours), ("redis", theirs)):
                with server(bench.binary(side), EVERYSEC, folder) as target:
                    redis_benchmark(target, SET, bench.scaled(self.commands), CLIENTS, 64, KEYS)
            times = alternate(bench, self.name, lambda: self._load(bench.binary("sluice"), ours),
                              lambda: self._load(bench.binary("redis"), theirs))
        yield paired(self.name, "ms", *times, bar=self.bar)

    @staticmethod
    def _load(binary, folder):
        begin = time.perf_counter()
        with server(binary, EVERYSEC, folder) as target:
            while True:
                try:
                    if persistence(target)["loading"] == "0":
                        return (time.perf_counter() - begin) * 1000
                except ReplyError:
                    pass
                time.sleep(0.001)
