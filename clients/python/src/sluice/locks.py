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
from .held import HeldLock, asking, give_back_words
from .lease import Grant, Lease, LockNotGranted, LockOptions, Moment, Owners
from .redis_py import SyncClient
from .steps import drive
from .wire import Name, Reply, Word

Function = TypeVar("Function", bound=Callable[..., Any])


class Lock(HeldLock):
    """A lock that is held. As a context manager it is released at the end; that raises LockLost when it was lost
    before the work was done, for then the work may have met another's."""

    lost: threading.Event

    def __init__(self, client: SyncClient, keeper: "Keeper", lease: Lease) -> None:
        super().__init__(client, lease, threading.Event())
        self._keeper = keeper
        self._releasing, self._renewing = threading.Lock(), threading.Lock()
        self._answer: Optional[bool] = None  # what release() gave
        self._watched = 0  # the keeper's number
        self._watch()

    def fenced(self, *words: Word) -> Reply:
        """Runs a command on this server only while the token is not stale:  lock.fenced("SET", "result", "done")
        Raises LockLost if it is: nothing was run, and the lock is lost."""
        return self._client.run(self._fenced_request(words))

    def renew(self) -> None:
        """Renews now, in addition to the timer. Raises LockLost if it is lost."""
        drive(self._renewing_by_hand(), self._renew)

    def release(self) -> bool:
        """Gives it back; False if it was lost before. Further calls give the same."""
        with self._releasing:
            if self._answer is None:
                self._answer = self._client.run(self._release_request())
            return bool(self._answer)

    def _renew(self, _: None = None) -> None:
        with self._renewing:
            self._client.run(self._renewal_request())

    def _watch(self) -> None:
        self._keeper.watch(self)

    def _begin_renewal(self) -> None:
        work = (self._renewing_by_timer(), self._renew)
        try:
            threading.Thread(target=drive, args=work, name="sluice-renewal", daemon=True).start()
        except RuntimeError:  # there are too many of them just now
            self._if_held(Lease.retry)

    def _show(self, error: Exception) -> None:
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread())))

    def _forked(self) -> None:
        """In a new process, in which this is another's lock and its threads may have stood anywhere."""
        self._guard, self._releasing, self._renewing = threading.Lock(), threading.Lock(), threading.Lock()
        self.lost = threading.Event()
        if self._lease.lost is None and not self._lease.released:
            self._lease.lose("FORKED")
        if self._lease.lost is not None:
            self.lost.set()

    def __enter__(self) -> "Lock":
        drive(self._entering(), lambda _: self.release())
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        drive(self._leaving(error), lambda _: self.release())


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
                thread = threading.Thread(target=self._run, name="sluice-keeper", daemon=True)
                thread.start()
                self._thread = thread
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
    """Locks of one server, or of a cluster. redis: a client of redis-py. defaults: options of each lock, those of LockOptions."""

    def __init__(self, redis: Any, **defaults: Any) -> None:
        self._client = SyncClient(redis)
        self._options = LockOptions(**defaults)
        self._owners, self._keeper = Owners(), Keeper()
        FORKABLE.add(self)

    def acquire(self, key: Name, **options: Any) -> Lock:
        """The lock, to be used in a `with` or released by hand. Raises LockNotGranted when others hold it and the wait
        is over. options: those of LockOptions."""
        lock = self.try_acquire(key, **options)
        if lock is None:
            raise LockNotGranted(key)
        return lock

    def try_acquire(self, key: Name, **options: Any) -> Optional[Lock]:
        """The lock, or None when others hold it and the wait is over."""
        chosen = dataclasses.replace(self._options, **options)
        owner = self._owners.new() if chosen.owner is None else chosen.owner
        grant = drive(asking(key, owner, chosen, self._client.ResponseError),
                      lambda request: self._attempt(key, owner, chosen, *request))
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

    def _attempt(self, key: Name, owner: Name, options: LockOptions, words: List[Word], waits: bool) -> Optional[Grant]:
        sent = Moment.now()
        try:
            reply = (self._client.send_waiting if waits else self._client.send)(*words)
            return None if reply is None else Grant.of(key, owner, options.owner is None, reply, sent)
        except self._client.ResponseError:
            raise
        except BaseException:
            if options.owner is None:  # it may have been granted; whoever has closed the connection may take long
                with contextlib.suppress(RuntimeError):  # without a thread its lease ends it
                    threading.Thread(target=self._client.send_quietly, args=give_back_words(key, owner, options),
                                     name="sluice-give-back", daemon=True).start()
            raise

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
