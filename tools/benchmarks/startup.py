"""From exec to the first PONG, on an empty server, in runs that alternate with redis-server's: wall time, CPU of all
threads, and what is resident then. The absolute bar of the time is for an idle machine."""
import statistics
from dataclasses import dataclass

from .report import Row, paired
from .servers import server

MEGABYTE = 1e6


@dataclass(frozen=True)
class StartToPong:
    name: str
    starts: int
    bar: float | None = None
    cpu_bar: float | None = None
    bar_ms: float | None = None
    bar_megabytes: float | None = None

    def run(self, bench):
        bench.progress(f"{self.name}: {self.starts} starts each")
        times = {"sluice": [], "redis": []}
        cpu = {"sluice": [], "redis": []}
        resident = {"sluice": [], "redis": []}
        for _ in range(self.starts):
            for side, measured in times.items():
                with server(bench.binary(side)) as target:
                    measured.append(target.start_ms)
                    cpu[side].append(target.start_cpu_ms)
                    resident[side].append(target.resident_bytes() / MEGABYTE)
        yield paired(self.name, "ms", times["sluice"], times["redis"], bar=self.bar)
        yield paired(f"{self.name}-cpu", "ms CPU", cpu["sluice"], cpu["redis"], bar=self.cpu_bar)
        for what, unit, values, bar in (("time", "ms", times, self.bar_ms),
                                        ("resident", "MB", resident, self.bar_megabytes)):
            ours, theirs = (statistics.median(values[side]) for side in ("sluice", "redis"))
            yield Row(f"{self.name}-{what}", unit, ours, theirs, ours / theirs, bar=bar, absolute=True)
