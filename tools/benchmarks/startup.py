"""From exec to the first PONG, on an empty server."""
from dataclasses import dataclass

from .report import paired
from .servers import server


@dataclass(frozen=True)
class StartToPong:
    name: str
    starts: int
    bar: float | None = None

    def run(self, bench):
        bench.progress(f"{self.name}: {self.starts} starts each")
        times = {"sluice": [], "redis": []}
        for _ in range(self.starts):
            for side, measured in times.items():
                with server(bench.binary(side)) as target:
                    measured.append(target.start_ms)
        yield paired(self.name, "ms", times["sluice"], times["redis"], bar=self.bar)
