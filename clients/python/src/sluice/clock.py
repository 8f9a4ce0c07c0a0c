"""A space's clock: TIME, TTLs, leases, limits, blocking time-outs and stream ids follow it."""
from __future__ import annotations

import contextlib
import datetime
from typing import Callable, Iterator, Optional, Union

from .wire import Reply

Execute = Callable[..., Reply]
Moment = Union[int, float, datetime.datetime]


def milliseconds(seconds: float) -> int:
    """Whole milliseconds; the server knows no smaller ones."""
    return round(seconds * 1000)


class Clock:
    """The clock of a server or a space. Spans and moments are in seconds, as in `time`."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def now(self) -> float:
        """Unix time."""
        return self.now_ms() / 1000

    def now_ms(self) -> int:
        """Unix time in whole milliseconds."""
        return int(self._execute("SLUICE.CLOCK", "NOW"))

    def freeze(self, at: Optional[Moment] = None) -> None:
        """Time stands still from now on; at `at`, if that is given."""
        self._execute("SLUICE.CLOCK", "FREEZE")
        if at is not None:
            self.set(at)

    def run(self) -> None:
        """Time passes again, from where it stands."""
        self._execute("SLUICE.CLOCK", "RUN")

    @contextlib.contextmanager
    def frozen(self, at: Optional[Moment] = None) -> Iterator["Clock"]:
        """Frozen inside a `with`."""
        self.freeze(at)
        try:
            yield self
        finally:
            self.run()

    def advance(self, seconds: Union[float, datetime.timedelta] = 0, *, ms: float = 0, minutes: float = 0,
                hours: float = 0, days: float = 0) -> None:
        """Lets time pass. Every timer that is due on the way fires at its own time and in order, with what follows
        from it, before this returns."""
        if isinstance(seconds, datetime.timedelta):
            seconds = seconds.total_seconds()
        span = seconds + 60 * minutes + 3600 * hours + 86400 * days
        self._execute("SLUICE.CLOCK", "ADVANCE", milliseconds(span) + round(ms))

    def next(self) -> Optional[float]:
        """Goes to the first timer that fires. How many seconds that was; None when none is set."""
        span = int(self._execute("SLUICE.CLOCK", "NEXT"))
        return None if span < 0 else span / 1000

    def set(self, moment: Moment) -> None:
        """Steps the wall clock as NTP would: relative deadlines stay, absolute ones follow."""
        if isinstance(moment, datetime.datetime):
            moment = moment.timestamp()
        self._execute("SLUICE.CLOCK", "SET", milliseconds(moment))
