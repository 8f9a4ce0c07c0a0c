"""A load on Sluice beside a loop that reads requests and answers each +OK (bare_loop.c): what system calls cost
here whatever a server does, and how much is Sluice's own."""
import contextlib
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass

from .load import Load, Work, note_of
from .report import paired
from .rounds import alternate
from .servers import NO_LOG, server


@contextlib.contextmanager
def _bare_loop():
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/bare_loop"
        source = pathlib.Path(__file__).with_name("bare_loop.c")
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        with server(program, NO_LOG) as loop:
            yield loop


@dataclass(frozen=True)
class OfFloor:
    name: str
    work: Work
    requests: int
    pipeline: int = 1
    bar: float | None = None

    def run(self, bench):
        load = Load(self.name, self.work, self.requests, self.pipeline)
        bare = Work(self.work.command)
        with server(bench.binary("sluice"), NO_LOG) as ours, _bare_loop() as floor:
            ours, floor = alternate(bench, self.name, lambda: load.round(bench, ours, self.work),
                                    lambda: load.round(bench, floor, bare))
        yield paired(self.name, "µs/req", [cost[0] for cost in ours], [cost[0] for cost in floor], bar=self.bar,
                     note=f"{note_of(ours, floor)}; reference: a bare epoll loop")
