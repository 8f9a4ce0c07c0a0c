"""Keys of decorators: made of the arguments of the call."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Union

Key = Union[str, Callable[..., str]]


def key_maker(key: Key, function: Callable[..., Any]) -> Callable[..., str]:
    """A function of the call's arguments. key: "report:{number}", with the names of the function's parameters, or a
    function of the same arguments."""
    if callable(key):
        return key
    signature, pattern = inspect.signature(function), key

    def made(*args: Any, **kwargs: Any) -> str:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return pattern.format(**bound.arguments)
    return made
