"""A rate limit before an ASGI application: Starlette, FastAPI, Django, Quart ...

    app.add_middleware(RateLimit, limits=LimitClient(redis), limit=Limit("window", 100, 60))

`scope["sluice.rate_limit"]` is the verdict. Behind a proxy scope["client"] is the proxy, for all: hand in a `key`.
"""
from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Dict

from .asyncio import LimitClient
from .http import Decision, Headers, RateLimitOptions, plain_answer

Scope = Dict[str, Any]
Send = Callable[[Dict[str, Any]], Awaitable[None]]


class RateLimit:
    """Middleware. options: those of RateLimitOptions; what is a function takes the `scope`. What is no
    request over HTTP goes on untouched."""

    def __init__(self, app: Callable[..., Awaitable[None]], limits: LimitClient, **options: Any) -> None:
        self._app, self._limits, self._options = app, limits, RateLimitOptions(**options)

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Dict[str, Any]]], send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        decision = await self._ask(scope)
        scope["sluice.rate_limit"] = decision.verdict
        if decision.status:
            headers, body = plain_answer(decision)
            await send({"type": "http.response.start", "status": decision.status, "headers": _bytes(headers)})
            await send({"type": "http.response.body", "body": body})
            return

        async def send_with_headers(message: Dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_bytes(decision.headers)]}
            await send(message)
        await self._app(scope, receive, send_with_headers)

    async def _ask(self, scope: Scope) -> Decision:
        """What the application's own functions raise is the application's."""
        options = self._options
        limit = options.chosen(scope)
        if limit is None:
            return Decision()
        key, cost = options.full_key(scope, _address), options.units(scope)
        try:
            verdict = await asyncio.wait_for(self._limits.take(key, limit, cost=cost), options.timeout)
        except asyncio.TimeoutError:
            return options.unavailable(scope, TimeoutError(f"no answer within {options.timeout} s"))
        except Exception as error:
            return options.unavailable(scope, error)
        return options.decided(limit, verdict)


def _bytes(headers: Headers) -> Any:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def _address(scope: Scope) -> str:
    if not scope.get("client"):
        raise ValueError("the request has no address (client); hand in a `key` function")
    return str(scope["client"][0])
