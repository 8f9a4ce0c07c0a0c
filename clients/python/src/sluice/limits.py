"""Limits over LIMIT.*, for a client of redis-py:

    limits = sluice.LimitClient(redis.Redis())
    verdict = limits.take("user:17", sluice.Limit("rolling", 100, 60), cost=5)
    if not verdict:
        raise TooManyRequests(verdict.retry_after)

`sluice.asyncio` has the same for asyncio. Which algorithm is for what: docs/locks-and-limits.md.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

from .calls import Key, key_maker
from .clock import milliseconds
from .lease import UnexpectedReply, count_of, span, whole
from .redis_py import SyncClient
from .steps import Steps
from .wire import Name, Reply, Word, text

Function = TypeVar("Function", bound=Callable[..., Any])

ALGORITHMS = ("WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA", "LEAKY")
VERDICT = ("allowed", "limit", "remaining", "retry_ms", "reset_ms", "reset_at_ms")
INFO = ("algorithm", "limit", "period_ms", "burst", "used", "remaining", "reset_at_ms")
POLICY = ("algorithm", "max", "period_ms", "burst")
CALENDAR_POLICY = (*POLICY, "unit", "zone", "starts")


@dataclass(frozen=True)
class Verdict:
    """What a limit says; true when it allows. Times are in seconds; retry_after is None if the cost never fits."""
    allowed: bool
    limit: int
    remaining: int
    retry_after: Optional[float]
    reset_after: float
    reset_at: float

    @property
    def never_fits(self) -> bool:
        """The cost is above the limit: no waiting helps."""
        return self.retry_after is None

    def __bool__(self) -> bool:
        return self.allowed


class Verdicts(NamedTuple):
    """Of several limits; true when all were taken, for then only was anything taken."""
    allowed: bool
    verdicts: "Tuple[Verdict, ...]"

    def __bool__(self) -> bool:
        return self.allowed


class LimitExceeded(RuntimeError):
    """A call that is limited was refused."""

    def __init__(self, key: Name, verdict: Verdict) -> None:
        wait = "" if verdict.retry_after is None else f"; it would be allowed in {verdict.retry_after} s"
        super().__init__(f"the limit {key!r} is exceeded{wait}")
        self.key, self.verdict = key, verdict


@dataclass(frozen=True)
class Limit:
    """`max` a `period` of seconds. burst: as the algorithm has it. Raises ValueError for an algorithm that there is
    not."""
    algorithm: str
    max: int
    period: float
    burst: Optional[int] = None

    def __post_init__(self) -> None:
        if self.algorithm.upper() not in ALGORITHMS:
            raise ValueError(f"no algorithm: {self.algorithm}; there are {', '.join(ALGORITHMS)}")
        span("period", self.period)

    def words(self) -> List[Word]:
        """As LIMIT.TAKE has it."""
        words: List[Word] = [self.algorithm.upper(), self.max, milliseconds(self.period)]
        return words if self.burst is None else [*words, "BURST", self.burst]

    def words_of_several(self, cost: int) -> List[Word]:
        """As LIMIT.ALL has it."""
        return [self.algorithm.upper(), self.max, milliseconds(self.period), self.burst or 0, cost]


@dataclass(frozen=True)
class Calendar:
    """`max` in each minute, hour, day, week or month by the clocks of a time zone (UTC). starts: the hour of a day, the
    day of a week (1: Monday) or of a month."""
    max: int
    unit: str
    zone: Optional[str] = None
    starts: Optional[int] = None
    algorithm = "CALENDAR"
    period = None  # no window is as long as the next

    def words(self) -> List[Word]:
        words: List[Word] = [self.algorithm, self.max, self.unit.upper()]
        if self.zone is not None:
            words += ["ZONE", self.zone]
        return words if self.starts is None else [*words, "STARTS", self.starts]

    def words_of_several(self, cost: int) -> List[Word]:
        raise ValueError("a calendar among several limits needs a policy")


@dataclass(frozen=True)
class Policy:
    """A limit by its name in the server, changeable in one place."""
    name: str
    period: None = None  # the server has it

    def words(self) -> List[Word]:
        return ["POLICY", self.name]

    def words_of_several(self, cost: int) -> List[Word]:
        return ["POLICY", self.name, cost]


AnyLimit = Union[Limit, Calendar, Policy]


class LimitInfo(NamedTuple):
    """What is known of a limit. Times are in seconds."""
    algorithm: str
    limit: int
    period: float
    burst: int
    used: int
    remaining: int
    reset_at: float


class Take(NamedTuple):
    """One of those that are taken together."""
    key: Name
    limit: AnyLimit
    cost: int = 1


def id_words(name: Optional[str], seconds: Optional[float]) -> List[Word]:
    """Asking again safely: with the same id the same verdict, and nothing more is taken."""
    if name is None:
        if seconds is not None:
            raise ValueError("id_for wants an id")
        return []
    return ["ID", name] if seconds is None else ["ID", name, "FOR", span("id_for", seconds)]


def verdict_of(reply: Reply) -> Verdict:
    values = whole("LIMIT.TAKE", reply, VERDICT)
    return Verdict(values["allowed"] == 1, values["limit"], values["remaining"],
                   None if values["retry_ms"] < 0 else values["retry_ms"] / 1000, values["reset_ms"] / 1000,
                   values["reset_at_ms"] / 1000)


def verdicts_of(reply: Reply) -> Verdicts:
    if not isinstance(reply, list) or not reply or not isinstance(reply[0], int):
        raise UnexpectedReply("LIMIT.ALL", reply)
    allowed, *rows = reply
    return Verdicts(allowed == 1, tuple(verdict_of(row) for row in rows))


def info_of(reply: Reply) -> Optional[LimitInfo]:
    if reply in ([], {}):
        return None
    values = whole("LIMIT.INFO", reply, INFO, texts=("algorithm",))
    return LimitInfo(values["algorithm"], values["limit"], values["period_ms"] / 1000, values["burst"],
                     values["used"], values["remaining"], values["reset_at_ms"] / 1000)


def policy_of(reply: Reply) -> Union[Limit, Calendar, None]:
    if reply in ([], {}):
        return None
    calendar = isinstance(reply, (list, dict)) and len(reply) > len(POLICY)
    values = whole("LIMIT.POLICY", reply, CALENDAR_POLICY if calendar else POLICY, texts=("algorithm", "unit", "zone"))
    if calendar:
        return Calendar(values["max"], values["unit"], values["zone"], values["starts"])
    if values["algorithm"] not in ALGORITHMS:
        raise UnexpectedReply("LIMIT.POLICY", reply)
    return Limit(values["algorithm"], values["max"], values["period_ms"] / 1000, values["burst"])


class Requests:
    """Requests, and what their answers mean, for a client whose keys all begin with `prefix`; as steps, but for a
    request that may wait."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def full(self, key: Name) -> Name:
        return self.prefix.encode() + key if isinstance(key, bytes) else self.prefix + key

    def take_words(self, key: Name, limit: AnyLimit, cost: Optional[int], peek: bool, wait: float,
                   ban: Optional[float], shadow: bool, id: Optional[str], id_for: Optional[float]) -> List[Word]:
        words: List[Word] = ["LIMIT.TAKE", self.full(key), *limit.words()]
        if cost is not None:
            words += ["COST", cost]
        if ban is not None:
            words += ["BAN", span("ban", ban)]
        words += ["PEEK"] * peek + ["SHADOW"] * shadow + id_words(id, id_for)
        return [*words, "WAIT", span("wait", wait)] if wait else words

    def take_all(self, requests: Sequence[Take], id: Optional[str], id_for: Optional[float]) -> Steps[Verdicts]:
        words: List[Word] = ["LIMIT.ALL", len(requests), *(self.full(request.key) for request in requests)]
        for request in requests:
            words += request.limit.words_of_several(request.cost)
        return verdicts_of((yield words + id_words(id, id_for)))

    def refund(self, key: Name, units: int, id: Optional[str], id_for: Optional[float]) -> Steps[Optional[int]]:
        left = yield ["LIMIT.REFUND", self.full(key), units, *id_words(id, id_for)]
        return None if left is None else count_of("LIMIT.REFUND", left)

    def info(self, key: Name) -> Steps[Optional[LimitInfo]]:
        return info_of((yield ["LIMIT.INFO", self.full(key)]))

    def set_policy(self, name: str, limit: Union[Limit, Calendar]) -> Steps[None]:
        reply = yield ["LIMIT.POLICY", "SET", name, *limit.words()]
        if text(reply) != "OK":
            raise UnexpectedReply("LIMIT.POLICY", reply)

    def get_policy(self, name: str) -> Steps[Union[Limit, Calendar, None]]:
        return policy_of((yield ["LIMIT.POLICY", "GET", name]))

    def delete_policy(self, name: str) -> Steps[bool]:
        return count_of("LIMIT.POLICY", (yield ["LIMIT.POLICY", "DEL", name])) == 1

    def policies(self) -> Steps[List[str]]:
        names = yield ["LIMIT.POLICY", "LIST"]
        if not isinstance(names, list):
            raise UnexpectedReply("LIMIT.POLICY", names)
        return [text(name) for name in names]


class LimitClient:
    """Limits of one server, or of a cluster, where each master has the policies. redis: a client of redis-py. prefix: stands before each key."""

    def __init__(self, redis: Any, *, prefix: str = "") -> None:
        self._client, self._requests = SyncClient(redis), Requests(prefix)

    def within(self, seconds: float) -> "LimitClient":
        """The same limits, over connections of their own that give up after so long."""
        made = LimitClient.__new__(LimitClient)
        made._client, made._requests = self._client.within(seconds), self._requests
        return made

    def take(self, key: Name, limit: AnyLimit, *, cost: Optional[int] = None, peek: bool = False, wait: float = 0,
             ban: Optional[float] = None, shadow: bool = False, id: Optional[str] = None,
             id_for: Optional[float] = None) -> Verdict:
        """Takes `cost` units, all or none. peek: stores nothing. wait: parks the caller, in order, for so many seconds
        until they fit. ban: refuses everything for so long after a refusal. shadow: counts apart. id: asked again with
        it, as the answer was lost, the request counts once; id_for: for so long."""
        words = self._requests.take_words(key, limit, cost, peek, wait, ban, shadow, id, id_for)
        return verdict_of((self._client.send_waiting if wait else self._client.send)(*words))

    def take_all(self, requests: Sequence[Take], *, id: Optional[str] = None,
                 id_for: Optional[float] = None) -> Verdicts:
        """Takes from all of them or from none. id, id_for: as of take()."""
        return self._client.run(self._requests.take_all(requests, id, id_for))

    def refund(self, key: Name, units: int = 1, *, id: Optional[str] = None,
               id_for: Optional[float] = None) -> Optional[int]:
        """Gives back what was taken and not used. What remains now; None when the limit is whole. id, id_for: as of take."""
        return self._client.run(self._requests.refund(key, units, id, id_for))

    def info(self, key: Name) -> Optional[LimitInfo]:
        """What is known of a limit; None when it is whole."""
        return self._client.run(self._requests.info(key))

    def set_policy(self, name: str, limit: Union[Limit, Calendar]) -> None:
        """A limit by a name: take(key, Policy(name))."""
        self._client.run(self._requests.set_policy(name, limit))

    def get_policy(self, name: str) -> Union[Limit, Calendar, None]:
        """The limit of that name."""
        return self._client.run(self._requests.get_policy(name))

    def delete_policy(self, name: str) -> bool:
        """Whether there was one of that name."""
        return self._client.run(self._requests.delete_policy(name))

    def policies(self) -> List[str]:
        """The names of all."""
        return self._client.run(self._requests.policies())

    def limited(self, key: Key, limit: AnyLimit, **options: Any) -> Callable[[Function], Function]:
        """A decorator: a call that the limit refuses raises LimitExceeded.  @limits.limited("mail:{user}", Limit(...))
        options: those of take()."""
        def decorate(function: Function) -> Function:
            made = key_maker(key, function)

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                name = made(*args, **kwargs)
                verdict = self.take(name, limit, **options)
                if not verdict:
                    raise LimitExceeded(name, verdict)
                return function(*args, **kwargs)
            return call  # type: ignore[return-value]
        return decorate
