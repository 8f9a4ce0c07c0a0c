"""How well a server that evicts chooses: the share of requests that find their key, on a zipf trace.

Each side is given room for the same number of keys, not of bytes: it is filled with so many, and what
it uses then is its maxmemory. The trace is made from a seed and is the same for both. Both have clocks
of seconds, so the trace is spread over many of them.
"""
import bisect
import itertools
import random
import time
from dataclasses import dataclass

from .report import Row
from .resp import encode
from .servers import server

REQUESTS_A_BATCH = 200
SEED = 19


@dataclass(frozen=True)
class EvictionHits:
    name: str
    policy: str
    keys: int       # that there are
    room: int       # of which so many have room
    requests: int
    seconds: float  # that the trace takes at least
    bar: float      # of Redis's hit rate / ours
    samples: int = 10
    exponent: float = 1.0

    def trace(self, requests):
        chance = random.Random(SEED)
        sums = list(itertools.accumulate(1 / rank ** self.exponent for rank in range(1, self.keys + 1)))
        for _ in range(requests):
            yield bisect.bisect_left(sums, chance.random() * sums[-1])

    def run(self, bench):
        trace = list(self.trace(bench.scaled(self.requests)))
        seconds = bench.scaled(int(self.seconds))
        rates = {}
        for side in ("sluice", "redis"):
            bench.progress(f"{self.name}: {side}")
            with server(bench.binary(side)) as target:
                rates[side] = self.hit_rate(target.client, trace, seconds)
        ours, theirs = rates["sluice"], rates["redis"]
        yield Row(self.name, "misses", 1 - ours, 1 - theirs, (1 - ours) / (1 - theirs), bar=self.bar,
                  note=f"{self.policy}, {self.samples} samples: {ours:.2%} / {theirs:.2%} hits")

    def hit_rate(self, client, trace, seconds):
        client.call("CONFIG", "SET", "maxmemory-policy", self.policy)
        client.call("CONFIG", "SET", "maxmemory-samples", self.samples)
        client.pipeline(encode(["SET", f"fill:{i:012}", "x" * 100]) for i in range(self.room))
        client.call("CONFIG", "SET", "maxmemory", client.info("memory")["used_memory"])
        hits = counted = 0
        began = time.monotonic()
        for first in range(0, len(trace), REQUESTS_A_BATCH):
            batch = trace[first:first + REQUESTS_A_BATCH]
            client.send(encode(["GET", f"fact:{key:012}"]) for key in batch)
            missed = [key for key in batch if client.read() is None]
            client.pipeline(encode(["SET", f"fact:{key:012}", "x" * 100]) for key in missed)
            if first >= len(trace) // 4:  # it is warm
                counted += len(batch)
                hits += len(batch) - len(missed)
            ahead = (first + len(batch)) / len(trace) * seconds - (time.monotonic() - began)
            if ahead > 0:
                time.sleep(ahead)
        return hits / counted
