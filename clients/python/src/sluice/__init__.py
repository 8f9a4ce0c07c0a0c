"""Sluice for tests: the real server, private to a test, with a clock that the test moves and faults on demand.

    import redis, sluice

    with sluice.Server() as server:
        client = redis.Redis.from_url(server.url)
        server.clock.freeze()
        client.set("session", "alice", px=1_800_000)
        server.clock.advance(minutes=30)
        assert client.get("session") is None

`Server` starts the binary `sluice` as a test double. `Server.space()` makes private servers inside it, one for each
test. With pytest the fixtures of `sluice.pytest_plugin` do all that. `Database` is Sluice inside this process, by
libsluice.so.
"""
from .binary import BinaryNotFound
from .clock import Clock
from .database import Client, Database, DatabaseError, DatabaseLock, LockNotGranted, Ticket, Verdict
from .double import Double
from .faults import Fault, Faults
from .journal import Journal, JournalMismatch, Request
from .library import LibraryNotFound
from .server import Server, ServerError, Space, SpaceInfo
from .wire import ConnectionLost, Reply, ReplyError

__version__ = "0.1.0"

__all__ = ["BinaryNotFound", "Client", "Clock", "ConnectionLost", "Database", "DatabaseError", "DatabaseLock", "Double",
           "Fault", "Faults", "Journal", "JournalMismatch", "LibraryNotFound", "LockNotGranted", "Reply", "ReplyError",
           "Request", "Server", "ServerError", "Space", "SpaceInfo", "Ticket", "Verdict"]
