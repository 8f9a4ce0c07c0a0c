"""A case that redis-benchmark loads: server CPU per request, and throughput beside it.

The server's CPU is what is compared, for it does not depend on how fast the load generator is.
"""
import csv
import shlex
import statistics
import subprocess
from dataclasses import dataclass

from .report import number, paired
from .resp import encode
from .rounds import alternate
from .servers import NO_LOG, Failure, process, server

CLIENTS = 50
KEYS = 100_000
RANDOM = "__rand_int__"  # redis-benchmark writes a random 12-digit number below KEYS in its place


@dataclass(frozen=True)
class Work:
    """What one side does. Before each round `setup` is run once, then `fill` once for every number below KEYS
    that can stand in place of __rand_int__; neither is measured."""
    command: str
    setup: tuple[str, ...] = ()
    fill: str = ""
    before: int = 0  # so many of the command itself are sent once, before the first round
    on: str = "sluice"  # or "redis"
    flags: tuple[str, ...] = ()  # of its server, beside those of both


@dataclass(frozen=True)
class Load:
    """`work` on Sluice beside `reference`, which is the same work on Redis unless given."""
    name: str
    work: Work
    requests: int
    pipeline: int = 1
    bar: float | None = None
    reference: Work | None = None
    log: tuple[str, ...] = NO_LOG  # flags of both servers
    keys: int = KEYS  # different random numbers

    def run(self, bench):
        reference = self.reference or Work(self.work.command, self.work.setup, self.work.fill,
                                           on="redis")
        with server(bench.binary(self.work.on), self.log + self.work.flags) as ours, \
                server(bench.binary(reference.on), self.log + reference.flags) as theirs:
            for target, work in ((ours, self.work), (theirs, reference)):
                if work.before:
                    redis_benchmark(target, work.command, bench.scaled(work.before), CLIENTS, 64, self.keys)
            ours, theirs = alternate(bench, self.name, lambda: self.round(bench, ours, self.work),
                                     lambda: self.round(bench, theirs, reference))
        note = note_of(ours, theirs)
        if self.reference:
            note += f"; reference: {reference.command.split()[0]} on {reference.on}"
        yield paired(self.name, "µs/req", [cost[0] for cost in ours], [cost[0] for cost in theirs],
                     bar=self.bar, note=note)

    def round(self, bench, target, work):
        """One side's round: µs of CPU per request (total, user, system) and requests per second."""
        for command in work.setup:
            target.client.call(*shlex.split(command))
        if work.fill:
            parts = shlex.split(work.fill)
            target.client.pipeline(
                encode([part.replace(RANDOM, f"{chosen:012}") for part in parts])
                for chosen in range(KEYS))
        requests = bench.scaled(self.requests)
        before = target.cpu()
        throughput = redis_benchmark(target, work.command, requests, CLIENTS, self.pipeline, self.keys)
        total, user = (cost / requests for cost in target.cpu_since(before))
        return total, user, total - user, throughput


def redis_benchmark_command(target, command, requests, clients, pipeline, keys):
    return ["redis-benchmark", "-p", str(target.port), "-c", str(clients), "-n", str(requests),
            "-P", str(pipeline), "-r", str(keys), "--csv", *shlex.split(command)]


def redis_benchmark(*load):
    """Runs the load to its end; requests per second."""
    with process(redis_benchmark_command(*load), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                 text=True) as running:
        output, errors = running.communicate()
    if running.returncode:
        raise Failure(f"redis-benchmark: {(errors or output).strip().splitlines()[-1]}")
    return float(list(csv.DictReader(output.splitlines()))[-1]["rps"])


def note_of(ours, theirs):
    """What the rounds of both sides were made of."""
    return (f"{_median(ours, 1)}+{_median(ours, 2)} / {_median(theirs, 1)}+{_median(theirs, 2)}"
            f" user+system, {_median(ours, 3)} / {_median(theirs, 3)} req/s")


def _median(rounds, column):
    return number(statistics.median(cost[column] for cost in rounds))
