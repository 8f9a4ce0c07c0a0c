"""Locks for asyncio: timers of the loop and tasks in place of threads. What a lease is and when it is lost is decided
in `sluice.lease`."""
from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import os
import time
from types import TracebackType
from typing import Any, Awaitable, Callable, Generator, List, Optional, Type, TypeVar

from ..calls import Key, key_maker
from ..lease import LOST, Grant, Lease, LockLost, LockNotGranted, LockOptions, Moment, Owners, code_of
from ..redis_py import AsyncClient
from ..wire import Reply, Word

Function = TypeVar("Function", bound=Callable[..., Any])


class Lock:
    """A lock that is held. With `async with` it is released at the end; that raises LockLost when it was lost before
    the work was done, for then the work may have met another's."""

    def __init__(self, client: AsyncClient, lease: Lease) -> None:
        self._client, self._lease, self._process = client, lease, os.getpid()
        self._on_lost: List[Callable[[LockLost], object]] = []
        self._timer: Optional[asyncio.TimerHandle] = None
        self._renewing: "Optional[asyncio.Future[None]]" = None
        self._releasing: "Optional[asyncio.Future[bool]]" = None
        self.lost = asyncio.Event()
        self._watch()

    @property
    def key(self) -> str:
        return self._lease.grant.key

    @property
    def owner(self) -> str:
        return self._lease.grant.owner

    @property
    def token(self) -> int:
        """Grows with each grant; goes along to others that are to keep out those who come late."""
        return self._lease.grant.token

    @property
    def held(self) -> bool:
        """Whether it may be relied on at this moment."""
        self._notice_fork()
        return self._lease.held

    @property
    def remaining(self) -> float:
        """For how many seconds it may still be relied on without a renewal."""
        return self._lease.remaining

    @property
    def reason(self) -> Optional[LockLost]:
        """Why `lost` is set."""
        return self._lease.lost

    def assert_held(self) -> None:
        """Raises LockLost unless it is held: before each step that must not be done without the lock."""
        self._notice_fork()
        fault = self._lease.fault()
        if fault is not None:
            raise fault

    def on_lost(self, call: Callable[[LockLost], object]) -> None:
        """`call(reason)` when the lock is lost; at once if it is. To end the work:
        lock.on_lost(lambda reason: task.cancel())"""
        if self._lease.lost is None:
            self._on_lost.append(call)
        else:
            call(self._lease.lost)

    async def fenced(self, *words: Word) -> Reply:
        """Runs a command on this server only while the token is not stale. Raises LockLost if it is: nothing was run,
        and the lock is lost."""
        try:
            return await self._client.send(*self._lease.fenced_words(words))
        except self._client.ResponseError as error:
            if code_of(error) != "STALE":
                raise
            self._lose("STALE", error)
            raise self._lease.loss("STALE") from error

    async def renew(self) -> None:
        """Renews now, in addition to the timer. Raises LockLost if it is lost."""
        self.assert_held()
        try:
            await asyncio.shield(self._renewal())
        except self._client.ResponseError:
            if self._lease.lost is None:
                raise
        if self._lease.lost is not None:
            raise self._lease.lost

    async def release(self) -> bool:
        """Gives it back, even if the caller is cancelled meanwhile; False if it was lost before. Further calls give
        the same."""
        if self._releasing is None:
            self._releasing = self._client.start(self._release())
        return await asyncio.shield(self._releasing)

    async def _release(self) -> bool:
        self._notice_fork()
        lease = self._lease
        lost = lease.lost is not None or lease.remaining == 0
        if lease.lost is not None and lease.lost.code == "FORKED":
            return False  # it is the other process that gives it back
        lease.released = True
        self._stop()
        try:
            await self._client.send(*lease.release_words())
            return not lost
        except self._client.ResponseError as error:
            if code_of(error) in LOST:
                return False
            if code_of(error) == "LOCKGRACE":  # a server that has lost its log's end lets the lease end it
                return not lost
            raise

    def _watch(self) -> None:
        self._stop()
        delay = max(0.0, self._lease.next_moment() - time.monotonic())
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        """Gives the lock up, or renews it in a task."""
        lease = self._lease
        if lease.lost is not None or lease.released:
            return
        if lease.remaining == 0:
            self._lose("EXPIRED")
            return
        if lease.renew_at is not None and lease.renew_at <= time.monotonic():
            lease.renew_at = None  # until that one is over
            self._client.start(self._renew_by_timer())
        self._watch()

    async def _renew_by_timer(self) -> None:
        try:
            await self._renewal()
        except Exception:  # whatever it was: the lease runs down meanwhile
            if self._lease.held:
                self._lease.retry()
                self._watch()

    def _renewal(self) -> "asyncio.Future[None]":
        """The one that is under way, or a new one."""
        if self._renewing is None or self._renewing.done():
            self._renewing = self._client.start(self._renew())
        return self._renewing

    async def _renew(self) -> None:
        sent = Moment.now()
        try:
            lease_ms = await self._client.send(*self._lease.renew_words())
        except self._client.ResponseError as error:
            code = code_of(error)
            if code in LOST:
                self._lose(str(code), error)
            raise
        # What comes back behind the deadline is too late: the work was told to stop.
        if self._lease.held:
            self._lease.extend(sent, int(lease_ms) / 1000)
            self._watch()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _lose(self, code: str, cause: Optional[BaseException] = None) -> None:
        if not self._lease.lose(code, cause):
            return
        self._stop()
        self.lost.set()
        calls, self._on_lost = self._on_lost, []
        for call in calls:
            call(self._lease.lost or self._lease.loss(code))

    def _notice_fork(self) -> None:
        """A loop does not go on in a process that was forked: whoever asks there is told."""
        if os.getpid() != self._process:
            self._lease.lose("FORKED")

    async def __aenter__(self) -> "Lock":
        try:
            self.assert_held()
        except LockLost as error:  # the grant came too late
            await self.__aexit__(LockLost, error, None)
            raise
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if error is not None:
            with contextlib.suppress(Exception):  # its lease ends it; the work's own error is the one to show
                await self.release()
            return
        held = self.held
        try:
            released = await self.release()
        except self._client.ResponseError:
            raise
        except Exception:
            # An answer that is lost on its way takes nothing back: the work was done in time.
            if not held:
                raise
            return
        if not released:
            raise self._lease.lost or self._lease.loss("NOTHELD")

    def __repr__(self) -> str:
        return f"Lock({self.key!r}, token={self.token}, {'held' if self.held else 'not held'})"


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
    """Locks of one server. redis: a client of redis.asyncio. defaults: options of each lock, those of LockOptions."""

    def __init__(self, redis: Any, **defaults: Any) -> None:
        self._client = AsyncClient(redis)
        self._options = LockOptions(**defaults)
        self._owners, self._process = Owners(), os.getpid()

    def acquire(self, key: str, **options: Any) -> Acquiring:
        """The lock: `async with locks.acquire(key) as lock`, or `lock = await locks.acquire(key)`. Raises
        LockNotGranted when others hold it and the wait is over. A caller that is cancelled meanwhile holds nothing."""
        async def ask() -> Lock:
            lock = await self.try_acquire(key, **options)
            if lock is None:
                raise LockNotGranted(key)
            return lock
        return Acquiring(ask)

    async def try_acquire(self, key: str, **options: Any) -> Optional[Lock]:
        """The lock, or None when others hold it and the wait is over."""
        chosen = dataclasses.replace(self._options, **options)
        grant = await self._ask(key, self._owner(chosen), chosen)
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

    def _owner(self, options: LockOptions) -> str:
        if options.owner is not None:
            return options.owner
        if os.getpid() != self._process:
            self._owners, self._process = Owners(), os.getpid()
        return self._owners.new()

    async def _ask(self, key: str, owner: str, options: LockOptions) -> Optional[Grant]:
        """A first request does not wait, and goes over the shared connections."""
        words = tuple(options.acquire_words(key, owner))
        try:
            granted = await self._attempt(key, owner, options, self._client.send_granting, words)
        except self._client.ResponseError as error:
            if code_of(error) != "LOCKGRACE" or not options.wait:
                raise
            granted = None  # a request that waits waits for that, too
        if granted is not None or not options.wait:
            return granted
        return await self._attempt(key, owner, options, self._client.send_waiting, (*words, *options.wait_words()))

    async def _attempt(self, key: str, owner: str, options: LockOptions, send: Callable[..., Awaitable[Reply]],
                       words: "tuple[Word, ...]") -> Optional[Grant]:
        alone, sent = options.owner is None, Moment.now()

        async def give_back(*_: object) -> None:
            await self._client.send_quietly("LOCK.RELEASE", key, owner, *(["ALL"] if alone else []))
        try:
            reply = await send(words, give_back)
        except (self._client.ResponseError, asyncio.CancelledError):
            raise
        except Exception:
            if alone:  # it may have been granted
                self._client.start(give_back())
            raise
        return None if reply is None else Grant.of(key, owner, alone, reply, sent)
