"""What a key, an element of a collection and an idle connection cost in resident memory."""
import random
import resource
import time
from dataclasses import dataclass

from .report import Row, paired
from .resp import Client, encode
from .servers import server

SEED = 1
SETTLE_SECONDS = 1  # for tables still being moved in the background


@dataclass(frozen=True)
class BytesPerKey:
    """Rate-limit counters: an 18-byte name, a small integer and a TTL."""
    name: str
    keys: int
    bar: float | None = None

    def run(self, bench):
        keys = bench.scaled(self.keys)
        cost = []
        for side in ("sluice", "redis"):
            bench.progress(f"{self.name}: {keys:,} keys into {side}")
            with server(bench.binary(side)) as target:
                before = target.resident_bytes()
                target.client.pipeline(
                    encode(["SET", f"rate:user:{number:08}", number % 100, "EX", 3600])
                    for number in range(keys))
                time.sleep(SETTLE_SECONDS)
                cost.append([(target.resident_bytes() - before) / keys])
        yield paired(self.name, "bytes", *cost, bar=self.bar)


@dataclass(frozen=True)
class BytesPerLimiter:
    """Live limiters of one kind, or buckets, with names of 20 bytes, all in."""
    name: str
    limit: str  # what follows the key
    keys: int
    bar: float
    command: str = "LIMIT.TAKE"
    times: int = 1  # so often for each key, in rounds over all of them

    def run(self, bench):
        keys = bench.scaled(self.keys)
        bench.progress(f"{self.name}: {keys:,} keys")
        with server(bench.binary("sluice")) as target:
            before = target.resident_bytes()
            target.client.pipeline(
                encode([self.command, f"limit:user:{number:09}", *self.limit.split()])
                for _ in range(self.times) for number in range(keys))
            time.sleep(SETTLE_SECONDS)
            cost = (target.resident_bytes() - before) / keys
        yield Row(self.name, "bytes", cost, bar=self.bar, absolute=True, note=self.limit)


@dataclass(frozen=True)
class BytesPerRequestId:
    """What a remembered request of LIMIT.TAKE costs beside its ID, which is as long as a UUID."""
    name: str
    ids: int
    bar: float

    def run(self, bench):
        ids = bench.scaled(self.ids)
        bench.progress(f"{self.name}: {ids:,} ids")
        take = ["LIMIT.TAKE", "hot", "WINDOW", "1000000000", "3600000"]
        with server(bench.binary("sluice")) as target:
            target.client.call("CONFIG", "SET", "request-id-memory-max", "1gb")
            target.client.call(*take)
            before = target.resident_bytes()
            target.client.pipeline(encode([*take, "ID", f"{number:036}"]) for number in range(ids))
            time.sleep(SETTLE_SECONDS)
            cost = (target.resident_bytes() - before) / ids - 36
        yield Row(self.name, "bytes", cost, bar=self.bar, absolute=True)


@dataclass(frozen=True)
class BytesPerLock:
    """Held locks, with names of 16 bytes and owners of 36, beside what Redis has for one: SET NX PX. In
    resident memory, which the bar is for, and as INFO counts it."""
    name: str
    terms: str  # what follows the owner
    locks: int
    bar: float

    def run(self, bench):
        locks = bench.scaled(self.locks)
        resident, used = [], []
        for side, command in (("sluice", f"LOCK.ACQUIRE {{}} {{}} {self.terms}"),
                              ("redis", "SET {} {} NX PX 3600000")):
            bench.progress(f"{self.name}: {locks:,} locks into {side}")
            with server(bench.binary(side)) as target:
                before = target.resident_bytes(), target.used_memory()
                target.client.pipeline(
                    encode(command.format(f"lock:{number:011}", f"owner-{number:030}").split())
                    for number in range(locks))
                time.sleep(SETTLE_SECONDS)
                resident.append((target.resident_bytes() - before[0]) / locks)
                used.append((target.used_memory() - before[1]) / locks)
        for what, (ours, theirs), bar in (("", resident, self.bar), ("-used", used, None)):
            yield Row(self.name + what, "bytes", ours, theirs, ours / theirs, bar=bar,
                      absolute=bar is not None, note=self.terms)


@dataclass(frozen=True)
class BytesPerElement:
    """Collections of so many elements, the key's own cost among them. In `command` {key}, {element}
    and {number} (below a million) are put in."""
    name: str
    command: str
    elements: int
    keys: int = 1
    bar: float | None = None

    def run(self, bench):
        elements = bench.scaled(self.elements) if self.keys == 1 else self.elements
        keys = bench.scaled(self.keys) if self.keys > 1 else 1
        cost = []
        for side in ("sluice", "redis"):
            bench.progress(f"{self.name}: {keys:,} x {elements:,} elements into {side}")
            with server(bench.binary(side)) as target:
                before = target.resident_bytes()
                target.client.pipeline(self._commands(keys, elements))
                time.sleep(SETTLE_SECONDS)
                cost.append([(target.resident_bytes() - before) / (keys * elements)])
        yield paired(self.name, "bytes", *cost, bar=self.bar)

    def _commands(self, keys, elements):
        rng = random.Random(SEED)
        for key in range(keys):
            for element in range(elements):
                command = self.command.format(key=f"key:{key:08}", element=f"element:{element:012}",
                                              number=rng.randrange(1_000_000))
                yield encode(command.split())


@dataclass(frozen=True)
class BytesPerScript:
    """Cached scripts that differ in a number, as those do whose arguments are pasted into the text."""
    name: str
    scripts: int
    text: str  # {} is the number
    bar: float | None = None

    def run(self, bench):
        scripts = bench.scaled(self.scripts)
        cost = []
        for side in ("sluice", "redis"):
            bench.progress(f"{self.name}: {scripts:,} scripts into {side}")
            with server(bench.binary(side)) as target:
                before = target.resident_bytes()
                target.client.pipeline(encode(["SCRIPT", "LOAD", self.text.format(number)])
                                       for number in range(scripts))
                cost.append([(target.resident_bytes() - before) / scripts])
        yield paired(self.name, "bytes", *cost, bar=self.bar)


@dataclass(frozen=True)
class BytesPerConnection:
    """Connections that each sent one PING, measured at once, before any clean-up of theirs."""
    name: str
    connections: int
    bar: float  # bytes: what Redis takes hangs on what its allocator kept

    def run(self, bench):
        connections = bench.scaled(self.connections)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        cost = []
        for side in ("sluice", "redis"):
            bench.progress(f"{self.name}: {connections:,} connections to {side}")
            with server(bench.binary(side)) as target:
                before = target.resident_bytes()
                clients = []
                for _ in range(connections):
                    clients.append(Client(target.port))
                    clients[-1].call("PING")
                cost.append((target.resident_bytes() - before) / connections)
                for client in clients:
                    client.close()
        ours, theirs = cost
        yield Row(self.name, "bytes", ours, theirs, ours / theirs, bar=self.bar, absolute=True)
