"""What happened in a server or a space: the requests of its journal, and between them how its clock was moved."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Callable, Deque, Iterator, List

from .journal import Journal
from .wire import Reply, Word, text

MOVES_MAX = 1000  # the newest are kept


def plain(word: Word) -> str:
    """A word as it is shown."""
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


@dataclass(frozen=True)
class Move:
    """A command that moved the clock, behind the request of that number (0: before the first)."""
    after: int
    words: "tuple[str, ...]"
    answer: str

    def __str__(self) -> str:
        return f"{' '.join(self.words)} {self.answer}"


class Moves:
    """Commands of SLUICE.CLOCK that one object has sent; the journal has none of them."""

    def __init__(self, execute: Callable[..., Reply]) -> None:
        self._execute = execute
        self._journal = Journal(execute)
        self._moves: Deque[Move] = deque(maxlen=MOVES_MAX)

    def __iter__(self) -> Iterator[Move]:
        return iter(self._moves)

    def execute(self, *words: Word) -> Reply:
        """Any command; one that moves the clock is noted."""
        upper = [plain(word).upper() for word in words[:2]]
        if upper[:1] != ["SLUICE.CLOCK"] or upper[1:] == ["NOW"]:
            return self._execute(*words)
        newest = self._journal.requests(count=1)
        answer = self._execute(*words)
        shown = f":{answer}" if isinstance(answer, int) else f"+{text(answer)}"
        self._moves.append(Move(newest[-1].number if newest else 0, (*upper, *map(plain, words[2:])), shown))
        return answer

    def clear(self) -> None:
        """Forgets them."""
        self._moves.clear()


def lines(journal: Journal, moves: Moves, count: int) -> List[str]:
    """The last `count` requests and the moves among them, the oldest first."""
    requests = journal.requests(count=count)
    first = requests[0].number if requests else 0
    rows = [(request.number, 0, str(request)) for request in requests]
    rows += [(move.after, 1, str(move)) for move in moves if move.after >= first - 1]
    return [line for _, _, line in sorted(rows, key=lambda row: row[:2])]
