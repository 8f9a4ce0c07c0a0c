"""Locks and limits for asyncio, over a client of redis.asyncio. The words are those of `sluice.LockClient` and
`sluice.LimitClient`.

    locks = sluice.asyncio.LockClient(redis.asyncio.Redis())
    async with locks.acquire("report:7", wait=5) as lock:
        await lock.fenced("SET", "report:7:sum", "done")
"""
from .limits import LimitClient
from .locks import Lock, LockClient

__all__ = ["LimitClient", "Lock", "LockClient"]
