"""All commands, locks and limits inside this process, with no server and no socket, by libsluice.so.

    with sluice.Database() as db:
        db.execute("SET", "greeting", "hello")
        assert db.execute("GET", "greeting") == b"hello"
        if not db.take("user:17", "rolling", 100, 60):
            ...
        with db.acquire("report", lease=30) as lock:
            db.execute("FENCED", "report", lock.token, "SET", "result", "done")
"""
from __future__ import annotations

import ctypes
import os
import threading
import uuid
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, Union

from . import library
from .clock import Moment, milliseconds
from .lease import LockNotGranted
from .limits import Verdict
from .wire import Reply, ReplyError, Word

MICROSECONDS = 1_000_000


class DatabaseError(RuntimeError):
    """The database cannot be opened, or could not keep its data; the message says why."""


def encode(words: "tuple[Word, ...]") -> List[bytes]:
    """Words as bytes."""
    return [word if isinstance(word, bytes) else str(word).encode() for word in words]


class Handle:
    """A database with its lock: one thread at a time is in it, so threads of Python may share it."""

    def __init__(self, lib: ctypes.CDLL, pointer: int) -> None:
        self.lib, self.guard = lib, threading.RLock()
        self.pointer: Optional[int] = pointer

    def opened(self) -> int:
        if self.pointer is None:
            raise DatabaseError("the database is closed")
        return self.pointer

    def value(self, reply: Optional[int]) -> Reply:
        """A reply that is owned, as Python has it; it is freed. Raises ReplyError."""
        try:
            result = self.convert(reply)
        finally:
            self.lib.sluice_reply_free(reply)
        if isinstance(result, ReplyError):
            raise result
        return result

    def convert(self, reply: Optional[int]) -> Reply:
        """A reply or an element, which stays whose it is."""
        lib, kind = self.lib, self.lib.sluice_reply_kind(reply)
        if kind == library.NULL:
            return None
        if kind in (library.STRING, library.ERROR):
            size = ctypes.c_size_t()
            data = ctypes.string_at(lib.sluice_reply_text(reply, ctypes.byref(size)), size.value)
            return data if kind == library.STRING else ReplyError(data.decode(errors="replace"))
        if kind == library.INTEGER:
            return lib.sluice_reply_integer(reply)
        if kind == library.DOUBLE:
            return lib.sluice_reply_double(reply)
        values = [self.convert(lib.sluice_reply_element(reply, at)) for at in range(lib.sluice_reply_size(reply))]
        if kind == library.MAP:
            return dict(zip(values[::2], values[1::2]))
        return set(values) if kind == library.SET else values


class Ticket:
    """A command that may wait. Forgetting the object ends the wait. Its client lives as long as it does."""

    def __init__(self, handle: Handle, asked_by: "Commands", pointer: Optional[int]) -> None:
        if not pointer:
            raise MemoryError
        self._handle, self._asked_by, self._pointer = handle, asked_by, pointer
        self._result: Any = None
        self._taken = False
        self._end = weakref.finalize(self, _free, handle, handle.lib.sluice_ticket_free, pointer)

    def ready(self) -> bool:
        """Whether the answer is there; Database.poll() lets time do its work."""
        with self._handle.guard:
            return self._taken or (self._end.alive and self._handle.lib.sluice_ticket_ready(self._pointer) == 1)

    def result(self) -> Reply:
        """The answer. Raises ReplyError, or LookupError while it is not there."""
        with self._handle.guard:
            if not self._taken:
                if not self.ready():
                    raise LookupError("the answer is not there yet")
                reply = self._handle.lib.sluice_ticket_take(self._pointer)
                self._taken = True
                try:
                    self._result = self._handle.value(reply)
                except ReplyError as error:
                    self._result = error
        if isinstance(self._result, ReplyError):
            raise self._result
        return self._result

    def cancel(self) -> None:
        """Ends the wait."""
        self._end()


def _free(handle: Handle, free: Callable[[int], None], pointer: int) -> None:
    with handle.guard:
        free(pointer)


class Commands:
    """What a database and its clients have in common."""

    _handle: Handle
    _run: Any
    _start: Any
    _next_push: Any

    def _pointer(self) -> int:
        """What the library knows it by. Raises DatabaseError when it is closed."""
        raise NotImplementedError

    def execute(self, *words: Word) -> Reply:
        """The reply to one command: None, int, float, bytes (also "OK"), list, dict or set. It never waits: a command
        that would is answered as if its time was over. Raises ReplyError."""
        with self._handle.guard:
            reply = self._run(self._pointer(), *library.arrays(encode(words)))
            if reply is None:
                raise MemoryError
            return self._handle.value(reply)

    def start(self, *words: Word) -> Ticket:
        """The same for a command that may wait (BLPOP, LOCK.ACQUIRE ... WAIT)."""
        with self._handle.guard:
            return Ticket(self._handle, self, self._start(self._pointer(), *library.arrays(encode(words))))

    def next_push(self) -> Optional[List[Reply]]:
        """The oldest message or event that was not taken; None if there is none."""
        with self._handle.guard:
            reply = self._next_push(self._pointer())
            return None if reply is None else list(self._handle.value(reply))


class Client(Commands):
    """A further client of a database: a transaction, subscriptions, a selected database and SESSION locks of its own.
    Forgetting the object ends it."""

    def __init__(self, handle: Handle) -> None:
        pointer = handle.lib.sluice_connect(handle.opened())
        if not pointer:
            raise MemoryError
        lib = handle.lib
        self._handle, self._value = handle, pointer
        self._run, self._start, self._next_push = (lib.sluice_client_run, lib.sluice_client_start,
                                                   lib.sluice_client_next_push)
        self._end = weakref.finalize(self, _free, handle, lib.sluice_client_free, pointer)

    def _pointer(self) -> int:
        self._handle.opened()
        if not self._end.alive:
            raise DatabaseError("the client is closed")
        return int(self._value)

    def close(self) -> None:
        """Ends it: what it held by SESSION is free."""
        self._end()


class DatabaseClock:
    """The time of a database. Only a manual one can be moved."""

    def __init__(self, database: "Database", manual: bool) -> None:
        self._database, self._manual = database, manual

    def now(self) -> float:
        """Unix time."""
        seconds, micros = self._database.execute("TIME")
        return int(seconds) + int(micros) / MICROSECONDS

    def advance(self, seconds: float = 0, *, ms: float = 0) -> None:
        """Lets time pass: each deadline on the way has its turn."""
        self._only_manual()
        with self._database._handle.guard:
            lib, db = self._database._handle.lib, self._database._handle.opened()
            lib.sluice_run_until(db, lib.sluice_now(db) + round(seconds * MICROSECONDS) + round(ms * 1000))

    def set(self, moment: Moment) -> None:
        """Steps the wall clock as NTP would: relative deadlines stay, absolute ones follow."""
        self._only_manual()
        seconds = float(moment) if isinstance(moment, (int, float)) else moment.timestamp()
        with self._database._handle.guard:
            by = round(seconds * MICROSECONDS) - round(self.now() * MICROSECONDS)
            self._database._handle.lib.sluice_step_wall(self._database._handle.opened(), by)

    def _only_manual(self) -> None:
        if not self._manual:
            raise DatabaseError('the time is the system\'s; Database(time="manual") has one to be moved')


class DatabaseLock:
    """A lock that is held; released at the end of its `with`."""

    def __init__(self, database: "Database", key: str, owner: str, token: int) -> None:
        self._database, self.key, self.owner, self.token = database, key, owner, token

    def renew(self, lease: float) -> bool:
        """The lease ends so much later than now. False: the lock is lost."""
        return self._held("LOCK.RENEW", "LEASE", milliseconds(lease))

    def release(self) -> bool:
        """Gives it back. False: it was lost before."""
        return self._held("LOCK.RELEASE")

    def _held(self, command: str, *words: Word) -> bool:
        try:
            self._database.execute(command, self.key, self.owner, *words, "TOKEN", self.token)
        except ReplyError as error:
            if error.code in ("NOTHELD", "WRONGTYPE"):
                return False
            raise
        return True

    def __enter__(self) -> "DatabaseLock":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.release()


class Database(Commands):
    """A server without a network, in this process. directory: where it keeps its data; without one nothing outlives
    it. time: "system", or "manual" for tests: it stands still but for `clock`. unix_time: when a manual time begins.
    seed: makes what is random the same in each run. options: those of sluice.conf. library: libsluice.so; without it
    SLUICE_LIBRARY, then where the loader looks."""

    def __init__(self, directory: Union[str, "os.PathLike[str]", None] = None, *, time: str = "system",
                 unix_time: Optional[Moment] = None, seed: Optional[int] = None,
                 options: Optional[Mapping[str, object]] = None,
                 library: Union[str, "os.PathLike[str]", None] = None) -> None:
        lib = _library(library)
        named: Dict[str, object] = {"time": time, **{name.replace("_", "-"): value
                                                     for name, value in (options or {}).items()}}
        if directory is not None:
            named["directory"] = os.fspath(directory)
        if unix_time is not None:
            seconds = unix_time if isinstance(unix_time, (int, float)) else unix_time.timestamp()
            named["unix-ms"] = milliseconds(seconds)
        if seed is not None:
            named["seed"] = seed
        self._handle = Handle(lib, _open(lib, named))
        self._run, self._start, self._next_push = lib.sluice_run, lib.sluice_start, lib.sluice_next_push
        self._end = weakref.finalize(self, _close, self._handle)
        self._manual = time == "manual"

    def _pointer(self) -> int:
        return self._handle.opened()

    @property
    def clock(self) -> DatabaseClock:
        """Its time."""
        return DatabaseClock(self, self._manual)

    def take(self, key: str, algorithm: str, max: int, period: float, *, burst: int = 0, cost: int = 1) -> Verdict:
        """LIMIT.TAKE: `max` a `period` of seconds."""
        name, verdict = key.encode(), library.CVerdict()
        fault = ctypes.create_string_buffer(library.FAULT_BYTES)
        with self._handle.guard:
            code = self._handle.lib.sluice_take(
                self._handle.opened(), name, len(name), algorithm.upper().encode(), max, milliseconds(period), burst,
                cost, ctypes.byref(verdict), fault, len(fault))
        if code != library.OK:
            raise ReplyError(fault.value.decode(errors="replace") or f"sluice_take: {code}")
        return Verdict(verdict.allowed == 1, verdict.limit, verdict.remaining,
                       None if verdict.retry_after_ms < 0 else verdict.retry_after_ms / 1000,
                       verdict.reset_after_ms / 1000, verdict.reset_at_ms / 1000)

    def acquire(self, key: str, *, owner: Optional[str] = None, lease: float = 30.0) -> DatabaseLock:
        """LOCK.ACQUIRE without waiting. Raises LockNotGranted. Without `owner` nobody else asks under this one's."""
        name = owner or uuid.uuid4().hex
        grant = self.execute("LOCK.ACQUIRE", key, name, "LEASE", milliseconds(lease))
        if grant is None:
            raise LockNotGranted(key)
        return DatabaseLock(self, key, name, int(grant[b"token"]))

    def connect(self) -> Client:
        """A further client."""
        with self._handle.guard:
            return Client(self._handle)

    def next_deadline(self) -> Optional[float]:
        """In how many seconds poll() has something to do, for event loops; None: not before a command comes."""
        with self._handle.guard:
            lib, db = self._handle.lib, self._handle.opened()
            deadline = lib.sluice_next_deadline(db)
            return None if deadline < 0 else max(0, deadline - lib.sluice_now(db)) / MICROSECONDS

    def poll(self) -> None:
        """Does what is due by now: ends waits, sends events, frees memory. Commands are right without it."""
        with self._handle.guard:
            lib, db = self._handle.lib, self._handle.opened()
            lib.sluice_run_until(db, lib.sluice_now(db))

    def close(self) -> None:
        """Raises DatabaseError if something could not be written. Closing twice is fine."""
        fault = self._end()
        if fault:
            raise DatabaseError(fault)

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


_library = library.find


def _open(lib: ctypes.CDLL, named: Mapping[str, object]) -> int:
    _, names, _ = library.arrays([name.encode() for name in named])
    _, values, _ = library.arrays([str(value).encode() for value in named.values()])
    fault = ctypes.create_string_buffer(library.FAULT_BYTES)
    pointer = lib.sluice_open(names, values, len(named), fault, len(fault))
    if not pointer:
        raise DatabaseError(fault.value.decode(errors="replace") or "there is no memory")
    return int(pointer)


def _close(handle: Handle) -> str:
    """The fault, or an empty string."""
    with handle.guard:
        pointer, handle.pointer = handle.pointer, None
        fault = ctypes.create_string_buffer(library.FAULT_BYTES)
        if pointer is not None and handle.lib.sluice_close(pointer, fault, len(fault)) != library.OK:
            return fault.value.decode(errors="replace") or "the database could not be closed"
    return ""
