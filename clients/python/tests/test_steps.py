"""Steps, carried out by a function and by a coroutine function."""
import asyncio

import pytest

from sluice.steps import drive, drive_async


def adding(count):
    total = 0
    for number in range(count):
        try:
            total += yield number
        except ZeroDivisionError:
            total += 1000
    return total


def by_tasks(steps, act):
    async def acting(step):
        await asyncio.sleep(0)
        return act(step)
    return asyncio.run(drive_async(steps, acting))


@pytest.mark.parametrize("carry_out", [drive, by_tasks])
def test_results_and_errors_go_back_into_the_steps(carry_out):
    assert carry_out(adding(0), None) == 0
    assert carry_out(adding(4), lambda number: 10 * number) == 60
    assert carry_out(adding(3), lambda number: 10 // number) == 1000 + 10 + 5
    with pytest.raises(TypeError):
        carry_out(adding(2), lambda number: number + "")


def test_a_caller_that_is_cancelled_cancels_the_steps():
    seen = []

    def steps():
        try:
            yield
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main():
        task = asyncio.ensure_future(drive_async(steps(), lambda _: asyncio.sleep(3600)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    asyncio.run(main())
    assert seen == ["cancelled"]
