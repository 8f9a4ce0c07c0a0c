"""What following costs a server, and Redis's own beside it.

    ReplicaCpu    CPU a command of its master's stream
    ReplicaLoad   wall time and CPU of a full sync, from its first byte until the replica acknowledges it

The master is made up: it has no data, or a file that a redis-server has saved, and says the same stream to both, as a
redis-server would: each SET with the moment of its end. It is said as fast as the replica reads, and measured until all
of it is acknowledged.
"""
import pathlib
import re
import socket
import tempfile
import time
from dataclasses import dataclass

from .load import KEYS
from .loading import SnapshotOf
from .report import number, paired
from .resp import encode
from .servers import Failure, server

IMAGE = b"REDIS0010\xff" + bytes(8)
ID = "a" * 40
INFO = b"$13\r\nrole:master\r\n\r\n"
LIFE_MS = 3_600_000
BATCH = 2000
SYNC_SECONDS_MAX = 60


class MadeUpMaster:
    """Has one replica, which it brings up to a full sync. At the end of what is said it asks for an ACK."""

    def __init__(self, replica, image=IMAGE):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(SYNC_SECONDS_MAX)
            replica.client.call("REPLICAOF", "127.0.0.1", listener.getsockname()[1])
            self.link, _ = listener.accept()
        self.link.settimeout(SYNC_SECONDS_MAX)
        self.offset, self.heard = 0, b""
        while b"PSYNC" not in self._hear():
            said = self.heard.count(b"PING") * b"+PONG\r\n" + self.heard.count(b"REPLCONF") * b"+OK\r\n"
            self.heard, answer = b"", said + self.heard.count(b"INFO") * INFO
            self.link.sendall(answer)
        self.heard = b""
        self.link.sendall(b"+FULLRESYNC %s 0\r\n$%d\r\n" % (ID.encode(), len(image)))
        self.link.sendall(image)
        self.say(encode(["SELECT", 0]))
        self.await_ack()

    def _hear(self):
        got = self.link.recv(65536)
        if not got:
            raise Failure("the replica has closed its link")
        self.heard += got
        return self.heard

    def say(self, stream):
        self.offset += len(stream)
        self.link.sendall(stream)

    def await_ack(self):
        """Until all that was said has been applied."""
        wanted = self.offset
        self.say(encode(["REPLCONF", "GETACK", "*"]))
        while not any(int(ack) >= wanted for ack in re.findall(rb"ACK\r\n\$\d+\r\n(\d+)\r\n", self._hear())):
            self.heard = self.heard[-256:]

    def close(self):
        self.link.close()


def _batches(count):
    """SETs with an end, of keys in an order that is no order."""
    until = int(time.time() * 1000) + LIFE_MS
    for first in range(0, count, BATCH):
        yield b"".join(encode(["SET", f"key:{number_of * 7919 % KEYS:012d}", "xxx", "PXAT", until + number_of])
                       for number_of in range(first, min(count, first + BATCH)))


@dataclass(frozen=True)
class ReplicaCpu:
    name: str
    commands: int
    bar: float

    def run(self, bench):
        costs = {"sluice": [], "redis": []}
        stream = list(_batches(bench.scaled(self.commands)))
        for round_number in bench.rounds():
            for side, measured in costs.items():
                bench.progress(f"{self.name}: round {round_number}, {side}")
                measured.append(self._round(bench, bench.binary(side), stream))
        yield paired(self.name, "µs/cmd", *costs.values(), bar=self.bar,
                     note="SET PXAT of a stream: " + " / ".join(" ".join(map(number, side)) for side in costs.values()))

    def _round(self, bench, binary, stream):
        with server(binary) as target:
            master = MadeUpMaster(target)
            before = target.cpu()
            for batch in stream:
                master.say(batch)
            master.await_ack()
            cost = target.cpu_since(before)[0] / bench.scaled(self.commands)
            if target.client.call("DBSIZE") != min(KEYS, bench.scaled(self.commands)):
                raise Failure("the replica has not taken the stream")
            master.close()
        return cost


@dataclass(frozen=True)
class ReplicaLoad:
    name: str
    keys: int
    bar: float

    def run(self, bench):
        with tempfile.TemporaryDirectory() as folder:
            with server(bench.binary("redis"), folder=folder) as target:
                SnapshotOf(self.keys).fill(bench, target)
            image = (pathlib.Path(folder) / "dump.rdb").read_bytes()
        walls, cpus = {"sluice": [], "redis": []}, {"sluice": [], "redis": []}
        for round_number in bench.rounds():
            for side, measured in walls.items():
                bench.progress(f"{self.name}: round {round_number}, {side}")
                wall_ms, cpu_ms = self._round(bench, bench.binary(side), image)
                measured.append(wall_ms)
                cpus[side].append(cpu_ms)
        for what, measured in (("", walls), ("-cpu", cpus)):
            yield paired(self.name + what, "ms", measured["sluice"], measured["redis"], bar=self.bar,
                         note=f"{len(image) >> 20} MiB of {bench.scaled(self.keys)} keys: "
                              + " / ".join(" ".join(map(number, side)) for side in measured.values()))

    def _round(self, bench, binary, image):
        with server(binary) as target:
            cpu, begin = target.cpu(), time.perf_counter()
            master = MadeUpMaster(target, image)
            wall_ms = (time.perf_counter() - begin) * 1000
            cpu_ms = target.cpu_since(cpu)[0] / 1000
            if target.client.call("DBSIZE") != bench.scaled(self.keys):
                raise Failure("the replica has not loaded the file")
            master.close()
        return wall_ms, cpu_ms
