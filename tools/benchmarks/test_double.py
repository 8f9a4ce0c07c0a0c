"""What the commands of a test double cost: server CPU as so many PINGs, unpipelined; and what a private space takes
of memory. Redis has none of it, so the reference is Sluice's own PING, or its DEL."""
import statistics
from dataclasses import dataclass

from .report import Row
from .resp import encode
from .servers import server

PINGS = 5_000
SPACES = 300
COPIES = 300
DOUBLE = ("--test-double", "yes", "--appendonly", "no")
YEAR_MS = 365 * 24 * 3600 * 1000
SPREAD_MS = 100_000  # over so long the timers of one ADVANCE lie


@dataclass(frozen=True)
class TestDouble:
    name: str
    timers: int
    space_bar: float | None = None
    copy_bar: float | None = None
    advance_bar: float | None = None
    year_bar: float | None = None
    kib_bar: float | None = None

    def run(self, bench):
        found = {"space": [], "copy": [], "advance": [], "year": [], "kib": []}
        for number in bench.rounds():
            bench.progress(f"{self.name}: round {number}")
            with server(bench.binary("sluice"), log=DOUBLE) as target:
                for what, value in self._measure(target):
                    found[what].append(value)
        rows = (("space", "PINGs", self.space_bar, "made, one SET, deleted"),
                ("copy", "PINGs", self.copy_bar, "of a space with 100 keys"),
                ("advance", "DELs", self.advance_bar, f"over {self.timers:,} timers"),
                ("year", "PINGs", self.year_bar, "over ten timers"),
                ("kib", "KiB", self.kib_bar, "a space with a key in it"))
        for what, unit, bar, note in rows:
            yield Row(f"{self.name}-{what}", unit, statistics.median(found[what]), bar=bar, absolute=True,
                      note=note)

    def _measure(self, target):
        client = target.client

        def cpu_of(work):
            before = target.cpu()
            work()
            return target.cpu_since(before)[0]

        ping = cpu_of(lambda: [client.call("PING") for _ in range(PINGS)]) / PINGS
        yield "space", cpu_of(lambda: _spaces(client)) / SPACES / ping
        _fill(client)
        yield "copy", cpu_of(lambda: [client.call("SLUICE.SPACE", "COPY", "fixture", "copy")
                                      for _ in range(COPIES)]) / COPIES / ping
        client.call("SLUICE.CLOCK", "FREEZE")
        keys = range(self.timers)
        client.pipeline(encode(("SET", f"key:{i}", "v", "PX", 1 + i % SPREAD_MS)) for i in keys)
        advance = cpu_of(lambda: client.call("SLUICE.CLOCK", "ADVANCE", SPREAD_MS + 1))
        client.pipeline(encode(("SET", f"key:{i}", "v")) for i in keys)
        yield "advance", advance / cpu_of(
            lambda: client.pipeline(encode(("DEL", f"key:{i}")) for i in keys))
        for i in range(10):
            client.call("SET", f"year:{i}", "v", "PX", YEAR_MS // 10 * i + 1)
        yield "year", cpu_of(lambda: client.call("SLUICE.CLOCK", "ADVANCE", YEAR_MS)) / ping
        before = target.resident_bytes()
        for i in range(SPACES):
            client.call("SLUICE.SPACE", f"memory:{i}")
            client.call("SET", "key", "value")
        yield "kib", (target.resident_bytes() - before) / SPACES / 1024


def _spaces(client):
    for i in range(SPACES):
        client.call("SLUICE.SPACE", f"space:{i}")
        client.call("SET", "key", "value")
        client.call("SLUICE.SPACE", "default")
        client.call("SLUICE.SPACE", "DEL", f"space:{i}")


def _fill(client):
    client.call("SLUICE.SPACE", "fixture")
    for i in range(100):
        client.call("SET", f"key:{i}", "value")
    client.call("SLUICE.SPACE", "default")
