"""Transactions of several commands, which redis-benchmark cannot send: server CPU per transaction."""
import random
from dataclasses import dataclass
from typing import Callable

from .report import number, paired
from .resp import Client, encode
from .rounds import on_both

CLIENTS = 50
KEYS = 10_000
SEED = 1


def sliding_window(key, time_ms):
    """The limiter that is written everywhere: old hits go, this one comes, how many are they?"""
    name = f"window:{key:08}"
    return [("MULTI",), ("ZREMRANGEBYSCORE", name, 0, time_ms - 60_000), ("ZADD", name, time_ms, time_ms),
            ("ZCARD", name), ("PEXPIRE", name, 60_000), ("EXEC",)]


@dataclass(frozen=True)
class Transactions:
    """`make(key, time_ms)` gives the commands of one; `pipeline` of them are sent at once by each of
    the clients in turn. `step_ms` passes between two, so that a key's window holds some hits."""
    name: str
    make: Callable
    count: int
    pipeline: int
    step_ms: float
    bar: float | None = None

    def run(self, bench):
        count = bench.scaled(self.count)
        ours, theirs = on_both(bench, self.name, lambda target: self._round(target, count))
        yield paired(self.name, "µs/transaction", ours, theirs, bar=self.bar,
                     note=f"{number(count)} transactions a round")

    def _round(self, target, count):
        target.client.call("FLUSHALL")
        clients = [Client(target.port) for _ in range(CLIENTS)]
        rng = random.Random(SEED)
        before = target.cpu()
        time_ms, done = 1_700_000_000_000.0, 0
        while done < count:
            for client in clients:
                commands = []
                for _ in range(self.pipeline):
                    time_ms += self.step_ms
                    commands += map(encode, self.make(rng.randrange(KEYS), int(time_ms)))
                client.send(commands)
            for client in clients:
                client.receive(len(self.make(0, 0)) * self.pipeline)
            done += CLIENTS * self.pipeline
        cost = target.cpu_since(before)[0] / done
        for client in clients:
            client.close()
        return cost
