"""Saving a snapshot beside clients, and loading it.

    Saving    what a pinging client waits while a snapshot is saved under a steady load, the CPU of the longest
              turn by Sluice's own figure, what the save costs in CPU (worker and child included; without the
              large values) and in resident
              memory, and how long the file takes to load.

redis-server forks: its child's CPU and the memory that both have beyond before are counted.
"""
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

from .load import CLIENTS, redis_benchmark, redis_benchmark_command
from .loading import LARGE, fill_large, loading_ms
from .log import persistence
from .report import Row, paired
from .servers import NO_LOG, Failure, process, server
from .stall import LOAD_NICE, PAUSE_SECONDS, SO_TIMESTAMPNS, _wait_ns

SET = "SET key:__rand_int__ xxx"
CHANGE_LARGE = ("redis.call('hset',KEYS[1],ARGV[1],1) redis.call('zadd',KEYS[2],1,ARGV[1]) "
                "redis.call('rpush',KEYS[3],1) redis.call('lpop',KEYS[3]) redis.call('xadd',KEYS[4],'*','f',1)")
SAVE_SECONDS_MAX = 120
SAVES = 5  # in one round: of the few thousand PINGs beside one save, two decide its p99.9
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")


def _resident(pid):
    for line in pathlib.Path("/proc", str(pid), "smaps_rollup").read_text().split("\n"):
        if line.startswith("Pss:"):  # pages that parent and child share count once
            return int(line.split()[1]) * 1024
    return 0


def _children(pid):
    listed = pathlib.Path("/proc", str(pid), "task", str(pid), "children").read_text()
    return [int(child) for child in listed.split()]


def _cpu_us(target):
    """Of all threads, and of children that have ended."""
    fields = (target.proc / "stat").read_text().rpartition(")")[2].split()
    return target.cpu()[0] + (int(fields[13]) + int(fields[14])) * TICK_US


class _MemoryWatch(threading.Thread):
    """The most that a server and its children have in memory, until stop()."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.pid = int(target.proc.name)
        self.most = self.before = _resident(self.pid)
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.02):
            try:
                self.most = max(self.most, sum(map(_resident, (self.pid, *_children(self.pid)))))
            except OSError:
                pass

    def stop(self):
        self.over.set()
        self.join()
        return self.most - self.before


def _save(target):
    """Begins a save; then a function that tells whether it is over."""
    target.client.call("BGSAVE")

    def is_over():
        told = persistence(target)
        if told["rdb_bgsave_in_progress"] == "1":
            return False
        if told["rdb_last_bgsave_status"] != "ok":
            raise Failure("the snapshot could not be saved")
        return True
    return is_over


@dataclass(frozen=True)
class Saving:
    name: str
    keys: int
    members: int         # of each of LARGE
    wait_bar: float      # p99.9 while saving, of that without, beside the same load
    turn_bar_us: float
    cpu_bar: float
    memory_bar: float
    loading_bar: float

    def run(self, bench):
        sides = {"sluice": [], "redis": []}
        for round_number in bench.rounds():
            for side, measured in sides.items():
                bench.progress(f"{self.name}: round {round_number}, {side}")
                with tempfile.TemporaryDirectory() as folder:
                    measured.append(self._round(bench, bench.binary(side), folder))
        ours, theirs = ([{key: round_[key] for key in round_} for round_ in side] for side in sides.values())

        def both(key):
            return [round_[key] for round_ in ours], [round_[key] for round_ in theirs]

        factors = [round_["saving_ms"] / round_["calm_ms"] for round_ in ours]
        yield Row(f"{self.name}-wait", "of calm", statistics.median(factors), bar=self.wait_bar, absolute=True,
                  note="p99.9 of a PING while saving: " + " / ".join(
                      " ".join(f"{r['calm_ms']:.2f}->{r['saving_ms']:.2f}" for r in side) for side in (ours, theirs))
                  + " ms")
        yield paired(f"{self.name}-longest-wait", "ms", *both("longest_ms"))
        turns, calm_turns = (sum((round_[key] for round_ in ours), []) for key in ("saving_turns", "calm_turns"))
        yield Row(f"{self.name}-turn", "µs", max(turns), bar=self.turn_bar_us, absolute=True,
                  note=f"the longest of all saves; of one in the median {statistics.median(turns):.0f}, of as long a time "
                       f"without one {statistics.median(calm_turns):.0f}, at most {max(calm_turns):.0f}")
        yield paired(f"{self.name}-cpu", "ms", *both("cpu_ms"), bar=self.cpu_bar)
        yield paired(f"{self.name}-memory", "MB", *both("memory_mb"), bar=self.memory_bar,
                     note="beyond before, under the load")
        yield paired(f"{self.name}-loading", "ms", *both("loading_ms"), bar=self.loading_bar)

    def _round(self, bench, binary, folder):
        keys = bench.scaled(self.keys)
        told = {}
        with server(binary, folder=folder) as target:
            redis_benchmark(target, SET, 4 * keys, CLIENTS, 64, keys)
            told["cpu_ms"] = self._cpu_ms(target)
            fill_large(target, bench.scaled(self.members))
            self._beside_load(bench, target, keys, told)
        told["loading_ms"] = loading_ms(binary, NO_LOG, folder)
        return told

    @staticmethod
    def _cpu_ms(target):
        before = _cpu_us(target)
        is_over = _save(target)
        deadline = time.monotonic() + SAVE_SECONDS_MAX
        while not is_over():
            if time.monotonic() > deadline:
                raise Failure("the snapshot takes for ever")
            time.sleep(0.05)
        return (_cpu_us(target) - before) / 1000

    @staticmethod
    def _beside_load(bench, target, keys, told):
        """With a few unpipelined clients, about half of what the server can do; one writes to large values."""
        command = redis_benchmark_command(target, SET, 1_000_000_000, 4, 1, keys)
        connection = target.client.socket
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        change = redis_benchmark_command(target, f'EVAL "{CHANGE_LARGE}" 4 {" ".join(LARGE)} __rand_int__',
                                         1_000_000_000, 1, 1, keys)
        quiet = {"nice": LOAD_NICE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with process(command, **quiet), process(change, **quiet):
            time.sleep(0.5)

            def waits(until, least):
                seen, end = [], time.monotonic() + least
                while time.monotonic() < end or not until():
                    for _ in range(100):
                        seen.append(_wait_ns(target, connection) / 1e6)
                        time.sleep(PAUSE_SECONDS)
                return seen

            def watch(key, begin=None, least=0):
                """Adds what PINGs wait so long, and until what is begun is over, and the longest turn."""
                target.client.call("CONFIG", "RESETSTAT")
                told[key] += waits(begin() if begin else lambda: True, least)
                told[key + "_turns"].append(float(target.client.info("turns").get("turn_cpu_us_max", 0)))

            for key in ("calm", "saving"):
                told[key], told[key + "_turns"] = [], []
            for _ in range(SAVES):
                watch("calm", least=2)
                watch("saving", lambda: _save(target))
            # In a save of its own: whoever reads the pages of a process keeps it from asking for more.
            memory = _MemoryWatch(target)
            waits(_save(target), 0)
            told["memory_mb"] = memory.stop() / 1e6
        for key in ("calm", "saving"):
            told[key + "_ms"] = statistics.quantiles(told[key], n=1000)[-1]
        told["longest_ms"] = max(told["saving"])
