"""One way to send a command over redis-py, sync and asyncio, and a connection of its own for a command that waits.
redis-py is imported with the first client, for the rest of this package does without it."""
from __future__ import annotations

import asyncio
import contextlib
import copy
import weakref
from typing import Any, Awaitable, Callable, Dict, Optional, Set, Tuple

from .steps import Steps, T, drive, drive_async
from .wire import Reply, Word

UNBLOCK_AGAIN_SECONDS = 0.005


def _response_error() -> Any:
    from redis.exceptions import ResponseError
    return ResponseError


def _words(pool: Any, connect_timeout: Optional[float], **changes: Any) -> Dict[str, Any]:
    """Those that a pool makes its connections with, changed. A socket of this machine is connected at once."""
    words = {**pool.connection_kwargs, **changes}
    return words if "path" in words else {**words, "socket_connect_timeout": connect_timeout}


def _own_connection(redis: Any) -> Any:
    """Beside those of a client's pool; it may wait for its answers for ever."""
    pool = redis.connection_pool
    known = pool.connection_kwargs
    patience = known.get("socket_connect_timeout") or known.get("socket_timeout")
    return pool.connection_class(**_words(pool, patience, socket_timeout=None))


def _checked(redis: Any) -> Any:
    if not hasattr(redis, "execute_command") or not hasattr(redis, "connection_pool"):
        raise TypeError("a client of redis-py is needed")
    return redis


class SyncClient:
    """A client of redis-py."""

    def __init__(self, redis: Any) -> None:
        self._redis = _checked(redis)
        if asyncio.iscoroutinefunction(redis.execute_command):
            raise TypeError("for a client of redis.asyncio there is sluice.asyncio")
        self.ResponseError = _response_error()

    def send(self, *words: Word) -> Reply:
        return self._redis.execute_command(*words)

    def run(self, steps: Steps[T]) -> T:
        """Sends the requests that the steps yield."""
        return drive(steps, lambda words: self.send(*words))

    def send_quietly(self, *words: Word) -> None:
        """For what is as well done by a lease."""
        with contextlib.suppress(Exception):
            self.send(*words)

    def send_waiting(self, *words: Word) -> Reply:
        """Over a connection that ends with its first trouble: a request that waits must not be sent twice. An
        exception of this thread (KeyboardInterrupt ...) ends the wait."""
        own, number = _own_connection(self._redis), None
        try:
            own.connect()
            own.send_command("CLIENT", "ID")
            number = own.read_response()
            own.send_command(*words)
            return own.read_response()
        except self.ResponseError:
            raise
        except BaseException:
            if number is not None:  # when this is answered, the request is parked no more
                self.send_quietly("CLIENT", "KILL", "ID", number)
            raise
        finally:
            own.disconnect()

    def within(self, seconds: float) -> "SyncClient":
        """The same server, over connections that give up after so long."""
        import redis
        pool = copy.copy(self._redis.connection_pool)
        pool.connection_kwargs = _words(pool, seconds, socket_timeout=seconds)
        if "connection_pool" in pool.connection_kwargs:  # a Sentinel's connections ask their pool where to go
            pool.connection_kwargs["connection_pool"] = weakref.proxy(pool)
        pool.reset()
        return SyncClient(redis.Redis(connection_pool=pool))


class AsyncClient:
    """A client of redis.asyncio. A command that was sent is answered even if its caller is cancelled meanwhile: its
    connection would else hand the answer to the next one."""

    def __init__(self, redis: Any) -> None:
        self._redis = _checked(redis)
        if not asyncio.iscoroutinefunction(redis.execute_command):
            raise TypeError("a client of redis.asyncio is needed")
        self.ResponseError = _response_error()
        self._under_way: Set["asyncio.Future[Any]"] = set()

    async def send(self, *words: Word) -> Reply:
        return await asyncio.shield(self.start(self._redis.execute_command(*words)))

    async def run(self, steps: Steps[T]) -> T:
        """Sends the requests that the steps yield."""
        return await drive_async(steps, lambda words: self.send(*words))

    def start(self, work: Awaitable[Any]) -> "asyncio.Future[Any]":
        """Runs it to its end, whoever waits for it."""
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: "asyncio.Future[Any]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # who waited has it

    async def send_quietly(self, *words: Word) -> None:
        """For what is as well done by a lease."""
        with contextlib.suppress(Exception):
            await self.send(*words)

    async def send_granting(self, words: Tuple[Word, ...], late: Callable[[Reply], Awaitable[object]]) -> Reply:
        """As send(); when the caller is cancelled meanwhile, the answer goes to `late`."""
        asked = self.start(self._redis.execute_command(*words))
        return await self._settled(asked, late, None)

    async def send_waiting(self, words: Tuple[Word, ...], late: Callable[[Reply], Awaitable[object]]) -> Reply:
        """Over a connection that ends with its first trouble: a request that waits must not be sent twice. When the
        caller is cancelled the wait ends, and what the server had answered before goes to `late`: the answer decides,
        so nothing is granted unseen."""
        own = _own_connection(self._redis)
        try:
            await own.connect()
            await own.send_command("CLIENT", "ID")
            number = await own.read_response()
            await own.send_command(*words)
            return await self._settled(self.start(own.read_response()), late, number)
        finally:
            await own.disconnect()

    async def _settled(self, asked: "asyncio.Future[Any]", late: Callable[[Reply], Awaitable[object]],
                       number: Optional[int]) -> Reply:
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            await asyncio.shield(self.start(self._given_up(asked, late, number)))
            raise

    async def _given_up(self, asked: "asyncio.Future[Any]", late: Callable[[Reply], Awaitable[object]],
                        number: Optional[int]) -> None:
        with contextlib.suppress(Exception):
            # CLIENT UNBLOCK may come to the server before what it is to end, hence again.
            while number is not None and not asked.done():
                if int(await self.send("CLIENT", "UNBLOCK", number)) == 0:
                    await asyncio.wait({asked}, timeout=UNBLOCK_AGAIN_SECONDS)
                else:
                    break
            reply = await asked
            if reply is not None:
                await late(reply)
