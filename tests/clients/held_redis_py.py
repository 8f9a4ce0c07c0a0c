#!/usr/bin/python3
"""A lock of clients/python that is held while servers come and go, for tests/smoke/held_locks.py:

  held_redis_py.py sentinel|cluster|sentinel-asyncio|cluster-asyncio port...      ports of Sentinels, or of a cluster

Takes from limits that have a policy, wherever they are; takes the lock `door` after a wait, and says so with its token. For each line of its input (renew, fenced) it says what
came of that call; and unasked when the lock is lost.
"""
import asyncio
import logging
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python/src"))
import redis.asyncio  # noqa: E402
import redis.asyncio.sentinel  # noqa: E402
import redis.cluster  # noqa: E402
import redis.sentinel  # noqa: E402
import sluice  # noqa: E402
import sluice.asyncio  # noqa: E402

KIND, *PORTS = sys.argv[1:]
POLICY, USERS = sluice.Policy("five"), [f"user:{number}" for number in range(20)]
HOLDING = {"lease": 60, "renew_every": 0.1}
FENCED = ("SET", "{door}result", "mine")


def say(*words):
    print(*words, flush=True)


def client():
    nodes = [("127.0.0.1", int(port)) for port in PORTS]
    module = redis.asyncio if KIND.endswith("-asyncio") else redis
    if KIND.startswith("sentinel"):
        return module.sentinel.Sentinel(nodes, socket_timeout=0.5).master_for("mymaster", socket_timeout=2)
    return module.cluster.RedisCluster(host="127.0.0.1", port=nodes[0][1], socket_timeout=2)


def outcome(error):
    return ("lost", error.code) if isinstance(error, sluice.LockLost) else ("failed", repr(error))


def with_threads():
    limits = sluice.LimitClient(client(), prefix="limit:")
    limits.set_policy("five", sluice.Limit("window", 5, 3600))
    for users in (limits, limits.within(5)):
        assert all(users.take(user, POLICY) for user in USERS) and users.policies() == ["five"]
    assert limits.take("user:0", POLICY, cost=3, wait=1) and limits.delete_policy("five") and not limits.policies()
    locks = sluice.LockClient(client(), **HOLDING)
    first, taken = locks.acquire("door"), []
    waiting = threading.Thread(target=lambda: taken.append(locks.acquire("door", wait=30)))
    waiting.start()
    waiting.join(0.3)
    assert not taken and first.release()
    waiting.join(10)
    lock, = taken
    lock.on_lost(lambda reason: say("lost", reason.code))
    say("held", lock.token)
    for line in sys.stdin:
        try:
            say("done", lock.renew() if line.strip() == "renew" else lock.fenced(*FENCED))
        except Exception as error:  # pylint: disable=broad-except
            say(*outcome(error))


async def with_tasks():
    limits = sluice.asyncio.LimitClient(client(), prefix="limit:")
    await limits.set_policy("five", sluice.Limit("window", 5, 3600))
    assert all([await limits.take(user, POLICY) for user in USERS]) and await limits.policies() == ["five"]
    assert await limits.take("user:0", POLICY, cost=4, wait=1)
    assert await limits.delete_policy("five") and not await limits.policies()
    locks = sluice.asyncio.LockClient(client(), **HOLDING)
    first = await locks.acquire("door")
    waiting = asyncio.ensure_future(locks.try_acquire("door", wait=30))
    await asyncio.sleep(0.3)
    assert not waiting.done() and await first.release()
    lock = await asyncio.wait_for(waiting, 10)
    lock.on_lost(lambda reason: say("lost", reason.code))
    say("held", lock.token)
    while True:
        line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        try:
            say("done", await (lock.renew() if line.strip() == "renew" else lock.fenced(*FENCED)))
        except Exception as error:  # pylint: disable=broad-except
            say(*outcome(error))


logging.disable(logging.ERROR)  # redis-py's, of each answer that is an error
if KIND.endswith("-asyncio"):
    asyncio.run(with_tasks())
else:
    with_threads()
