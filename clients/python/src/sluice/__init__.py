"""Sluice: locks and limits over redis-py, and for tests the real server, private to a test, with a clock that the test
moves and faults on demand.

    import redis, sluice

    with sluice.Server() as server:
        client = redis.Redis.from_url(server.url)
        server.clock.freeze()
        client.set("session", "alice", px=1_800_000)
        server.clock.advance(minutes=30)
        assert client.get("session") is None

`Server` starts the binary `sluice` as a test double. `Server.space()` makes private servers inside it, one for each
test. With pytest the fixtures of `sluice.pytest_plugin` do all that. `Database` is Sluice inside this process, by
libsluice.so. `LockClient` and `LimitClient` are for applications; `sluice.asyncio` has those for asyncio, `sluice.wsgi`
and `sluice.asgi` limit requests.
"""
from .binary import BinaryNotFound
from .clock import Clock
from .database import Client, Database, DatabaseError, DatabaseLock, Ticket
from .double import Double
from .faults import Fault, Faults
from .journal import Journal, JournalMismatch, Request
from .lease import LockLost, LockNotGranted, LockOptions, UnexpectedReply
from .library import LibraryNotFound
from .limits import Calendar, Limit, LimitClient, LimitExceeded, LimitInfo, Policy, Take, Verdict, Verdicts
from .locks import Lock, LockClient
from .server import Server, ServerError, Space, SpaceInfo
from .wire import ConnectionLost, Reply, ReplyError

__version__ = "0.1.0"

__all__ = ["BinaryNotFound", "Calendar", "Client", "Clock", "ConnectionLost", "Database", "DatabaseError",
           "DatabaseLock", "Double", "Fault", "Faults", "Journal", "JournalMismatch", "LibraryNotFound", "Limit",
           "LimitClient", "LimitExceeded", "LimitInfo", "Lock", "LockClient", "LockLost", "LockNotGranted",
           "LockOptions", "Policy", "Reply", "ReplyError", "Request", "Server", "ServerError", "Space", "SpaceInfo",
           "Take", "Ticket", "UnexpectedReply", "Verdict", "Verdicts"]
