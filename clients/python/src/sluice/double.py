"""What a server and a space have in common: an address for clients, a clock, faults and a journal."""
from __future__ import annotations

from typing import Any, Dict, List, Optional
from urllib.parse import quote

from .clock import Clock
from .faults import Faults
from .history import Moves, lines
from .journal import Journal
from .wire import Connection, Reply, Word


class Double:
    """A private server. `host`, `port`, `username` and `password` are what a client connects with; `url` is all of
    them. `clock`, `faults` and `journal` go over a connection of this object's own."""

    def __init__(self, host: str, port: int, space: Optional[str], timeout: float) -> None:
        self.host, self.port = host, port
        self.username: Optional[str] = None if space is None else f"space:{space}"
        self.password: Optional[str] = None if space is None else "any"
        self._connection = Connection(host, port, space, timeout)
        self._moves = Moves(self._connection.execute)
        self.clock = Clock(self._moves.execute)
        self.faults = Faults(self._connection.execute)
        self.journal = Journal(self._connection.execute)

    @property
    def url(self) -> str:
        """redis://..., which every client takes."""
        if self.username is None:
            return f"redis://{self.host}:{self.port}"
        return f"redis://{quote(self.username, safe='')}:{self.password}@{self.host}:{self.port}"

    @property
    def connection_kwargs(self) -> Dict[str, Any]:
        """For clients that take words in place of a URL: redis.Redis(**space.connection_kwargs)."""
        words: Dict[str, Any] = {"host": self.host, "port": self.port}
        if self.username is not None:
            words.update(username=self.username, password=self.password)
        return words

    def redis(self, **options: Any) -> Any:
        """A new client of redis-py, which has to be installed. The caller closes it."""
        import redis
        return redis.Redis(**self.connection_kwargs, **options)

    def redis_asyncio(self, **options: Any) -> Any:
        """A new asyncio client of redis-py: `async with space.redis_asyncio() as client:`."""
        import redis.asyncio
        return redis.asyncio.Redis(**self.connection_kwargs, **options)

    def execute(self, *words: Word) -> Reply:
        """Any command over this object's own connection, which no fault hits once it has set one. Bulk strings are
        bytes, statuses str. Raises ReplyError or ConnectionLost."""
        return self._moves.execute(*words)

    def reset(self) -> None:
        """Data, scripts, clock, faults, journal and random choices are as after the start."""
        self.execute("SLUICE.RESET")
        self._moves.clear()

    def history(self, count: int = 30) -> List[str]:
        """The last `count` requests, a line each, and how this object moved the clock between them."""
        return lines(self.journal, self._moves, count)
