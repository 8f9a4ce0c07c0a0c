"""What it costs to be looked at by the HTTP port. No Redis beside it: a bar is of Sluice's own value.

    Scrape      the longest turn while /metrics is asked for, by the server's own figure, and its size
    OpenPage    the share of a core that a page takes that is open in Chromium, beyond none; needs
                chromium and chromium-driver
"""
import pathlib
import statistics
import sys
import time
import urllib.request
from dataclasses import dataclass

from .crowds import SETTLED_SECONDS, connect_all, fill_locks
from .report import Row
from .resp import encode
from .servers import Failure, free_port, server

SUPPORT = pathlib.Path(__file__).resolve().parents[2] / "tests/support"
SCRAPES = 50
KILOBYTE = 1000
WAITERS = 20


def _with_port(port):
    return ("--appendonly", "no", "--http-port", str(port))


@dataclass(frozen=True)
class Scrape:
    name: str
    keys: int
    locks: int
    turn_bar_us: float
    kilobytes_bar: float

    def run(self, bench):
        turns, size = [], 0
        for round_number in bench.rounds():
            bench.progress(f"{self.name}: round {round_number}")
            port = free_port()
            with server(bench.binary("sluice"), log=_with_port(port)) as target:
                target.client.pipeline(encode(("SET", f"key:{i}", "v", "EX", 100_000))
                                       for i in range(bench.scaled(self.keys)))
                fill_locks(target, self.locks)
                time.sleep(SETTLED_SECONDS)
                target.client.call("CONFIG", "RESETSTAT")
                for _ in range(SCRAPES):
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                        size = len(answer.read())
                turns.append(float(target.client.info("turns")["turn_cpu_us_max"]))
        yield Row(f"{self.name}-turn", "µs", statistics.median(turns), bar=self.turn_bar_us, absolute=True,
                  note="longest turns: " + " ".join(f"{value:.0f}" for value in turns))
        yield Row(f"{self.name}-size", "kB", size / KILOBYTE, bar=self.kilobytes_bar, absolute=True)


@dataclass(frozen=True)
class OpenPage:
    name: str
    locks: int
    seconds: float
    bar_percent: float

    def run(self, bench):
        sys.path.insert(0, str(SUPPORT))
        from browser import Browser, Missing
        more = []
        for round_number in bench.rounds():
            bench.progress(f"{self.name}: round {round_number}")
            port = free_port()
            with server(bench.binary("sluice"), log=_with_port(port)) as target:
                fill_locks(target, self.locks)
                waiters = connect_all(target, WAITERS, lambda i: (
                    "LOCK.ACQUIRE", f"lock:{i % 5}", f"waiter:{i}", "LEASE", "1000", "WAIT", "900000"))
                alone = self._percent(target)
                try:
                    with Browser() as browser:
                        browser.open(f"http://127.0.0.1:{port}/")
                        browser.until("return document.querySelectorAll('#locks tbody tr').length >= 90")
                        more.append(self._percent(target) - alone)
                except Missing as reason:
                    raise Failure(str(reason)) from None
                del waiters
        yield Row(self.name, "% core", statistics.median(more), bar=self.bar_percent, absolute=True,
                  note=f"{self.locks:,} locks, {WAITERS} waiters")

    def _percent(self, target):
        before = target.cpu()
        time.sleep(self.seconds)
        return 100 * target.cpu_since(before)[0] / (self.seconds * 1e6)
