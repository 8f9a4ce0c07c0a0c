"""The longest that a pinging client waits while the keyspace grows by millions of random keys.

Few clients load the server, so that what shows is its tables growing and not the length of a batch.
On a machine with few or busy cores the kernel's scheduler alone causes waits of several ms. They
are left out: a reply counts as come when the kernel stamped it, not when this process was woken to
read it, and the time that the server stood in the run queue is taken off. Sluice's own histogram
tells the CPU time of the longest turn of its loop.
"""
import socket
import struct
import subprocess
import time
from dataclasses import dataclass

from .load import redis_benchmark_command
from .report import Row, number, paired
from .resp import encode
from .servers import Failure, process, server

CLIENTS = 10
PIPELINE = 16
KEYS = 1_000_000_000
PAUSE_SECONDS = 0.0005
LOAD_NICE = 19  # the load generator leaves the processor to the server and the pinging client
SO_TIMESTAMPNS = 35  # Linux: the control message's number, and its body is a timespec


@dataclass(frozen=True)
class Stall:
    name: str
    inserts: int
    bar: float | None = None          # of the ratio of the longest waits
    turn_bar_us: float | None = None  # of the CPU time of Sluice's longest turn

    def run(self, bench):
        waits = {"sluice": [], "redis": []}
        turns = []
        for round_number in bench.rounds():
            for side, measured in waits.items():
                bench.progress(f"{self.name}: round {round_number}, {side}")
                with server(bench.binary(side)) as target:
                    measured.append(self._longest_wait_ms(bench, target))
                    if side == "sluice":
                        turns.append(target.client.info("turns"))
        note = " / ".join(" ".join(map(number, measured)) for measured in waits.values())
        yield paired(self.name, "ms", waits["sluice"], waits["redis"], bar=self.bar, note=note)
        longest = [float(turn["turn_cpu_us_max"]) for turn in turns if "turn_cpu_us_max" in turn]
        yield Row(f"{self.name}-turn", "µs", max(longest, default=None), bar=self.turn_bar_us,
                  absolute=True, note=turns[-1].get("turn_cpu_us_histogram", "INFO turns"))

    def _longest_wait_ms(self, bench, target):
        command = redis_benchmark_command(target, "SET key:__rand_int__ xxx",
                                          bench.scaled(self.inserts), CLIENTS, PIPELINE, KEYS)
        connection = target.client.socket
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        longest_ns = 0
        with process(command, nice=LOAD_NICE, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL) as load:
            while load.poll() is None:
                longest_ns = max(longest_ns, _wait_ns(target, connection))
                time.sleep(PAUSE_SECONDS)
        if load.returncode:
            raise Failure("redis-benchmark could not insert the keys")
        return longest_ns / 1e6


def _wait_ns(target, connection):
    """One PING: from sending it to the kernel's stamp on its reply, less the server's queueing."""
    queued = target.queued_ns()
    sent = time.time_ns()
    connection.sendall(encode(["PING"]))
    reply, control, _, _ = connection.recvmsg(64, 64)
    if not reply or not control:
        raise Failure("the PING got no reply with a time stamp")
    seconds, nanoseconds = struct.unpack("qq", control[0][2])
    return seconds * 1_000_000_000 + nanoseconds - sent - (target.queued_ns() - queued)
