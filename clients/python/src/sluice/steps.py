"""What is the same with threads and with tasks, written once: steps. A generator yields what is to be done, is sent what
came of it, or is thrown its error, and returns what all of it gives. `drive` carries steps out by a function,
`drive_async` by a coroutine function."""
from __future__ import annotations

from typing import Any, Awaitable, Callable, Generator, TypeVar

T = TypeVar("T")
Steps = Generator[Any, Any, T]


def drive(steps: Steps[T], act: Callable[[Any], Any]) -> T:
    """What the steps give. act: does one."""
    try:
        step = next(steps)
        while True:
            try:
                result = act(step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as over:
        return over.value  # type: ignore[no-any-return]


async def drive_async(steps: Steps[T], act: Callable[[Any], Awaitable[Any]]) -> T:
    """What the steps give. act: does one; a caller that is cancelled in it cancels the steps."""
    try:
        step = next(steps)
        while True:
            try:
                result = await act(step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as over:
        return over.value  # type: ignore[no-any-return]
