"""The journal: what clients really sent, and what they got."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, List, Optional

from .wire import Reply, ReplyError, Word, text

Execute = Callable[..., Reply]


class JournalMismatch(AssertionError):
    """What was expected did not happen; the message says what did."""
    journal: "Optional[Journal]" = None

    def leave_out_requests(self) -> None:
        """For a report that shows them beside the message."""
        self.args = (re.sub(r"; the last \d+ of \d+ requests: .*", "", str(self), flags=re.DOTALL),)


@dataclass(frozen=True)
class Request:
    """An entry. `answer` is written as in transcripts (+OK, :1, "text", (nil)); None where there is none, or where a
    fault took it away. `fault` is the id of the rule that hit."""
    number: int
    at_ms: int
    client: int
    name: str
    words: "tuple[str, ...]"
    answer: Optional[str]
    fault: Optional[int]

    def __str__(self) -> str:
        return f"#{self.number} {' '.join(self.words)} (client {self.client}) {self.answer or 'no answer'}"


def request(row: List[Reply]) -> Request:
    """An entry of SLUICE.JOURNAL GET."""
    number, at_ms, client, name, words, answer, fault = row
    return Request(number=number, at_ms=at_ms, client=client, name=text(name),
                   words=tuple(text(word) for word in words), answer=None if answer is None else text(answer),
                   fault=fault)


class Journal:
    """The journal of a server or a space. A pattern is a glob over a whole request, its words joined by spaces."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def start(self, maxlen: Optional[int] = None) -> "Journal":
        """Requests are recorded from now on, the newest `maxlen` (10,000)."""
        self._execute("SLUICE.JOURNAL", "START", *([] if maxlen is None else ["MAXLEN", maxlen]))
        return self

    def stop(self) -> None:
        """No more are recorded; what there is stays."""
        self._execute("SLUICE.JOURNAL", "STOP")

    def clear(self) -> None:
        """Forgets what was recorded."""
        self._execute("SLUICE.JOURNAL", "CLEAR")

    def requests(self, match: Optional[str] = None, *, client: Optional[int] = None,
                 count: Optional[int] = None) -> List[Request]:
        """What was recorded, the oldest first."""
        words: List[Word] = []
        for option, value in (("COUNT", count), ("MATCH", match), ("CLIENT", client)):
            if value is not None:
                words += [option, value]
        return [request(row) for row in self._execute("SLUICE.JOURNAL", "GET", *words)]

    def expect(self, *patterns: str, ordered: bool = False) -> None:
        """There is a request of its own for each pattern, in this order if `ordered`. Raises JournalMismatch, an
        AssertionError, with what was sent instead."""
        try:
            self._execute("SLUICE.JOURNAL", "EXPECT", *(["ORDERED"] if ordered else []), len(patterns), *patterns)
        except ReplyError as error:
            if not str(error).startswith("ERR expected "):
                raise
            mismatch = JournalMismatch(str(error)[len("ERR "):])
            mismatch.journal = self
            raise mismatch from None

    def export(self) -> str:
        """A transcript that Sluice's own tests can play."""
        return text(self._execute("SLUICE.JOURNAL", "EXPORT"))
