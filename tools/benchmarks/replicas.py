"""What servers that follow cost the one that they follow.

    Followed      CPU a request with a replica, as a ratio to without one, and Redis's own such ratio beside it
    StreamBytes   how long the stream is for the same commands
    FullSync      CPU of a whole full sync (Redis's child included), and of the longest turn in it
    SlowReplica   what a pinging client waits under a steady load while a replica reads 1 KB/s

The replica is made up: it takes bytes, and says how many it has.
"""
import socket
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass

from .load import CLIENTS, KEYS, redis_benchmark, redis_benchmark_command
from .report import Row, number, paired
from .resp import Client, encode
from .servers import Failure, process, server
from .snapshots import SET, _cpu_us
from .stall import LOAD_NICE, PAUSE_SECONDS, SO_TIMESTAMPNS, _wait_ns

SYNC_SECONDS_MAX = 120
ACK_SECONDS = 1
NO_LIMIT = "replica 0 0 0"


class Replica(threading.Thread):
    """Follows a server until stop(). bytes_per_second: it reads no faster."""

    def __init__(self, target, bytes_per_second=None):
        super().__init__(daemon=True)
        self.bytes_per_second = bytes_per_second
        client = Client(target.port)
        client.call("REPLCONF", "listening-port", "6380")
        client.call("REPLCONF", "capa", "eof", "capa", "psync2")
        self.link = client.socket
        if bytes_per_second:
            self.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.synced, self.over = threading.Event(), threading.Event()
        self.link.sendall(encode(["PSYNC", "?", "-1"]))
        self.start()

    def run(self):
        try:
            self._take_image()
            while not self.over.is_set():
                self.offset += len(self._receive())
                if time.monotonic() - self.acked > ACK_SECONDS:
                    self._acknowledge()
        except OSError:
            pass  # stop() has closed the link

    def _receive(self):
        if not self.bytes_per_second:
            return self.link.recv(1 << 20)
        time.sleep(0.1)
        return self.link.recv(self.bytes_per_second // 10)

    def _take_image(self):
        head = b""
        while b"$EOF:" not in head or len(head.partition(b"$EOF:")[2]) < 42:
            head += self._receive()
        line, _, image = head.partition(b"$EOF:")
        self.offset = int(line.split()[-1])
        mark, tail = image[:40], image[42:]
        while not tail.endswith(mark):
            tail = tail[-40:] + self._receive()
        self._acknowledge()
        self.synced.set()

    def _acknowledge(self):
        self.acked = time.monotonic()
        self.link.sendall(encode(["REPLCONF", "ACK", self.offset]))

    def await_sync(self):
        if not self.synced.wait(SYNC_SECONDS_MAX):
            raise Failure("there was no full sync")
        return self

    def stop(self):
        self.over.set()
        self.link.shutdown(socket.SHUT_RDWR)
        self.link.close()


def _prepare(target):
    target.client.call("CONFIG", "SET", "repl-diskless-sync-delay", "0", "client-output-buffer-limit", NO_LIMIT)


@dataclass(frozen=True)
class Followed:
    name: str
    requests: int
    pipeline: int
    bar: float

    def run(self, bench):
        costs = {"sluice": [], "redis": []}
        for round_number in bench.rounds():
            for side, measured in costs.items():
                bench.progress(f"{self.name}: round {round_number}, {side}")
                measured.append(self._round(bench, bench.binary(side)))
        rows = {side: paired(self.name, "µs/req", *zip(*measured)) for side, measured in costs.items()}
        ours, theirs = rows["sluice"], rows["redis"]
        yield Row(self.name, "of without", ours.ratio, theirs.ratio, bar=self.bar, absolute=True,
                  note=f"a replica beside none: {number(ours.sluice)} {number(ours.reference)} / "
                       f"{number(theirs.sluice)} {number(theirs.reference)} µs/req")

    def _round(self, bench, binary):
        """µs a request: with a replica, and without."""
        with server(binary) as target:
            _prepare(target)
            redis_benchmark(target, SET, KEYS, CLIENTS, 64, KEYS)
            alone = self._cost(bench, target)
            replica = Replica(target).await_sync()
            followed = self._cost(bench, target)
            replica.stop()
        return followed, alone

    def _cost(self, bench, target):
        requests = bench.scaled(self.requests)
        before = target.cpu()
        redis_benchmark(target, SET, requests, CLIENTS, self.pipeline, KEYS)
        return target.cpu_since(before)[0] / requests


# What programs do, most of it in words that need no other in the stream.
MIXTURE = (
    "SET key:{0} value:{0}", "SET lock:{0} owner NX PX 30000", "INCR counter:{1}", "PEXPIRE counter:{1} 60000",
    "HSET hash:{1} field:{0} value", "LPUSH list:{1} {0}", "RPOP list:{1}", "SADD set:{1} {0}", "SPOP set:{1}",
    "ZADD zset:{1} {0} member:{0}", "XADD stream:{1} * field value", "DEL lock:{0}", "GETDEL key:{0}", "PUBLISH news {0}",
)


@dataclass(frozen=True)
class StreamBytes:
    name: str
    rounds: int
    bar: float

    def run(self, bench):
        rounds = bench.scaled(self.rounds)
        bench.progress(self.name)
        ours, theirs = (self._bytes(bench.binary(side), rounds) for side in ("sluice", "redis"))
        yield paired(self.name, "bytes/req", [ours], [theirs], bar=self.bar, note="a mixture of commands")

    @staticmethod
    def _bytes(binary, rounds):
        with server(binary) as target:
            _prepare(target)
            replica = Replica(target).await_sync()
            before = int(target.client.info("replication")["master_repl_offset"])
            target.client.pipeline(encode(command.format(count, count % 100).split())
                                   for count in range(rounds) for command in MIXTURE)
            end = int(target.client.info("replication")["master_repl_offset"])
            replica.stop()
        return (end - before) / (rounds * len(MIXTURE))


@dataclass(frozen=True)
class FullSync:
    name: str
    keys: int
    cpu_bar: float
    turn_bar_us: float

    def run(self, bench):
        cpu = {"sluice": [], "redis": []}
        turns = []
        for round_number in bench.rounds():
            for side, measured in cpu.items():
                bench.progress(f"{self.name}: round {round_number}, {side}")
                cpu_ms, turn_us = self._round(bench, bench.binary(side))
                measured.append(cpu_ms)
                if turn_us is not None:
                    turns.append(turn_us)
        yield paired(f"{self.name}-cpu", "ms", cpu["sluice"], cpu["redis"], bar=self.cpu_bar,
                     note="the child included; " + " / ".join(" ".join(map(number, side)) for side in cpu.values()))
        yield Row(f"{self.name}-turn", "µs", max(turns, default=None), bar=self.turn_bar_us, absolute=True,
                  note=f"the longest of all syncs; of one in the median {statistics.median(turns):.0f}")

    def _round(self, bench, binary):
        keys = bench.scaled(self.keys)
        with server(binary) as target:
            _prepare(target)
            redis_benchmark(target, SET, 4 * keys, CLIENTS, 64, keys)
            target.client.call("CONFIG", "RESETSTAT")
            before = _cpu_us(target)
            replica = Replica(target).await_sync()
            time.sleep(0.5)  # until the child is waited for
            cpu_ms = (_cpu_us(target) - before) / 1000
            turn_us = target.client.info("turns").get("turn_cpu_us_max")
            replica.stop()
        return cpu_ms, None if turn_us is None else float(turn_us)


@dataclass(frozen=True)
class SlowReplica:
    name: str
    seconds: float
    bar: float

    def run(self, bench):
        waits = {"sluice": [], "redis": []}
        for round_number in bench.rounds():
            for side, measured in waits.items():
                bench.progress(f"{self.name}: round {round_number}, {side}")
                measured.append(self._round(bench, bench.binary(side)))
        factors = {side: statistics.median(slow / calm for calm, slow in rounds) for side, rounds in waits.items()}
        yield Row(self.name, "of without", factors["sluice"], factors["redis"], bar=self.bar, absolute=True,
                  note="p99.9 of a PING beside a load: " + " / ".join(
                      " ".join(f"{calm:.2f}->{slow:.2f}" for calm, slow in side) for side in waits.values()) + " ms")

    def _round(self, bench, binary):
        with server(binary) as target:
            _prepare(target)
            redis_benchmark(target, SET, KEYS, CLIENTS, 64, KEYS)
            connection = target.client.socket
            connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            load = redis_benchmark_command(target, SET, 1_000_000_000, 4, 1, KEYS)
            with process(load, nice=LOAD_NICE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
                time.sleep(0.5)
                calm = self._p999_ms(bench, target, connection)
                replica = Replica(target, bytes_per_second=1024)
                slow = self._p999_ms(bench, target, connection)
                replica.stop()
        return calm, slow

    def _p999_ms(self, bench, target, connection):
        seen, end = [], time.monotonic() + bench.scaled(int(self.seconds * 1000)) / 1000
        while time.monotonic() < end:
            seen.append(_wait_ns(target, connection) / 1e6)
            time.sleep(PAUSE_SECONDS)
        return sorted(seen)[int(len(seen) * 0.999)]
