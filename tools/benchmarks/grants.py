"""What a grant costs that a replica has before it is answered (lock-min-replicas 1), beside one that nobody
waits for. Both are Sluices on this machine, and the replica follows in both cases.

    lock-replicas-p50, -p99   of one client's LOCK.ACQUIRE
    lock-replicas-rate        of fifty clients
"""
import csv
import subprocess
import time
from dataclasses import dataclass

from .load import redis_benchmark_command
from .report import Row, paired
from .servers import Failure, process, server

ACQUIRE = "LOCK.ACQUIRE lock:__rand_int__ me LEASE 60000"
LOCKS = 1_000_000
SYNC_SECONDS_MAX = 60


def _measure(target, requests, clients):
    """Requests a second, and the median and the 99th percentile in ms."""
    with process(redis_benchmark_command(target, ACQUIRE, requests, clients, 1, LOCKS),
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        output, errors = running.communicate()
    if running.returncode:
        raise Failure(f"redis-benchmark: {(errors or output).strip().splitlines()[-1]}")
    last = list(csv.DictReader(output.splitlines()))[-1]
    return float(last["rps"]), float(last["p50_latency_ms"]), float(last["p99_latency_ms"])


def _await_replica(leader):
    """Until the replica has acknowledged something, and so counts."""
    end = time.monotonic() + SYNC_SECONDS_MAX
    while time.monotonic() < end:
        if "state=online" in leader.client.info("replication").get("slave0", ""):
            time.sleep(1.5)
            return
        time.sleep(0.05)
    raise Failure("the replica does not follow")


@dataclass(frozen=True)
class GrantsKept:
    name: str
    requests: int
    p50_bar: float  # times that without
    p99_bar_ms: float
    rate_bar: float  # of that without, inverted: how many times as slow

    def run(self, bench):
        alone, crowd = {"0": [], "1": []}, {"0": [], "1": []}
        binary = bench.binary("sluice")
        with server(binary) as leader, server(binary) as follower:
            leader.client.call("CONFIG", "SET", "repl-diskless-sync-delay", "0")
            follower.client.call("REPLICAOF", "127.0.0.1", str(leader.port))
            _await_replica(leader)
            for round_number in bench.rounds():
                for replicas in alone:
                    bench.progress(f"{self.name}: round {round_number}, lock-min-replicas {replicas}")
                    leader.client.call("CONFIG", "SET", "lock-min-replicas", replicas)
                    alone[replicas].append(_measure(leader, bench.scaled(self.requests), 1))
                    crowd[replicas].append(_measure(leader, bench.scaled(10 * self.requests), 50))
            if int(leader.client.info("locks")["locks_taken_back"]) > 0:
                raise Failure("grants were taken back")
        (_, p50, p99), (_, p50_before, _) = zip(*alone["1"]), zip(*alone["0"])
        yield paired(f"{self.name}-p50", "ms", p50, p50_before, bar=self.p50_bar, note="reference: lock-min-replicas 0")
        yield Row(f"{self.name}-p99", "ms", max(p99), bar=self.p99_bar_ms, absolute=True)
        took, took_before = ([1e6 / rate for rate, _, _ in crowd[replicas]] for replicas in ("1", "0"))
        yield paired(f"{self.name}-rate", "µs/req", took, took_before, bar=self.rate_bar,
                     note="fifty clients; reference: lock-min-replicas 0")
