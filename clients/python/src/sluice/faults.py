"""Faults: which requests of other connections go wrong, and how.

    with space.faults.on("EXEC", after=True, times=1).close():
        ...
    rule = space.faults.on(key="lock:*").state("READONLY")
    assert rule.hits == 2
"""
from __future__ import annotations

from types import TracebackType
from typing import Callable, List, Optional, Tuple, Type

from .clock import milliseconds
from .wire import Reply, Word, text

Execute = Callable[..., Reply]


class Fault:
    """A rule. As a context manager it is deleted at the end."""

    def __init__(self, execute: Execute, number: int) -> None:
        self._execute, self.id = execute, number

    def _row(self) -> List[Reply]:
        for row in self._execute("SLUICE.FAULT", "LIST"):
            if row[0] == self.id:
                return list(row)
        raise LookupError(f"the rule {self.id} is not there any more")

    @property
    def seen(self) -> int:
        """How many requests were looked at that it is about."""
        return int(self._row()[2])

    @property
    def hits(self) -> int:
        """How many requests it has hit."""
        return int(self._row()[3])

    @property
    def words(self) -> List[str]:
        """The rule as the server has it."""
        return [text(word) for word in self._row()[1]]

    def delete(self) -> bool:
        """What it holds back goes on. False: it was gone already."""
        return bool(self._execute("SLUICE.FAULT", "DEL", self.id))

    def __enter__(self) -> "Fault":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.delete()

    def __repr__(self) -> str:
        return f"Fault({self.id})"


class Action:
    """What happens to the requests that `Faults.on` names. Each method adds the rule and returns it."""

    def __init__(self, faults: "Faults", words: List[Word]) -> None:
        self._faults, self._words = faults, words

    def _add(self, *action: Word) -> Fault:
        return self._faults.add(*self._words, *action)

    def error(self, message: str) -> Fault:
        """The answer is this error; without a code in capitals it gets ERR."""
        return self._add("ERROR", message)

    def state(self, name: str) -> Fault:
        """The error of a server that is LOADING, READONLY, OOM, MISCONF, BUSY, NOREPLICAS or MASTERDOWN."""
        return self._add("STATE", name)

    def delay(self, seconds: float, *, real: bool = False) -> Fault:
        """It runs, or its answer leaves, so much later: by the space's clock, or by real time."""
        return self._add("DELAY", milliseconds(seconds), *(["REAL"] if real else []))

    def hang(self) -> Fault:
        """It runs, or its answer leaves, when the rule is deleted."""
        return self._add("HANG")

    def drop(self) -> Fault:
        """There is no answer, ever."""
        return self._add("DROP")

    def close(self) -> Fault:
        """The connection is closed without an answer."""
        return self._add("CLOSE")

    def truncate(self, count: int) -> Fault:
        """It is executed, the first `count` bytes of the answer leave, and the connection is closed."""
        return self._add("TRUNCATE", count)

    def split(self) -> Fault:
        """Each byte of the answer is a write of its own."""
        return self._add("SPLIT")

    def moved(self, address: str) -> Fault:
        """The answer is -MOVED slot host:port."""
        return self._add("MOVED", address)

    def ask(self, address: str) -> Fault:
        """The answer is -ASK slot host:port."""
        return self._add("ASK", address)

    def failover(self) -> Fault:
        """All connections but the test's own are closed, and the tokens of locks jump by a million."""
        return self._add("FAILOVER")


class Faults:
    """The rules of a server or a space. This object's own connection is never hit."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def on(self, command: Optional[str] = None, *, key: Optional[str] = None, client: Optional[int] = None,
           name: Optional[str] = None, args: Optional[int] = None, nth: Optional[int] = None,
           times: Optional[int] = None, probability: Optional[float] = None, after: bool = False) -> Action:
        """Which requests; all that is given has to hold. Without anything: each one.

        command: "EXEC", or with a subcommand "CONFIG SET". key: a glob that one of its keys matches. client, name: the
        connection's id, a glob for its name (CLIENT SETNAME). args: how many words it has, the command's own included.
        nth: the n-th for which all that holds. times: how many are hit. probability: by chance, which the server's
        seed makes repeatable. after: it is executed, and its answer suffers; otherwise it is not executed."""
        words: List[Word] = ["COMMAND", *command.split()] if command is not None else []
        options: Tuple[Tuple[str, Optional[Word]], ...] = (
            ("KEY", key), ("CLIENT", client), ("NAME", name), ("ARGS", args), ("NTH", nth), ("TIMES", times),
            ("PROB", None if probability is None else f"{probability:.12f}".rstrip("0")))
        for option, value in options:
            if value is not None:
                words += [option, value]
        return Action(self, words + (["AFTER"] if after else []))

    def add(self, *words: Word) -> Fault:
        """A rule in the server's own words, those of SLUICE.FAULT ADD."""
        return Fault(self._execute, int(self._execute("SLUICE.FAULT", "ADD", *words)))

    def list(self) -> List[Fault]:
        """The rules that are there."""
        return [Fault(self._execute, int(row[0])) for row in self._execute("SLUICE.FAULT", "LIST")]

    def clear(self) -> int:
        """Deletes all rules; how many there were."""
        return int(self._execute("SLUICE.FAULT", "CLEAR"))
