"""One way to send a command over redis-py, sync and asyncio, and a connection of its own for a command that waits. The client
may be one that asks Sentinels, or one of a cluster: then a request that waits goes to the server of its key. redis-py is
imported with the first client, for the rest of this package does without it."""
from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoResult
from typing import Any, Awaitable, Callable, Dict, NamedTuple, Optional, Set, Tuple

from .steps import Steps, T, drive, drive_async
from .wire import Reply, Word

UNBLOCK_AGAIN_SECONDS = 0.005
REDIRECTIONS_MAX = 5
CALLERS_MAX = 8  # of a cluster within a time
ON_EACH = (("LIMIT.POLICY", "SET"), ("LIMIT.POLICY", "DEL"))  # master of a cluster


def _response_error() -> Any:
    from redis.exceptions import ResponseError
    return ResponseError


def _words(pool: Any, connect_timeout: Optional[float], **changes: Any) -> Dict[str, Any]:
    """Those that a pool makes its connections with, changed. A socket of this machine is connected at once."""
    words = {**pool.connection_kwargs, **changes}
    return words if "path" in words else {**words, "socket_connect_timeout": connect_timeout}


class Place(NamedTuple):
    """Where a connection beside those of a client's pool goes. It may wait for its answers for ever."""
    connection_class: Any
    words: Dict[str, Any]

    @classmethod
    def of(cls, pool: Any) -> "Place":
        known = pool.connection_kwargs
        patience = known.get("socket_connect_timeout") or known.get("socket_timeout")
        return cls(pool.connection_class, _words(pool, patience, socket_timeout=None))

    def connection(self) -> Any:
        return self.connection_class(**self.words)

    def moved(self, error: Any) -> "Place":
        """Where a cluster's server says that the key is."""
        return self._replace(words={**self.words, "host": error.host, "port": error.port})


class Redirections:
    """Of a request that waits: who is sent elsewhere waits nowhere, so it is never sent twice."""

    def __init__(self, place: Place) -> None:
        self.place, self._left = place, REDIRECTIONS_MAX

    def follow(self, error: Exception) -> None:
        """Raises what is none, or one too many. redis-py has had such errors for as long as clients of clusters."""
        self._left -= 1
        if type(error).__name__ != "MovedError" or self._left == 0:
            raise error
        self.place = self.place.moved(error)


class Client:
    """What both kinds know of a client."""

    def __init__(self, redis: Any, is_async: bool) -> None:
        self.cluster = hasattr(redis, "get_node_from_key")
        if not hasattr(redis, "execute_command") or not (self.cluster or hasattr(redis, "connection_pool")):
            raise TypeError("a client of redis-py is needed")
        if asyncio.iscoroutinefunction(redis.execute_command) != is_async:
            raise TypeError("a client of redis.asyncio is needed" if is_async
                            else "for a client of redis.asyncio there is sluice.asyncio")
        self._redis, self.ResponseError = redis, _response_error()

    def execute(self, words: Tuple[Word, ...]) -> Any:
        """What redis-py gives. In a cluster a command without keys is told whom it is for."""
        if not self.cluster or words[0] != "LIMIT.POLICY":
            return self._redis.execute_command(*words)
        nodes = self._redis.get_primaries() if words[:2] in ON_EACH else [self._redis.get_default_node()]
        return self._redis.execute_command(*words, target_nodes=nodes)


def _one_of(reply: Reply) -> Reply:
    """Of several servers' answers, by their names, one: they are the same."""
    return next(iter(reply.values())) if isinstance(reply, dict) else reply


class SyncClient(Client):
    """A client of redis-py."""

    def __init__(self, redis: Any) -> None:
        super().__init__(redis, is_async=False)

    def send(self, *words: Word) -> Reply:
        reply = self.execute(words)
        return _one_of(reply) if words[:2] in ON_EACH else reply

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
        way = Redirections(self._place(words[1]))
        while True:
            try:
                return _wait_at(way.place, words, self.ResponseError)
            except self.ResponseError as error:
                way.follow(error)

    def _place(self, key: Word) -> Place:
        if not self.cluster:
            return Place.of(self._redis.connection_pool)
        node = self._redis.get_node_from_key(key)
        return Place.of(self._redis.get_redis_connection(node).connection_pool)

    def within(self, seconds: float) -> "SyncClient":
        """The same servers, over connections that give up after so long."""
        if self.cluster:
            return BoundedClient(self._redis, seconds)
        import redis
        pool = copy.copy(self._redis.connection_pool)
        pool.connection_kwargs = _words(pool, seconds, socket_timeout=seconds)
        if "connection_pool" in pool.connection_kwargs:  # a Sentinel's connections ask their pool where to go
            pool.connection_kwargs["connection_pool"] = weakref.proxy(pool)
        pool.reset()
        return SyncClient(redis.Redis(connection_pool=pool))


def _wait_at(place: Place, words: Tuple[Word, ...], response_error: Any) -> Reply:
    own, number = place.connection(), None
    try:
        own.connect()
        own.send_command("CLIENT", "ID")
        number = own.read_response()
        own.send_command(*words)
        return own.read_response()
    except response_error:
        raise
    except BaseException:
        if number is not None:
            _end_wait(place, number)
        raise
    finally:
        own.disconnect()


def _end_wait(place: Place, number: int) -> None:
    """When this is answered, the request is parked no more."""
    other = place.connection()
    with contextlib.suppress(Exception):
        other.connect()
        other.send_command("CLIENT", "KILL", "ID", number)
        other.read_response()
    other.disconnect()


class BoundedClient(SyncClient):
    """A client of a cluster whose callers wait for an answer no longer than they are told. redis-py itself asks, in
    threads: it looks for seconds for a server that is gone, and afterwards knows who has its slots."""

    def __init__(self, redis: Any, seconds: float) -> None:
        super().__init__(redis)
        self._seconds = seconds
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._threads = ThreadPoolExecutor(CALLERS_MAX, "sluice-cluster")
        self._process = os.getpid()  # last: other threads of a fork look at it

    def send(self, *words: Word) -> Reply:
        if self._process != os.getpid():
            self._begin_anew()
        asked = self._threads.submit(super().send, *words)
        try:
            return asked.result(self._seconds)
        except NoResult:
            asked.cancel()
            raise TimeoutError(f"no answer within {self._seconds} s") from None


class AsyncClient(Client):
    """A client of redis.asyncio. A command that was sent is answered even if its caller is cancelled meanwhile: its
    connection would else hand the answer to the next one."""

    def __init__(self, redis: Any) -> None:
        super().__init__(redis, is_async=True)
        self._under_way: Set["asyncio.Future[Any]"] = set()

    async def send(self, *words: Word) -> Reply:
        if self.cluster:
            await self._redis.initialize()  # it knows its servers then
        reply = await asyncio.shield(self.start(self.execute(words)))
        return _one_of(reply) if words[:2] in ON_EACH else reply

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
        return await self._settled(asked, late, None, None)

    async def send_waiting(self, words: Tuple[Word, ...], late: Callable[[Reply], Awaitable[object]]) -> Reply:
        """Over a connection that ends with its first trouble: a request that waits must not be sent twice. When the
        caller is cancelled the wait ends, and what the server had answered before goes to `late`: the answer decides,
        so nothing is granted unseen."""
        way = Redirections(await self._place(words[1]))
        while True:
            try:
                return await self._wait_at(way.place, words, late)
            except self.ResponseError as error:
                way.follow(error)

    async def _place(self, key: Word) -> Place:
        if not self.cluster:
            return Place.of(self._redis.connection_pool)
        await self._redis.initialize()
        return Place.of(self._redis.get_node_from_key(key))

    async def _wait_at(self, place: Place, words: Tuple[Word, ...],
                       late: Callable[[Reply], Awaitable[object]]) -> Reply:
        own = place.connection()
        try:
            await own.connect()
            await own.send_command("CLIENT", "ID")
            number = await own.read_response()
            await own.send_command(*words)
            return await self._settled(self.start(own.read_response()), late, place, number)
        finally:
            await own.disconnect()

    async def _settled(self, asked: "asyncio.Future[Any]", late: Callable[[Reply], Awaitable[object]],
                       place: Optional[Place], number: Optional[int]) -> Reply:
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            await asyncio.shield(self.start(_given_up(asked, late, place, number)))
            raise


async def _given_up(asked: "asyncio.Future[Any]", late: Callable[[Reply], Awaitable[object]], place: Optional[Place],
                    number: Optional[int]) -> None:
    with contextlib.suppress(Exception):
        if place is not None:
            await _end_wait_async(place, number, asked)
        reply = await asked
        if reply is not None:
            await late(reply)


async def _end_wait_async(place: Place, number: Optional[int], asked: "asyncio.Future[Any]") -> None:
    """CLIENT UNBLOCK may come to the server before what it is to end, hence again."""
    other = place.connection()
    try:
        await other.connect()
        while not asked.done():
            await other.send_command("CLIENT", "UNBLOCK", number)
            if int(await other.read_response()) == 1:
                break
            await asyncio.wait({asked}, timeout=UNBLOCK_AGAIN_SECONDS)
    finally:
        await other.disconnect()
