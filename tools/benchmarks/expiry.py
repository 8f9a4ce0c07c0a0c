"""How late keys disappear that expire in a steady stream, beside many that never do.

From outside, DBSIZE is polled: the n-th key to go is taken to be the n-th that was due. From
inside, Sluice keeps a histogram of lateness, which INFO timers shows.
"""
import time
from dataclasses import dataclass

from .report import Row, paired
from .resp import encode
from .servers import server

LEAD_SECONDS_PER_KEY = 10e-6  # filling must be over before the first key is due
POLL_SECONDS = 0.001
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class ExpiryLateness:
    name: str
    expiring: int
    lasting: int
    seconds: float            # over which the expiring keys are due
    bar_ms: float | None = None  # of the 99th percentile, by Sluice's own histogram

    def run(self, bench):
        polled = {}
        for side in ("sluice", "redis"):
            bench.progress(f"{self.name}: {side}")
            with server(bench.binary(side)) as target:
                polled[side] = sorted(self._lateness_ms(bench, target))
                if side == "sluice":
                    inside = target.client.info("timers")
        for percent in (50, 99, 100):
            ours, theirs = (_percentile(polled[side], percent) for side in ("sluice", "redis"))
            yield paired(f"{self.name}-p{percent}", "ms", [ours], [theirs], note="by DBSIZE")
        p99 = inside.get("expiry_lateness_ms_p99")
        note = " ".join(f"{field}={value}" for field, value in inside.items()
                        if field.startswith("expiry_lateness_ms_"))
        yield Row(f"{self.name}-inside-p99", "ms", None if p99 is None else float(p99),
                  bar=self.bar_ms, absolute=True, note=note or "INFO timers")

    def _lateness_ms(self, bench, target):
        """Each expiring key's lateness, in the order of their deadlines."""
        expiring, lasting = bench.scaled(self.expiring), bench.scaled(self.lasting)
        target.client.pipeline(encode(["SET", f"lasting:{number}", 1]) for number in range(lasting))
        first = time.time() + 1 + expiring * LEAD_SECONDS_PER_KEY
        step = self.seconds / expiring
        target.client.pipeline(
            encode(["SET", f"expiring:{number}", 1, "PXAT", int((first + number * step) * 1000)])
            for number in range(expiring))
        lateness = []
        give_up = first + self.seconds + PATIENCE_SECONDS
        while len(lateness) < expiring and time.time() < give_up:
            gone = lasting + expiring - target.client.call("DBSIZE")
            now = time.time()
            while len(lateness) < gone:
                due = int((first + len(lateness) * step) * 1000) / 1000
                lateness.append(max(0, now - due) * 1000)
            time.sleep(POLL_SECONDS)
        late = (give_up - first) * 1000  # what is still there is at least so late
        return lateness + [late] * (expiring - len(lateness))


def _percentile(ordered, percent):
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
