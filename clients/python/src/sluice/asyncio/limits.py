"""LimitClient for asyncio."""
from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional, Sequence, TypeVar

from ..calls import Key, key_maker
from ..lease import span
from ..limits import (AnyLimit, Limit, LimitExceeded, LimitInfo, Take, Verdict, Verdicts, Words, count_of, info_of,
                      policy_of, verdict_of, verdicts_of)
from ..redis_py import AsyncClient
from ..wire import Reply, text

Function = TypeVar("Function", bound=Callable[..., Any])


class LimitClient:
    """Limits of one server. redis: a client of redis.asyncio. prefix: stands before each key."""

    def __init__(self, redis: Any, *, prefix: str = "") -> None:
        self._client, self._words = AsyncClient(redis), Words(prefix)

    async def take(self, key: str, limit: AnyLimit, *, cost: Optional[int] = None, peek: bool = False, wait: float = 0,
                   ban: Optional[float] = None, shadow: bool = False) -> Verdict:
        """Takes `cost` units, all or none. peek: stores nothing. wait: parks the caller, in order, for so many seconds
        until they fit; a caller that is cancelled meanwhile has taken nothing. ban: refuses everything for so long
        after a refusal. shadow: counts apart."""
        words = self._words.take(key, limit, cost, peek, ban, shadow)
        if not wait:
            return verdict_of(await self._client.send(*words))

        async def late(reply: Reply) -> None:
            if verdict_of(reply):
                await self.refund(key, 1 if cost is None else cost)
        return verdict_of(await self._client.send_waiting((*words, "WAIT", span("wait", wait)), late))

    async def take_all(self, requests: Sequence[Take]) -> Verdicts:
        """Takes from all of them or from none."""
        return verdicts_of(await self._client.send(*self._words.take_all(requests)))

    async def refund(self, key: str, units: int = 1) -> Optional[int]:
        """Gives back what was taken and not used. What remains now; None when the limit is whole."""
        return count_of(await self._client.send(*self._words.refund(key, units)))

    async def info(self, key: str) -> Optional[LimitInfo]:
        """What is known of a limit; None when it is whole."""
        return info_of(await self._client.send(*self._words.info(key)))

    async def set_policy(self, name: str, limit: Limit) -> None:
        """A limit by a name: take(key, Policy(name))."""
        await self._client.send("LIMIT.POLICY", "SET", name, *limit.words())

    async def get_policy(self, name: str) -> Optional[Limit]:
        """The limit of that name."""
        return policy_of(await self._client.send("LIMIT.POLICY", "GET", name))

    async def delete_policy(self, name: str) -> bool:
        """Whether there was one of that name."""
        return int(await self._client.send("LIMIT.POLICY", "DEL", name)) == 1

    async def policies(self) -> List[str]:
        """The names of all."""
        return [text(name) for name in await self._client.send("LIMIT.POLICY", "LIST")]

    def limited(self, key: Key, limit: AnyLimit, **options: Any) -> Callable[[Function], Function]:
        """A decorator for coroutine functions: a call that the limit refuses raises LimitExceeded. options: those of
        take()."""
        def decorate(function: Function) -> Function:
            made = key_maker(key, function)

            @functools.wraps(function)
            async def call(*args: Any, **kwargs: Any) -> Any:
                name = made(*args, **kwargs)
                verdict = await self.take(name, limit, **options)
                if not verdict:
                    raise LimitExceeded(name, verdict)
                return await function(*args, **kwargs)
            return call  # type: ignore[return-value]
        return decorate
