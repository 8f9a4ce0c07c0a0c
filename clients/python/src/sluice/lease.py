"""What a lock's holder knows without asking: how it wants to hold the lock, and for how long it may rely on it. No
input or output; `locks` and `asyncio.locks` do that with threads and with tasks.

The holder counts its lease by its own clocks, from before the request was sent, so it never thinks that it holds the
lock for longer than the server does: by the monotonic clock, which nobody steps, and by the wall clock, which goes on
while the machine sleeps; whichever is farther. It gives the lock up a margin before that moment, unless a renewal has
come back in time. What no clock can promise (a process that stands still) is what the token is for.
"""
from __future__ import annotations

import itertools
import os
import re
import socket
import time
import uuid
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .clock import milliseconds
from .wire import Name, Reply, Word, text

MARGIN_MAX = 1.0  # seconds
GRANT = ("token", "lease_ms", "holds", "waited_ms")
LOST = ("NOTHELD", "STALE", "WRONGTYPE")  # codes of answers that end a lock
CODE = re.compile(r"([A-Z][A-Z0-9]+)(?= |$)")


class LockNotGranted(RuntimeError):
    """Others hold the lock, and the wait is over."""

    def __init__(self, key: Name) -> None:
        super().__init__(f"the lock {key!r} was not granted: others hold it")
        self.key = key


class LockLost(RuntimeError):
    """The lock was lost while it was held. `code` is EXPIRED (no renewal came back in time), RELEASED (by its holder),
    FORKED (it is another process's) or the server's."""

    def __init__(self, key: Name, token: int, code: str) -> None:
        reason = {"EXPIRED": "no renewal came back in time, and its lease is over", "RELEASED": "it was released",
                  "FORKED": "it belongs to the process that this one was forked from"}
        super().__init__(f"the lock {key!r} is not held: {reason.get(code, f'the server answered {code}')}")
        self.key, self.token, self.code = key, token, code


class UnexpectedReply(RuntimeError):
    """The server answered a request with something else than its command gives: it is another server, or of a version
    that this package does not know. Nothing is known of what it has done."""

    def __init__(self, command: str, reply: Reply) -> None:
        super().__init__(f"{command} was answered {repr(reply)[:100]}: is that Sluice, and of this version?")


def code_of(error: BaseException) -> Optional[str]:
    """The code of a server's error as redis-py raises it; None where it has taken that off."""
    found = CODE.match(str(error))
    return found[1] if found else None


def named(reply: Reply, names: Sequence[str]) -> Dict[str, Any]:
    """The values of a reply that RESP2 gives as an array and RESP3 as a map, by their names."""
    if isinstance(reply, dict):
        return {text(name): value for name, value in reply.items()}
    return dict(zip(names, reply))


def whole(command: str, reply: Reply, names: Sequence[str], texts: Sequence[str] = ()) -> Dict[str, Any]:
    """The whole numbers of a reply, by their names; those in `texts` are texts. Raises UnexpectedReply."""
    try:
        values = named(reply, names) if isinstance(reply, (list, dict)) else {}
        return {name: text(values[name]) if name in texts else int(values[name]) for name in names}
    except (KeyError, TypeError, ValueError):
        raise UnexpectedReply(command, reply) from None


def count_of(command: str, reply: Reply) -> int:
    """A reply that is a whole number. Raises UnexpectedReply."""
    if not isinstance(reply, int):
        raise UnexpectedReply(command, reply)
    return reply


def span(name: str, seconds: float) -> int:
    """Whole milliseconds, at least one. Raises ValueError."""
    if not 0.001 <= seconds < float("inf"):
        raise ValueError(f"{name} must be at least a millisecond, not {seconds} s")
    return milliseconds(seconds)


class Moment(NamedTuple):
    """A moment on both clocks, in seconds."""
    monotonic: float
    wall: float

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.monotonic(), time.time())

    def plus(self, seconds: float) -> "Moment":
        return Moment(self.monotonic + seconds, self.wall + seconds)

    def earlier(self, other: "Moment") -> "Moment":
        """The earlier one, on each clock."""
        return Moment(min(self.monotonic, other.monotonic), min(self.wall, other.wall))

    @property
    def left(self) -> float:
        """Seconds until then; 0 when one clock has passed it."""
        return max(0.0, min(self.monotonic - time.monotonic(), self.wall - time.time()))


@dataclass(frozen=True)
class LockOptions:
    """How a lock is asked for and held; spans are seconds. Raises ValueError where they make no sense.

    lease: how long the server lets it be held without a renewal. wait: how long the request may queue in the server.
    owner: who asks; without one each call is an owner of its own, with one asking again is re-entrant. renew,
    renew_every: whether and when a timer renews it (a third of the lease). margin: so long before its end the lock is
    given up for lost (a tenth of the lease, a second at most). shared: beside others that share. permits: a semaphore
    of so many, or (how many to take, of how many). min_hold, label: the server's MINHOLD and LABEL.
    priority: of those who wait the higher goes first, -100 to 100. id: asked again with it, as the answer was lost, the
    request of that owner gets its grant again, and no second hold."""
    lease: float = 30.0
    wait: float = 0.0
    owner: Optional[Name] = None
    renew: bool = True
    renew_every: Optional[float] = None
    margin: Optional[float] = None
    shared: bool = False
    permits: Union[int, Tuple[int, int], None] = None
    min_hold: Optional[float] = None
    label: Optional[str] = None
    priority: Optional[int] = None
    id: Optional[str] = None

    def __post_init__(self) -> None:
        span("lease", self.lease)
        for name, value in (("wait", self.wait or None), ("min_hold", self.min_hold), ("renew_every", self.renew_every)):
            if value is not None:
                span(name, value)
        if not (self.margin_used >= 0 and (self.renewal or 0) + self.margin_used < self.lease):
            raise ValueError("renew_every and margin must leave some of the lease")
        if self.shared and self.permits is not None:
            raise ValueError("a lock is shared or has permits, not both")
        if self.id is not None and self.owner is None:
            raise ValueError("an id wants an owner who asks again")

    @property
    def margin_used(self) -> float:
        return min(MARGIN_MAX, self.lease / 10) if self.margin is None else self.margin

    @property
    def renewal(self) -> Optional[float]:
        """Seconds between renewals; None without any."""
        if not self.renew:
            return None
        return self.lease / 3 if self.renew_every is None else self.renew_every

    def shape(self) -> List[Word]:
        """How it is held: said by a renewal, too, for a server that has lost its log's end."""
        if self.permits is not None:
            take, of = (1, self.permits) if isinstance(self.permits, int) else self.permits
            return ["PERMITS", take, "OF", of]
        return ["SHARED"] if self.shared else []

    def acquire_words(self, key: Name, owner: Name) -> List[Word]:
        """LOCK.ACQUIRE, without WAIT."""
        words: List[Word] = ["LOCK.ACQUIRE", key, owner, "LEASE", milliseconds(self.lease), *self.shape()]
        if self.min_hold is not None:
            words += ["MINHOLD", milliseconds(self.min_hold)]
        for word, value in (("LABEL", self.label), ("PRIORITY", self.priority), ("ID", self.id)):
            if value is not None:
                words += [word, value]
        return words

    def wait_words(self) -> List[Word]:
        """Behind those, for a request that may queue."""
        return ["WAIT", milliseconds(self.wait)]


class Owners:
    """Names for those who ask without one: of this host, process and client, and counted."""

    def __init__(self) -> None:
        self._prefix, self._numbers = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}", itertools.count(1)

    def new(self) -> str:
        """Threads may ask at once."""
        return f"{self._prefix}:{next(self._numbers)}"


@dataclass(frozen=True)
class Grant:
    """What was granted to whom, no earlier than `begun`."""
    key: Name
    owner: Name
    alone: bool  # nobody else asks under this name
    token: int
    begun: Moment

    @classmethod
    def of(cls, key: Name, owner: Name, alone: bool, reply: Reply, sent: Moment) -> "Grant":
        """The server's clock may be a double's, far ahead: the grant was no later than its answer."""
        values = whole("LOCK.ACQUIRE", reply, GRANT)
        waited = values["waited_ms"] / 1000
        return cls(key, owner, alone, values["token"], sent.plus(waited).earlier(Moment.now()))


class Lease:
    """A grant that is held under `options` until it is lost or released. Callers see to it that one at a time is in
    here."""

    def __init__(self, grant: Grant, options: LockOptions) -> None:
        self.grant, self.options = grant, options
        self.lost: Optional[LockLost] = None
        self.released = False
        self.renew_at: Optional[float] = None  # on the monotonic clock
        self.deadline = grant.begun  # it is not relied on behind it
        self.extend(grant.begun, options.lease)

    @property
    def remaining(self) -> float:
        return self.deadline.left

    @property
    def held(self) -> bool:
        return self.lost is None and not self.released and self.remaining > 0

    def fault(self) -> Optional[LockLost]:
        """Why it is not held; None while it is."""
        if self.held or self.lost is not None:
            return self.lost
        return self.loss("RELEASED" if self.released else "EXPIRED")

    def loss(self, code: str) -> LockLost:
        return LockLost(self.grant.key, self.grant.token, code)

    def lose(self, code: str, cause: Optional[BaseException] = None) -> bool:
        """It is lost from now on; False if that was known, or is nothing to its holder any more."""
        if self.lost is not None or self.released:
            return False
        self.lost = self.loss(code)
        self.lost.__cause__ = cause
        return True

    def extend(self, begun: Moment, seconds: float) -> None:
        """The lease was given anew, no earlier than `begun`."""
        self.deadline = begun.plus(min(seconds, self.options.lease) - self.options.margin_used)
        renewal = self.options.renewal
        self.renew_at = None if renewal is None else begun.monotonic + renewal

    def retry(self) -> None:
        """A renewal failed on its way: the next comes soon."""
        if self.options.renewal is not None:
            self.renew_at = time.monotonic() + self.options.renewal / 4

    def next_moment(self) -> float:
        """On the monotonic clock: when there is something to renew, or to give up."""
        expiry = time.monotonic() + self.remaining
        return expiry if self.renew_at is None else min(expiry, self.renew_at)

    def renew_words(self) -> List[Word]:
        grant = self.grant
        return ["LOCK.RENEW", grant.key, grant.owner, "LEASE", milliseconds(self.options.lease), "TOKEN", grant.token,
                *self.options.shape()]

    def release_words(self) -> List[Word]:
        grant = self.grant
        return ["LOCK.RELEASE", grant.key, grant.owner, *(["ALL"] if grant.alone else []), "TOKEN", grant.token]

    def fenced_words(self, words: Tuple[Word, ...]) -> List[Word]:
        return ["FENCED", self.grant.key, self.grant.token, *words]
