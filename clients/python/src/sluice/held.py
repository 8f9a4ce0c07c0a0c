"""A lock while it is held, as far as threads and tasks have it in common: what it says of itself, what its requests and
their answers mean, and when it renews itself or is lost. `locks` and `asyncio.locks` do the steps, and know when."""
from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, List, Optional, Sequence, Tuple

from .lease import LOST, Grant, Lease, LockLost, LockOptions, Moment, UnexpectedReply, code_of, count_of
from .steps import Steps
from .wire import Name, Reply, Word


class HeldLock:
    """What both kinds of Lock are made of. Steps whose names end with `_request` are requests, to be sent; those of the
    others yield None where the kind's own renew() or release() is to be called."""

    def __init__(self, client: Any, lease: Lease, lost: Any) -> None:
        """lost: the event of that kind."""
        self._client, self._lease, self.lost = client, lease, lost
        self._guard = threading.Lock()  # of the lease; held for moments
        self._on_lost: List[Callable[[LockLost], object]] = []

    # What a kind sees to.

    def _watch(self) -> None:
        """_tick() is called at the lease's next moment, as that is now."""
        raise NotImplementedError

    def _stop_watching(self) -> None:
        """There is nothing to come; a late _tick() does no harm."""

    def _begin_renewal(self) -> None:
        """Renews beside all else, so that no answer that does not come holds others up."""
        raise NotImplementedError

    def _show(self, error: Exception) -> None:
        """An error of a function that on_lost() was given."""
        raise NotImplementedError

    def _notice_fork(self) -> None:
        """For a kind that is not told of a fork: looks whether there was one."""

    # What it says of itself.

    @property
    def key(self) -> Name:
        return self._lease.grant.key

    @property
    def owner(self) -> Name:
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
        """For how many seconds it may still be relied on without a renewal; 0 when it is not held."""
        return self._lease.remaining if self.held else 0.0

    @property
    def reason(self) -> Optional[LockLost]:
        """Why `lost` is set."""
        self._notice_fork()
        return self._lease.lost

    def assert_held(self) -> None:
        """Raises LockLost unless it is held: before each step that must not be done without the lock."""
        self._notice_fork()
        fault = self._lease.fault()
        if fault is not None:
            raise fault

    def on_lost(self, call: Callable[[LockLost], object]) -> None:
        """`call(reason)` when the lock is lost, in the thread or task that finds out; at once if it is. To end the work
        of a task: lock.on_lost(lambda reason: task.cancel()). What it raises is shown as an error of that thread or loop."""
        with self._guard:
            if self._lease.lost is None:
                self._on_lost.append(call)
                return
        call(self._lease.lost)

    def __repr__(self) -> str:
        return f"Lock({self.key!r}, token={self.token}, {'held' if self.held else 'not held'})"

    # Requests.

    def _fenced_request(self, words: Tuple[Word, ...]) -> Steps[Reply]:
        try:
            return (yield self._lease.fenced_words(words))
        except self._client.ResponseError as error:
            if code_of(error) != "STALE":
                raise
            self._lose("STALE", error)
            raise self._lease.loss("STALE") from error

    def _renewal_request(self) -> Steps[None]:
        sent = Moment.now()
        try:
            lease_ms = count_of("LOCK.RENEW", (yield self._lease.renew_words()))
        except self._client.ResponseError as error:
            code = code_of(error)
            if code in LOST:
                self._lose(str(code), error)
            raise
        self._if_held(lambda lease: lease.extend(sent, lease_ms / 1000))

    def _release_request(self) -> Steps[bool]:
        """False: it was lost before."""
        self._notice_fork()
        lease = self._lease
        with self._guard:
            lost = lease.lost is not None or (not lease.released and lease.remaining == 0)
            forked = lease.lost is not None and lease.lost.code == "FORKED"
            lease.released = True
        if forked:
            return False  # it is the other process that gives it back
        self._stop_watching()
        try:
            count_of("LOCK.RELEASE", (yield lease.release_words()))
            return not lost
        except self._client.ResponseError as error:
            if code_of(error) in LOST:
                return False
            if code_of(error) == "LOCKGRACE":  # a server that has lost its log's end lets the lease end it
                return not lost
            raise

    # What is done around them.

    def _renewing_by_hand(self) -> Steps[None]:
        self.assert_held()
        try:
            yield None
        except self._client.ResponseError:
            if self._lease.lost is None:
                raise
        if self._lease.lost is not None:
            raise self._lease.lost

    def _renewing_by_timer(self) -> Steps[None]:
        try:
            yield None
        except Exception:  # whatever it was: the lease runs down meanwhile
            self._if_held(Lease.retry)

    def _entering(self) -> Steps[None]:
        try:
            self.assert_held()
        except LockLost:  # the grant came too late
            with contextlib.suppress(Exception):
                yield None
            raise

    def _leaving(self, error: Optional[BaseException]) -> Steps[None]:
        if error is not None:
            with contextlib.suppress(Exception):  # its lease ends it; the work's own error is the one to show
                yield None
            return
        held = self.held
        try:
            released = yield None
        except (self._client.ResponseError, UnexpectedReply):
            raise
        except Exception:
            # An answer that is lost on its way takes nothing back: the work was done in time.
            if not held:
                raise
            return
        if not released:
            raise self._lease.lost or self._lease.loss("NOTHELD")

    # What time brings.

    def _tick(self) -> None:
        """At the lease's next moment: gives the lock up, or renews it."""
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
            self._begin_renewal()
        self._watch()

    def _if_held(self, change: Callable[[Lease], None]) -> None:
        """Changes the lease, and has it watched. What comes back behind the deadline is too late: the work may have found
        out."""
        with self._guard:
            held = self._lease.held
            if held:
                change(self._lease)
        if held:
            self._watch()
        else:
            self._lose("EXPIRED")

    def _lose(self, code: str, cause: Optional[BaseException] = None) -> None:
        with self._guard:
            if not self._lease.lose(code, cause):
                return
            calls, self._on_lost = self._on_lost, []
        self._stop_watching()
        self.lost.set()
        for call in calls:
            try:
                call(self._lease.lost or self._lease.loss(code))
            except Exception as error:  # goes no farther: this thread may be the one that renews other locks
                self._show(error)


def asking(key: Name, owner: Name, options: LockOptions, response_error: Any) -> Steps[Optional[Grant]]:
    """Asks for a lock. Yields (the words of a request, whether it waits) and is sent the grant, if there is one. The
    first request does not wait, and goes over the shared connections."""
    words = options.acquire_words(key, owner)
    try:
        granted: Optional[Grant] = yield words, False
    except response_error as error:
        if code_of(error) != "LOCKGRACE" or not options.wait:
            raise
        granted = None  # a request that waits waits for that, too
    if granted is not None or not options.wait:
        return granted
    return (yield words + options.wait_words(), True)  # type: ignore[no-any-return]


def give_back_words(key: Name, owner: Name, options: LockOptions) -> Sequence[Word]:
    """For a grant that nobody has heard of."""
    return ["LOCK.RELEASE", key, owner, *([] if options.owner is not None else ["ALL"])]
