"""LimitClient for asyncio."""
from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional, Sequence, TypeVar, Union

from ..calls import Key, key_maker
from ..limits import AnyLimit, Calendar, Limit, LimitExceeded, LimitInfo, Requests, Take, Verdict, Verdicts, verdict_of
from ..redis_py import AsyncClient
from ..wire import Name, Reply

Function = TypeVar("Function", bound=Callable[..., Any])


class LimitClient:
    """Limits of one server, or of a cluster, where each master has the policies. redis: a client of redis.asyncio. prefix: stands before each key."""

    def __init__(self, redis: Any, *, prefix: str = "") -> None:
        self._client, self._requests = AsyncClient(redis), Requests(prefix)

    async def take(self, key: Name, limit: AnyLimit, *, cost: Optional[int] = None, peek: bool = False, wait: float = 0,
                   ban: Optional[float] = None, shadow: bool = False, id: Optional[str] = None,
                   id_for: Optional[float] = None) -> Verdict:
        """Takes `cost` units, all or none. peek: stores nothing. wait: parks the caller, in order, for so many seconds
        until they fit; a caller that is cancelled meanwhile has taken nothing. ban: refuses everything for so long
        after a refusal. shadow: counts apart. id: asked again with it, as the answer was lost, the request counts once;
        id_for: for so long."""
        words = self._requests.take_words(key, limit, cost, peek, wait, ban, shadow, id, id_for)
        if not wait:
            return verdict_of(await self._client.send(*words))

        async def late(reply: Reply) -> None:
            if verdict_of(reply):
                await self.refund(key, 1 if cost is None else cost)
        return verdict_of(await self._client.send_waiting(tuple(words), late))

    async def take_all(self, requests: Sequence[Take], *, id: Optional[str] = None,
                       id_for: Optional[float] = None) -> Verdicts:
        """Takes from all of them or from none. id, id_for: as of take()."""
        return await self._client.run(self._requests.take_all(requests, id, id_for))

    async def refund(self, key: Name, units: int = 1, *, id: Optional[str] = None,
                    id_for: Optional[float] = None) -> Optional[int]:
        """Gives back what was taken and not used. What remains now; None when the limit is whole. id, id_for: as of take."""
        return await self._client.run(self._requests.refund(key, units, id, id_for))

    async def info(self, key: Name) -> Optional[LimitInfo]:
        """What is known of a limit; None when it is whole."""
        return await self._client.run(self._requests.info(key))

    async def set_policy(self, name: str, limit: Union[Limit, Calendar]) -> None:
        """A limit by a name: take(key, Policy(name))."""
        await self._client.run(self._requests.set_policy(name, limit))

    async def get_policy(self, name: str) -> Union[Limit, Calendar, None]:
        """The limit of that name."""
        return await self._client.run(self._requests.get_policy(name))

    async def delete_policy(self, name: str) -> bool:
        """Whether there was one of that name."""
        return await self._client.run(self._requests.delete_policy(name))

    async def policies(self) -> List[str]:
        """The names of all."""
        return await self._client.run(self._requests.policies())

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
