"""The append-only log: what `always` costs in waiting and in syncs, and what a slow disk does to timers."""
import contextlib
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

from .load import CLIENTS, KEYS, redis_benchmark
from .report import Row, number, paired
from .resp import encode
from .rounds import alternate
from .servers import NO_LOG, server

# No side rewrites its log meanwhile.
EVERYSEC = ("--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")
ALWAYS = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
SET = "SET key:__rand_int__ xxx"
STEPS_PER_SECOND = 100
KEYS_PER_STEP = 40


def persistence(target):
    """INFO persistence as a dictionary."""
    text = target.client.call("INFO", "persistence").decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


@contextlib.contextmanager
def sync_shim():
    """The library that makes syncs as slow, or as fast, as its variables say."""
    with tempfile.TemporaryDirectory() as folder:
        shim = f"{folder}/slow_sync.so"
        source = pathlib.Path(__file__).with_name("slow_sync.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, source], check=True)
        yield shim


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
class FastSync:
    """Time and CPU a request under `always` on a disk whose syncs take so long, which is stood in for."""
    name: str
    sync_us: int
    requests: int
    bar: float
    cpu_bar: float

    def run(self, bench):
        with sync_shim() as shim:
            environment = {"LD_PRELOAD": shim, "SYNC_US": str(self.sync_us)}
            with server(bench.binary("sluice"), ALWAYS, environment=environment) as ours, \
                    server(bench.binary("redis"), ALWAYS, environment=environment) as theirs:
                ours_cost, theirs_cost = alternate(bench, self.name, lambda: self._round(bench, ours),
                                                   lambda: self._round(bench, theirs))
                told = persistence(ours)
        note = f"{told['aof_syncs_in_place']} of {told['aof_syncs']} syncs in place"
        for number_of, (what, unit, bar) in enumerate((("", "µs/req", self.bar), ("-cpu", "µs CPU/req", self.cpu_bar))):
            yield paired(self.name + what, unit, [cost[number_of] for cost in ours_cost],
                         [cost[number_of] for cost in theirs_cost], bar=bar, note=note)

    def _round(self, bench, target):
        requests = bench.scaled(self.requests)
        before = target.cpu()
        throughput = redis_benchmark(target, SET, requests, CLIENTS, 1, KEYS)
        return 1e6 / throughput, target.cpu_since(before)[0] / requests


@dataclass(frozen=True)
class SlowSync:
    """How late keys expire, by Sluice's own histogram, while every sync takes so long and clients write."""
    name: str
    sync_ms: int
    seconds: float
    bar_ms: float

    def run(self, bench):
        with sync_shim() as shim:
            environment = {"LD_PRELOAD": shim, "SLOW_SYNC_MS": str(self.sync_ms)}
            for policy in ("always", "everysec", "no"):
                bench.progress(f"{self.name}: {policy}")
                with server(bench.binary("sluice"), (*EVERYSEC, "--appendfsync", policy),
                            environment=environment) as target:
                    timers = self._write(target)
                yield Row(f"{self.name}-{policy}-p99", "ms", float(timers["expiry_lateness_ms_p99"]),
                          bar=self.bar_ms, absolute=True,
                          note=f"of {timers['expired']} keys; latest {timers['expiry_lateness_ms_max']} ms")

    def _write(self, target):
        """A few thousand keys a second, so that it is the disk that could make them late. Their answers may
        wait for it, so they are not waited for."""
        with socket.create_connection(("127.0.0.1", target.port)) as writer:
            for step in range(int(self.seconds * STEPS_PER_SECOND)):
                writer.sendall(b"".join(encode(["SET", f"key:{step}:{number}", "x", "PX", 100 + 7 * number])
                                        for number in range(KEYS_PER_STEP)))
                time.sleep(1 / STEPS_PER_SECOND)
        time.sleep(1)
        expired = target.client.info("stats")["expired_keys"]
        return {**target.client.info("timers"), "expired": expired}
