"""Locks over LOCK.*, for a client of redis-py:

    locks = sluice.LockClient(redis.Redis())
    with locks.acquire("report:7", lease=30, wait=5) as lock:
        lock.assert_held()
        lock.fenced("SET", "report:7:sum", "done")

A lock is renewed while it is held, by one thread a client. `sluice.asyncio` has the same for asyncio.
"""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import heapq
import itertools
import os
import threading
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Iterator, List, Optional, Tuple, Type, TypeVar

from .calls import Key, key_maker
from .lease import LOST, Grant, Lease, LockLost, LockNotGranted, LockOptions, Moment, Owners, code_of
from .redis_py import SyncClient
from .wire import Reply, Word

Function = TypeVar("Function", bound=Callable[..., Any])


class Lock:
    """A lock that is held. As a context manager it is released at the end; that raises LockLost when it was lost
    before the work was done, for then the work may have met another's."""

    def __init__(self, client: SyncClient, keeper: "Keeper", lease: Lease) -> None:
        self._client, self._keeper, self._lease = client, keeper, lease
        self._guard, self._releasing, self._renewing = threading.Lock(), threading.Lock(), threading.Lock()
        self._answer: Optional[bool] = None  # what release() gave
        self._on_lost: List[Callable[[LockLost], object]] = []
        self.lost = threading.Event()
        self._watched = 0  # the keeper's number
        keeper.watch(self)

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
        fault = self._lease.fault()
        if fault is not None:
            raise fault

    def on_lost(self, call: Callable[[LockLost], object]) -> None:
        """`call(reason)` when the lock is lost, in the thread that finds out; at once if it is."""
        with self._guard:
            if self._lease.lost is None:
                self._on_lost.append(call)
                return
        call(self._lease.lost)

    def fenced(self, *words: Word) -> Reply:
        """Runs a command on this server only while the token is not stale:  lock.fenced("SET", "result", "done")
        Raises LockLost if it is: nothing was run, and the lock is lost."""
        try:
            return self._client.send(*self._lease.fenced_words(words))
        except self._client.ResponseError as error:
            if code_of(error) != "STALE":
                raise
            self._lose("STALE", error)
            raise self._lease.loss("STALE") from error

    def renew(self) -> None:
        """Renews now, in addition to the timer. Raises LockLost if it is lost."""
        self.assert_held()
        try:
            self._renew()
        except self._client.ResponseError:
            if self._lease.lost is None:
                raise
        if self._lease.lost is not None:
            raise self._lease.lost

    def release(self) -> bool:
        """Gives it back; False if it was lost before. Further calls give the same."""
        with self._releasing:
            if self._answer is None:
                self._answer = self._release()
            return self._answer

    def _release(self) -> bool:
        with self._guard:
            lost = self._lease.lost is not None or (not self._lease.released and self._lease.remaining == 0)
            forked = lost and self._lease.lost is not None and self._lease.lost.code == "FORKED"
            self._lease.released = True
        if forked:
            return False  # it is the other process that gives it back
        try:
            self._client.send(*self._lease.release_words())
            return not lost
        except self._client.ResponseError as error:
            if code_of(error) in LOST:
                return False
            if code_of(error) == "LOCKGRACE":  # a server that has lost its log's end lets the lease end it
                return not lost
            raise

    def _renew(self) -> None:
        with self._renewing:
            sent = Moment.now()
            try:
                lease_ms = self._client.send(*self._lease.renew_words())
            except self._client.ResponseError as error:
                code = code_of(error)
                if code in LOST:
                    self._lose(str(code), error)
                raise
        with self._guard:
            # What comes back behind the deadline is too late: the work was told to stop.
            if not self._lease.held:
                return
            self._lease.extend(sent, int(lease_ms) / 1000)
        self._keeper.watch(self)

    def _renew_by_timer(self) -> None:
        try:
            self._renew()
        except Exception:  # whatever it was: the lease runs down meanwhile
            with self._guard:
                if not self._lease.held:
                    return
                self._lease.retry()
            self._keeper.watch(self)

    def _tick(self) -> None:
        """Called by the keeper at next_moment(): gives the lock up, or renews it in a thread, so that no answer that
        does not come holds others up."""
        with self._guard:
            lease = self._lease
            if lease.lost is not None or lease.released:
                return
            expired = lease.remaining == 0
            renew = not expired and lease.renew_at is not None and lease.renew_at <= time.monotonic()
            if renew:
                lease.renew_at = None  # until that one is over
        if expired:
            self._lose("EXPIRED")
            return
        if renew:
            threading.Thread(target=self._renew_by_timer, name="sluice-renewal", daemon=True).start()
        self._keeper.watch(self)

    def _lose(self, code: str, cause: Optional[BaseException] = None) -> None:
        with self._guard:
            if not self._lease.lose(code, cause):
                return
            calls, self._on_lost = self._on_lost, []
        self.lost.set()
        for call in calls:
            call(self._lease.lost or self._lease.loss(code))

    def _forked(self) -> None:
        """In a new process, in which this is another's lock and its threads may have stood anywhere."""
        self._guard, self._releasing, self._renewing = threading.Lock(), threading.Lock(), threading.Lock()
        self.lost = threading.Event()
        if self._lease.lost is None and not self._lease.released:
            self._lease.lose("FORKED")
        if self._lease.lost is not None:
            self.lost.set()

    def __enter__(self) -> "Lock":
        try:
            self.assert_held()
        except LockLost as error:  # the grant came too late
            self.__exit__(LockLost, error, None)
            raise
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if error is not None:
            with contextlib.suppress(Exception):  # its lease ends it; the work's own error is the one to show
                self.release()
            return
        held = self.held
        try:
            released = self.release()
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


class Keeper:
    """One thread, begun with the first lock, that calls locks when something is due. A lock that nobody knows of any
    more is renewed no more: its lease ends it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """As new, in a process that was forked: the thread is not there."""
        self._changed = threading.Condition()
        self._due: List[Tuple[float, int, "weakref.ref[Lock]"]] = []
        self._numbers: Iterator[int] = itertools.count()
        self._thread: Optional[threading.Thread] = None
        self.locks: "weakref.WeakSet[Lock]" = weakref.WeakSet()

    def watch(self, lock: Lock) -> None:
        """It is called at its next moment, as that is now; what was said of it before is void."""
        with self._changed:
            self.locks.add(lock)
            lock._watched = next(self._numbers)
            heapq.heappush(self._due, (lock._lease.next_moment(), lock._watched, weakref.ref(lock)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sluice-keeper", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            lock = self._next()
            if lock is None:
                continue
            if lock._lease.next_moment() <= time.monotonic():
                lock._tick()
            else:  # the wall clock sees it a little later
                self.watch(lock)
            del lock

    def _next(self) -> Optional[Lock]:
        """The lock whose moment has come; None if it is gone, or its moment is another by now."""
        with self._changed:
            while not self._due or self._due[0][0] > time.monotonic():
                self._changed.wait(min(self._due[0][0] - time.monotonic(), threading.TIMEOUT_MAX) if self._due else None)
            _, number, reference = heapq.heappop(self._due)
        lock = reference()
        return lock if lock is not None and lock._watched == number else None


class LockClient:
    """Locks of one server. redis: a client of redis-py. defaults: options of each lock, those of LockOptions."""

    def __init__(self, redis: Any, **defaults: Any) -> None:
        self._client = SyncClient(redis)
        self._options = LockOptions(**defaults)
        self._owners, self._keeper = Owners(), Keeper()
        FORKABLE.add(self)

    def acquire(self, key: str, **options: Any) -> Lock:
        """The lock, to be used in a `with` or released by hand. Raises LockNotGranted when others hold it and the wait
        is over. options: those of LockOptions."""
        lock = self.try_acquire(key, **options)
        if lock is None:
            raise LockNotGranted(key)
        return lock

    def try_acquire(self, key: str, **options: Any) -> Optional[Lock]:
        """The lock, or None when others hold it and the wait is over."""
        chosen = dataclasses.replace(self._options, **options)
        owner = self._owners.new() if chosen.owner is None else chosen.owner
        grant = self._ask(key, owner, chosen)
        return None if grant is None else Lock(self._client, self._keeper, Lease(grant, chosen))

    def locked(self, key: Key, **options: Any) -> Callable[[Function], Function]:
        """A decorator: each call runs under a lock.  @locks.locked("report:{number}", wait=5)"""
        def decorate(function: Function) -> Function:
            made = key_maker(key, function)

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                with self.acquire(made(*args, **kwargs), **options):
                    return function(*args, **kwargs)
            return call  # type: ignore[return-value]
        return decorate

    def _ask(self, key: str, owner: str, options: LockOptions) -> Optional[Grant]:
        """A first request does not wait, and goes over the shared connections."""
        words = options.acquire_words(key, owner)
        try:
            granted = self._attempt(key, owner, options, self._client.send, words)
        except self._client.ResponseError as error:
            if code_of(error) != "LOCKGRACE" or not options.wait:
                raise
            granted = None  # a request that waits waits for that, too
        if granted is not None or not options.wait:
            return granted
        return self._attempt(key, owner, options, self._client.send_waiting, words + options.wait_words())

    def _attempt(self, key: str, owner: str, options: LockOptions, send: Callable[..., Reply],
                 words: List[Word]) -> Optional[Grant]:
        alone, sent = options.owner is None, Moment.now()
        try:
            reply = send(*words)
        except self._client.ResponseError:
            raise
        except BaseException:
            if alone:  # it may have been granted; whoever has closed the connection may take long to answer
                back: Tuple[Word, ...] = ("LOCK.RELEASE", key, owner, "ALL")
                threading.Thread(target=self._client.send_quietly, args=back, name="sluice-give-back",
                                 daemon=True).start()
            raise
        return None if reply is None else Grant.of(key, owner, alone, reply, sent)

    def _forked(self) -> None:
        for lock in list(self._keeper.locks):
            lock._forked()
        self._owners = Owners()
        self._keeper.reset()


FORKABLE: "weakref.WeakSet[LockClient]" = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(FORKABLE):
        client._forked()


os.register_at_fork(after_in_child=_after_fork)
