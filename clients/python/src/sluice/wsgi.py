"""A rate limit before a WSGI application: Flask, Django, Bottle ...

    app.wsgi_app = RateLimit(app.wsgi_app, LimitClient(redis), limit=Limit("window", 100, 60))

`environ["sluice.rate_limit"]` is the verdict. Behind a proxy REMOTE_ADDR is the proxy's, for all: hand in a `key`.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterable

from .http import REASONS, Decision, RateLimitOptions, plain_answer
from .limits import LimitClient

Environ = Dict[str, Any]


class RateLimit:
    """Middleware. options: those of RateLimitOptions; what is a function takes the `environ`. The limit is asked over
    connections of its own, for they give up sooner than those of `limits`."""

    def __init__(self, application: Callable[..., Iterable[bytes]], limits: LimitClient, **options: Any) -> None:
        self._application, self._options = application, RateLimitOptions(**options)
        self._limits = limits.within(self._options.timeout)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        decision = self._ask(environ)
        environ["sluice.rate_limit"] = decision.verdict
        if decision.status:
            headers, body = plain_answer(decision)
            start_response(f"{decision.status} {REASONS[decision.status]}", headers)
            return [body]

        def start(status: str, headers: Any, *rest: Any) -> Any:
            return start_response(status, [*headers, *decision.headers], *rest)
        return self._application(environ, start)

    def _ask(self, environ: Environ) -> Decision:
        """What the application's own functions raise is the application's."""
        options = self._options
        limit = options.chosen(environ)
        if limit is None:
            return Decision()
        key, cost = options.full_key(environ, _address), options.units(environ)
        try:
            verdict = self._limits.take(key, limit, cost=cost)
        except Exception as error:
            return options.unavailable(environ, error)
        return options.decided(limit, verdict)


def _address(environ: Environ) -> str:
    if not environ.get("REMOTE_ADDR"):
        raise ValueError("the request has no address (REMOTE_ADDR); hand in a `key` function")
    return str(environ["REMOTE_ADDR"])
