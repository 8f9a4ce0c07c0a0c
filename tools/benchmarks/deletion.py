"""How long a turn becomes when a value with a million members, or a huge string, goes away.

The server's own histogram tells the CPU time of its longest turn. Nothing is compared with Redis,
whose DEL of such a value takes some hundred ms.
"""
import time
from dataclasses import dataclass

from .report import Row
from .resp import encode
from .servers import server

MEMBERS_A_COMMAND = 100
MIB_OF_TEXT = "x" * (1 << 20)
FREED_SECONDS = 1


@dataclass(frozen=True)
class DeletionTurn:
    name: str
    command: str  # that adds members: SADD or HSET; APPEND: that adds a MiB
    members: int
    turn_bar_us: float

    def requests(self, key):
        if self.command == "APPEND":
            yield from [encode(["APPEND", key, MIB_OF_TEXT])] * self.members
            return
        for first in range(0, self.members, MEMBERS_A_COMMAND):
            words = [self.command, key]
            for number in range(first, first + MEMBERS_A_COMMAND):
                words.append(f"element:{number:07}")
                if self.command == "HSET":
                    words.append(f"v{number:09}")
            yield encode(words)

    def run(self, bench):
        ways = {"del": ["DEL", "big"], "unlink": ["UNLINK", "big"], "overwrite": ["SET", "big", "x"],
                "expiry": ["PEXPIRE", "big", "1"], "flush": ["FLUSHALL", "ASYNC"]}
        with server(bench.binary("sluice")) as target:
            for way, command in ways.items():
                bench.progress(f"{self.name}: {way}")
                target.client.call("DEL", "big")  # the way before may have left a string
                target.client.pipeline(self.requests("big"))
                time.sleep(0.1)
                target.client.call("CONFIG", "RESETSTAT")
                target.client.call(*command)
                time.sleep(FREED_SECONDS)
                turns = target.client.info("turns")
                yield Row(f"{self.name}-{way}", "µs", float(turns["turn_cpu_us_max"]),
                          bar=self.turn_bar_us, absolute=True,
                          note=turns.get("turn_cpu_us_histogram", ""))
