"""What a command takes among many keys, beside what it takes among few.

All keys are counters with a time, which ends some time within years, so that neighbours in time are none in
memory. A round sends the command 64 ahead to a part of them, each once, in an order of chance, when these have got
a time again.
"""
import random
import statistics
from dataclasses import dataclass

from .report import Row, number
from .resp import encode
from .servers import server

AHEAD = 64
PART = 100_000  # keys a round: all there are, where they are few
TIMES_MS = (10_000_000, 10_000_000_000)


@dataclass(frozen=True)
class Growth:
    """`command` is sent with the key behind its first word."""
    name: str
    command: tuple[str, ...]
    few: int
    many: int
    bar: float  # of many, beside few

    def run(self, bench):
        few, many = (self._measure(bench, keys) for keys in (self.few, bench.scaled(self.many)))
        yield Row(self.name, "µs/req", statistics.median(many), statistics.median(few),
                  statistics.median(many) / statistics.median(few), bar=self.bar,
                  note=f"among {number(bench.scaled(self.many))} keys, reference: among {number(self.few)}")

    def _measure(self, bench, keys):
        """µs of CPU a request, one a round."""
        chance = random.Random(1)
        costs = []
        with server(bench.binary("sluice")) as target:
            bench.progress(f"{self.name}: {keys:,} keys")
            target.client.pipeline(self._counter(key, chance) for key in range(keys))
            for _ in bench.rounds():
                part = chance.sample(range(keys), min(PART, keys))
                target.client.pipeline(self._counter(key, chance) for key in part)
                chance.shuffle(part)
                batches = [b"".join(encode((self.command[0], f"counter:{key:08}", *self.command[1:]))
                                    for key in part[at:at + AHEAD]) for at in range(0, len(part), AHEAD)]
                before = target.cpu()
                for batch in batches:
                    target.client.send([batch])
                    target.client.receive(batch.count(b"*"))
                costs.append(target.cpu_since(before)[0] / len(part))
        return costs

    @staticmethod
    def _counter(key, chance):
        return encode(("SET", f"counter:{key:08}", "1", "PX", chance.randrange(*TIMES_MS)))
