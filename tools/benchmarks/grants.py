"""What a grant costs that a replica has before it is answered (lock-min-replicas 1), beside one that nobody
waits for. All are on this machine, and the replica follows in both cases.

    lock-replicas-p50, -p99   of one client's LOCK.ACQUIRE
    lock-replicas-rate        of fifty clients
    lock-replicas-bare-p50, -bare-rate   with a replica that does nothing but acknowledge (bare_replica.c): what any
                              process in between costs here
    lock-replicas-own-p50     a Sluice as the replica beside that one: what ours adds
"""
import contextlib
import csv
import pathlib
import random
import socket
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

from .load import CLIENTS, redis_benchmark_command
from .report import Row, paired
from .resp import encode
from .servers import Failure, process, server

ACQUIRE = "LOCK.ACQUIRE lock:__rand_int__ me LEASE 60000"
ANSWER_BYTES_MAX = 1000
LOCKS = 1_000_000
SYNC_SECONDS_MAX = 60


def _crowd_rate(target, requests):
    command = redis_benchmark_command(target, ACQUIRE, requests, CLIENTS, 1, LOCKS)
    with process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        output, errors = running.communicate()
    if running.returncode:
        raise Failure(f"redis-benchmark: {(errors or output).strip().splitlines()[-1]}")
    return float(list(csv.DictReader(output.splitlines()))[-1]["rps"])


def _latencies(target, requests):
    """The median and the 99th percentile of one client, in ms: redis-benchmark's are of steps of 8 µs."""
    took = []
    with socket.create_connection(("127.0.0.1", target.port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(requests):
            number = random.randrange(LOCKS)
            request = encode(ACQUIRE.replace("__rand_int__", f"{number:012}").split())
            begin = time.perf_counter()
            client.sendall(request)
            answer = client.recv(ANSWER_BYTES_MAX)
            took.append((time.perf_counter() - begin) * 1000)
            if not answer.startswith(b"*"):
                raise Failure(f"{ACQUIRE}: {answer}")
    cuts = statistics.quantiles(took, n=100)
    return cuts[49], cuts[98]


def _await_replica(leader):
    """Until the replica has acknowledged something, and so counts."""
    end = time.monotonic() + SYNC_SECONDS_MAX
    while time.monotonic() < end:
        if "state=online" in leader.client.info("replication").get("slave0", ""):
            time.sleep(1.5)
            return
        time.sleep(0.05)
    raise Failure("the replica does not follow")


@contextlib.contextmanager
def _bare_replica(leader):
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/bare_replica"
        source = pathlib.Path(__file__).with_name("bare_replica.c")
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        with process([program, str(leader.port)]):
            _await_replica(leader)
            yield


@contextlib.contextmanager
def _leader(binary):
    with server(binary) as leader:
        leader.client.call("CONFIG", "SET", "repl-diskless-sync-delay", "0")
        yield leader


@contextlib.contextmanager
def _follower(binary, leader):
    with server(binary) as follower:
        follower.client.call("REPLICAOF", "127.0.0.1", str(leader.port))
        _await_replica(leader)
        yield


@dataclass(frozen=True)
class GrantsKept:
    name: str
    requests: int
    p50_bar: float  # times that without
    own_bar: float  # times that with a bare replica
    p99_bar_ms: float
    rate_bar: float  # of that without, inverted: how many times as slow

    def run(self, bench):
        alone, bare, crowd, bare_crowd = ({"0": [], "1": []} for _ in range(4))
        binary = bench.binary("sluice")
        with _leader(binary) as leader, _follower(binary, leader), _leader(binary) as other, _bare_replica(other):
            for round_number in bench.rounds():
                for replicas in alone:
                    bench.progress(f"{self.name}: round {round_number}, lock-min-replicas {replicas}")
                    for target in (leader, other):
                        target.client.call("CONFIG", "SET", "lock-min-replicas", replicas)
                    alone[replicas].append(_latencies(leader, bench.scaled(self.requests)))
                    bare[replicas].append(_latencies(other, bench.scaled(self.requests)))
                    crowd[replicas].append(_crowd_rate(leader, bench.scaled(10 * self.requests)))
                    bare_crowd[replicas].append(_crowd_rate(other, bench.scaled(10 * self.requests)))
            for target in (leader, other):
                if int(target.client.info("locks")["locks_taken_back"]) > 0:
                    raise Failure("grants were taken back")
        (p50, p99), (p50_before, _) = zip(*alone["1"]), zip(*alone["0"])
        (p50_bare, _), (p50_bare_before, _) = zip(*bare["1"]), zip(*bare["0"])
        yield paired(f"{self.name}-p50", "ms", p50, p50_before, bar=self.p50_bar, note="reference: lock-min-replicas 0")
        yield Row(f"{self.name}-p99", "ms", statistics.median(p99), bar=self.p99_bar_ms, absolute=True)
        yield paired(f"{self.name}-bare-p50", "ms", p50_bare, p50_bare_before,
                     note="with a replica that does nothing but acknowledge")
        yield paired(f"{self.name}-own-p50", "ms", p50, p50_bare, bar=self.own_bar, note="reference: that one")
        for kind, rates, bar in (("", crowd, self.rate_bar), ("bare-", bare_crowd, None)):
            took, took_before = ([1e6 / rate for rate in rates[replicas]] for replicas in ("1", "0"))
            yield paired(f"{self.name}-{kind}rate", "µs/req", took, took_before, bar=bar,
                         note=f"{CLIENTS} clients; reference: lock-min-replicas 0")
