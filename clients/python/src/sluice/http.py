"""What the WSGI and ASGI middleware share: the IETF's headers of a verdict (draft-ietf-httpapi-ratelimit-headers:
RateLimit-Policy and RateLimit; Retry-After is HTTP's own), and what is said to a client that is refused."""
from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from .limits import AnyLimit, Verdict

TIMEOUT_SECONDS = 0.5
SERVED, NEVER_FITS, REFUSED, NO_ANSWER = 0, 413, 429, 503
MESSAGES = {
    REFUSED: "Too Many Requests",
    NEVER_FITS: "This request costs more than the limit ever allows",
    NO_ANSWER: "The rate limit cannot be asked",
}
REASONS = {REFUSED: "Too Many Requests", NEVER_FITS: "Content Too Large", NO_ANSWER: "Service Unavailable"}
NAME = re.compile(r"[ !#-\[\]-~]+")
Headers = List[Tuple[str, str]]


class LimiterUnavailable(RuntimeError):
    """The limit cannot be asked; __cause__ is what went wrong."""


def address_key(address: str) -> str:
    """Who an address stands for: an IPv6 network of 64 bits is one household or one host, which has all of its
    addresses; an IPv4 address that comes in IPv6 is that."""
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    groups = parsed.exploded.split(":")[:4]
    return ":".join(f"{int(group, 16):x}" for group in groups) + "::/64"


def _seconds(span: float) -> int:
    return max(0, math.ceil(round(span, 3)))


@dataclass
class Decision:
    """status: 0 when the request may go on."""
    status: int = SERVED
    headers: Headers = field(default_factory=list)
    verdict: Optional[Verdict] = None


@dataclass(frozen=True)
class RateLimitOptions:
    """limit: a Limit or a Policy, or a function of the request; None: not limited. key: a function of the request; without it
    whom the address stands for. cost: units, or a function of the request. skip: a function of the request. name: in
    the headers and in the key. prefix: before the key. fail_open: whether requests go on while the limit cannot be
    asked; otherwise the answer is 503. timeout: seconds that asking may take. legacy_headers: X-RateLimit-*, too.
    on_error: called with a LimiterUnavailable and the request."""
    limit: Union[AnyLimit, Callable[[Any], Optional[AnyLimit]]]
    key: Optional[Callable[[Any], str]] = None
    cost: Union[int, Callable[[Any], int], None] = None
    skip: Optional[Callable[[Any], bool]] = None
    name: str = "default"
    prefix: str = "http:"
    fail_open: bool = True
    timeout: float = TIMEOUT_SECONDS
    legacy_headers: bool = False
    on_error: Optional[Callable[[LimiterUnavailable, Any], object]] = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError("name must be printable ASCII without quotes and backslashes")

    def chosen(self, request: Any) -> Optional[AnyLimit]:
        """The limit of a request; None when it has none."""
        limit = self.limit(request) if callable(self.limit) else self.limit
        return None if limit is None or (self.skip is not None and self.skip(request)) else limit

    def units(self, request: Any) -> Optional[int]:
        return self.cost(request) if callable(self.cost) else self.cost

    def full_key(self, request: Any, address: Callable[[Any], str]) -> str:
        who = address_key(address(request)) if self.key is None else self.key(request)
        return f"{self.prefix}{self.name}:{who}"

    def unavailable(self, request: Any, cause: BaseException) -> Decision:
        error = LimiterUnavailable(f"the limit cannot be asked: {cause}")
        error.__cause__ = cause
        if self.on_error is not None:
            self.on_error(error, request)
        return Decision(SERVED if self.fail_open else NO_ANSWER)

    def decided(self, limit: AnyLimit, verdict: Verdict) -> Decision:
        status = SERVED if verdict.allowed else NEVER_FITS if verdict.retry_after is None else REFUSED
        return Decision(status, self.headers(limit, verdict), verdict)

    def headers(self, limit: AnyLimit, verdict: Verdict) -> Headers:
        window = "" if limit.period is None else f";w={max(1, _seconds(limit.period))}"
        found: Dict[str, str] = {
            "RateLimit-Policy": f'"{self.name}";q={verdict.limit}{window}',
            "RateLimit": f'"{self.name}";r={verdict.remaining};t={_seconds(verdict.reset_after)}',
        }
        if self.legacy_headers:
            found["X-RateLimit-Limit"] = str(verdict.limit)
            found["X-RateLimit-Remaining"] = str(verdict.remaining)
            found["X-RateLimit-Reset"] = str(_seconds(verdict.reset_at))
        if not verdict.allowed and verdict.retry_after is not None:
            found["Retry-After"] = str(max(1, _seconds(verdict.retry_after)))
        return list(found.items())


def plain_answer(decision: Decision) -> Tuple[Headers, bytes]:
    """The headers and the body of a refusal."""
    body = f"{MESSAGES[decision.status]}\n".encode()
    return [*decision.headers, ("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))], body
