"""The cases that all clients share (clients/cases.json), over redis-py, sync and asyncio."""
import pytest
import redis.asyncio

import made_up
import sluice
import sluice.asyncio
from player import CASES, Loop, Player

STEPS = [pytest.param(case, id=case["name"]) for case in CASES["locks"] + CASES["limits"]]


@pytest.mark.parametrize("case", STEPS)
def test_sync(sluice_space, case):
    client = sluice_space.redis()
    limits = sluice.LimitClient(client, prefix=case.get("prefix", ""))
    Player(sluice_space, sluice.LockClient(client), limits).play(case["steps"])


@pytest.mark.parametrize("case", STEPS)
def test_asyncio(sluice_space, case):
    with Loop() as loop:
        async def made():
            client = redis.asyncio.Redis(**sluice_space.connection_kwargs)
            return client, sluice.asyncio.LockClient(client), sluice.asyncio.LimitClient(client, prefix=case.get("prefix", ""))
        client, locks, limits = loop.run(made())

        def run(value):
            return loop.run(value) if hasattr(value, "__await__") else value
        Player(sluice_space, locks, limits, run).play(case["steps"])
        loop.run(client.close())


ANSWERS = [pytest.param(case, id=case["name"]) for case in CASES["answers"]]


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_sync(case):
    with made_up.Server(case["answers"]) as server:
        client = redis.Redis(port=server.port)
        Player(None, sluice.LockClient(client), sluice.LimitClient(client)).play(case["steps"])


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_asyncio(case):
    with made_up.Server(case["answers"]) as server, Loop() as loop:
        async def made():
            client = redis.asyncio.Redis(port=server.port)
            return client, sluice.asyncio.LockClient(client), sluice.asyncio.LimitClient(client)
        client, locks, limits = loop.run(made())

        def run(value):
            return loop.run(value) if hasattr(value, "__await__") else value
        Player(None, locks, limits, run).play(case["steps"])
        loop.run(client.close())


def test_every_word_is_played():
    """A word that no case calls is one that clients may differ in."""
    def called(steps):
        for step in steps:
            yield step.get("call")
            yield from called(step.get("do", ()))
    calls = {call for case in CASES["locks"] + CASES["limits"] for call in called(case["steps"])}
    assert calls >= {"acquire", "try_acquire", "release", "renew", "fenced", "held", "assert_held", "lost", "take",
                     "take_all", "refund", "info", "set_policy", "get_policy", "delete_policy", "policies"}
