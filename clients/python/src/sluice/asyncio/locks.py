"""Locks for asyncio: timers of the loop and tasks in place of threads. What a lease is and when it is lost is decided
in `sluice.lease`, what a lock does of it in `sluice.held`."""
from __future__ import annotations

import asyncio
import dataclasses
import functools
import os
import threading
import time
from types import TracebackType
from typing import Any, Awaitable, Callable, Generator, List, Optional, Type, TypeVar

from ..calls import Key, key_maker
from ..held import HeldLock, asking, give_back_words
from ..lease import Grant, Lease, LockNotGranted, LockOptions, Moment, Owners
from ..redis_py import AsyncClient
from ..steps import drive_async
from ..wire import Name, Reply, Word

Function = TypeVar("Function", bound=Callable[..., Any])


class Lock(HeldLock):
    """A lock that is held. With `async with` it is released at the end; that raises LockLost when it was lost before
    the work was done, for then the work may have met another's."""

    lost: asyncio.Event

    def __init__(self, client: AsyncClient, lease: Lease) -> None:
        super().__init__(client, lease, asyncio.Event())
        self._process = os.getpid()
        self._timer: Optional[asyncio.TimerHandle] = None
        self._renewing: "Optional[asyncio.Future[None]]" = None
        self._releasing: "Optional[asyncio.Future[bool]]" = None
        self._watch()

    async def fenced(self, *words: Word) -> Reply:
        """Runs a command on this server only while the token is not stale. Raises LockLost if it is: nothing was run,
        and the lock is lost."""
        return await self._client.run(self._fenced_request(words))

    async def renew(self) -> None:
        """Renews now, in addition to the timer. Raises LockLost if it is lost."""
        await drive_async(self._renewing_by_hand(), lambda _: asyncio.shield(self._renewal()))

    async def release(self, _: None = None) -> bool:
        """Gives it back, even if the caller is cancelled meanwhile; False if it was lost before. Further calls give
        the same."""
        if self._releasing is None:
            self._releasing = self._client.start(self._client.run(self._release_request()))
        return await asyncio.shield(self._releasing)

    def _renewal(self, _: None = None) -> "asyncio.Future[None]":
        """The one that is under way, or a new one."""
        if self._renewing is not None and not self._renewing.done():
            return self._renewing
        begun: "asyncio.Future[None]" = self._client.start(self._client.run(self._renewal_request()))
        self._renewing = begun
        return begun

    def _watch(self) -> None:
        self._stop_watching()
        delay = max(0.0, self._lease.next_moment() - time.monotonic())
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin_renewal(self) -> None:
        self._client.start(drive_async(self._renewing_by_timer(), self._renewal))

    def _show(self, error: Exception) -> None:
        asyncio.get_running_loop().call_exception_handler({"message": "a function that on_lost() was given", "exception": error})

    def _notice_fork(self) -> None:
        """A loop does not go on in a process that was forked: whoever asks there is told."""
        if os.getpid() != self._process and self._lease.lost is None:
            self._guard = threading.Lock()  # the loop may have stood in it
            self._lease.lose("FORKED")

    async def __aenter__(self) -> "Lock":
        await drive_async(self._entering(), self.release)
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await drive_async(self._leaving(error), self.release)


class Acquiring:
    """What acquire() gives: await it for the lock, or hold the lock by `async with`."""

    def __init__(self, ask: Callable[[], Awaitable[Lock]]) -> None:
        self._ask, self._lock = ask, None  # type: Callable[[], Awaitable[Lock]], Optional[Lock]

    def __await__(self) -> Generator[Any, None, Lock]:
        return self._ask().__await__()

    async def __aenter__(self) -> Lock:
        self._lock = await self._ask()
        return await self._lock.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        assert self._lock is not None
        await self._lock.__aexit__(*error)


class LockClient:
    """Locks of one server, or of a cluster. redis: a client of redis.asyncio. defaults: options of each lock, those of LockOptions."""

    def __init__(self, redis: Any, **defaults: Any) -> None:
        self._client = AsyncClient(redis)
        self._options = LockOptions(**defaults)
        self._owners, self._process = Owners(), os.getpid()

    def acquire(self, key: Name, **options: Any) -> Acquiring:
        """The lock: `async with locks.acquire(key) as lock`, or `lock = await locks.acquire(key)`. Raises
        LockNotGranted when others hold it and the wait is over. A caller that is cancelled meanwhile holds nothing."""
        async def ask() -> Lock:
            lock = await self.try_acquire(key, **options)
            if lock is None:
                raise LockNotGranted(key)
            return lock
        return Acquiring(ask)

    async def try_acquire(self, key: Name, **options: Any) -> Optional[Lock]:
        """The lock, or None when others hold it and the wait is over."""
        chosen = dataclasses.replace(self._options, **options)
        owner = self._owner(chosen)
        grant = await drive_async(asking(key, owner, chosen, self._client.ResponseError),
                                  lambda request: self._attempt(key, owner, chosen, *request))
        return None if grant is None else Lock(self._client, Lease(grant, chosen))

    def locked(self, key: Key, **options: Any) -> Callable[[Function], Function]:
        """A decorator for coroutine functions: each call runs under a lock."""
        def decorate(function: Function) -> Function:
            made = key_maker(key, function)

            @functools.wraps(function)
            async def call(*args: Any, **kwargs: Any) -> Any:
                async with self.acquire(made(*args, **kwargs), **options):
                    return await function(*args, **kwargs)
            return call  # type: ignore[return-value]
        return decorate

    def _owner(self, options: LockOptions) -> Name:
        if options.owner is not None:
            return options.owner
        if os.getpid() != self._process:
            self._owners, self._process = Owners(), os.getpid()
        return self._owners.new()

    async def _attempt(self, key: Name, owner: Name, options: LockOptions, words: List[Word],
                       waits: bool) -> Optional[Grant]:
        sent = Moment.now()

        async def give_back(*_: object) -> None:
            await self._client.send_quietly(*give_back_words(key, owner, options))
        try:
            reply = await (self._client.send_waiting if waits else self._client.send_granting)(tuple(words), give_back)
            return None if reply is None else Grant.of(key, owner, options.owner is None, reply, sent)
        except (self._client.ResponseError, asyncio.CancelledError):
            raise
        except Exception:
            if options.owner is None:  # it may have been granted
                self._client.start(give_back())
            raise
