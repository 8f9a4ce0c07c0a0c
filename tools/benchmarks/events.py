"""How late `expired` events reach a subscriber: many keys that end one after another, beside others
that last. Every event is stamped when it is read; what never comes counts as missing."""
import select
import time
from dataclasses import dataclass

from .report import Row
from .resp import Client, encode
from .servers import server

LEAD = 3  # times what filling takes by the look of it
PATIENCE_SECONDS = 20
CHANNEL = "__keyevent@0__:expired"
DIGITS = 7


@dataclass(frozen=True)
class ExpiredEvents:
    name: str
    expiring: int
    lasting: int              # these have a time to live, too
    seconds: float            # over which the expiring keys are due
    bar_ms: float             # of the 99th percentile

    def run(self, bench):
        ours, theirs = (self._measure(bench, side) for side in ("sluice", "redis"))
        total = bench.scaled(self.expiring)
        for percent in (50, 99, 100):
            bar = self.bar_ms if percent == 99 else None
            yield Row(f"{self.name}-p{percent}", "ms late", _percentile(ours, percent, total),
                      _percentile(theirs, percent, total), bar=bar, absolute=True,
                      note="of all events; not heard of: more than patience")
        yield Row(f"{self.name}-missing", "%", 100 * (1 - len(ours) / total),
                  100 * (1 - len(theirs) / total), bar=0, absolute=True,
                  note=f"of {total} events, {PATIENCE_SECONDS} s after the last was due")

    def _measure(self, bench, side):
        """The lateness of each event heard, in ms, sorted."""
        bench.progress(f"{self.name}: {side}")
        expiring, lasting = bench.scaled(self.expiring), bench.scaled(self.lasting)
        with server(bench.binary(side)) as target:
            target.client.call("CONFIG", "SET", "notify-keyspace-events", "Ex")
            listener = Client(target.port)
            listener.call("SUBSCRIBE", CHANNEL)
            began = time.time()
            target.client.pipeline(encode(["SET", f"lasting:{number}", 1, "EX", 100_000])
                                   for number in range(lasting))
            # Filling must be over before the first key is due.
            lead = LEAD * (time.time() - began) * expiring / lasting
            first_ms = int((time.time() + 1 + lead) * 1000)
            step = self.seconds * 1000 / expiring
            due = [first_ms + int(number * step) for number in range(expiring)]
            target.client.pipeline(
                encode(["SET", _name(number), 1, "PXAT", at])
                for number, at in enumerate(due))
            lateness = self._listen(listener, due)
            listener.close()
            return sorted(lateness)

    def _listen(self, listener, due):
        size = len(encode(["message", CHANNEL, _name(0)]))  # every event's, as all names are of one length
        give_up = due[-1] / 1000 + PATIENCE_SECONDS
        lateness, data = [], b""
        while len(lateness) < len(due) and time.time() < give_up:
            if not select.select([listener.socket], [], [], 1)[0]:
                continue
            data += listener.socket.recv(1 << 20)
            now_ms = time.time() * 1000
            whole = len(data) - len(data) % size
            for end in range(size, whole + 1, size):
                number = int(data[end - 2 - DIGITS:end - 2])
                lateness.append(now_ms - due[number])
            data = data[whole:]
        return lateness


def _name(number):
    return f"expiring:{number:0{DIGITS}}"


def _percentile(ordered, percent, total):
    """Of all that were due: those not heard of are the latest."""
    at = min(total - 1, total * percent // 100)
    return ordered[at] if at < len(ordered) else PATIENCE_SECONDS * 1000.0
