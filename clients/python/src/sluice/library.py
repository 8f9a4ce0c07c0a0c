"""The C API of libsluice.so (sluice/sluice_c.h), as ctypes sees it: the argument, the variable SLUICE_LIBRARY, then
where the loader looks."""
from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, List, Sequence, Tuple

FAULT_BYTES = 1024
SONAME = "libsluice.so.0"
OK, NO_MEMORY = 0, -4
NULL, STRING, INTEGER, DOUBLE, ARRAY, MAP, SET, PUSH, ERROR = range(9)

Words = POINTER(c_char_p)
Sizes = POINTER(c_size_t)


class LibraryNotFound(OSError):
    """libsluice.so cannot be loaded. Says where was looked, and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


class CVerdict(Structure):
    """struct sluice_verdict."""
    _fields_ = [("allowed", c_int), ("limit", c_int64), ("remaining", c_int64), ("retry_after_ms", c_int64),
                ("reset_after_ms", c_int64), ("reset_at_ms", c_int64)]


# name, what it returns, what it takes; c_void_p is a handle.
FUNCTIONS: "Tuple[Tuple[str, Any, List[Any]], ...]" = (
    ("sluice_version", c_char_p, []),
    ("sluice_open", c_void_p, [Words, Words, c_size_t, c_char_p, c_size_t]),
    ("sluice_close", c_int, [c_void_p, c_char_p, c_size_t]),
    ("sluice_run", c_void_p, [c_void_p, c_size_t, Words, Sizes]),
    ("sluice_start", c_void_p, [c_void_p, c_size_t, Words, Sizes]),
    ("sluice_ticket_ready", c_int, [c_void_p]),
    ("sluice_ticket_take", c_void_p, [c_void_p]),
    ("sluice_ticket_free", None, [c_void_p]),
    ("sluice_next_push", c_void_p, [c_void_p]),
    ("sluice_connect", c_void_p, [c_void_p]),
    ("sluice_client_run", c_void_p, [c_void_p, c_size_t, Words, Sizes]),
    ("sluice_client_start", c_void_p, [c_void_p, c_size_t, Words, Sizes]),
    ("sluice_client_next_push", c_void_p, [c_void_p]),
    ("sluice_client_free", None, [c_void_p]),
    ("sluice_reply_kind", c_int, [c_void_p]),
    ("sluice_reply_text", c_void_p, [c_void_p, Sizes]),
    ("sluice_reply_integer", c_int64, [c_void_p]),
    ("sluice_reply_double", c_double, [c_void_p]),
    ("sluice_reply_size", c_size_t, [c_void_p]),
    ("sluice_reply_element", c_void_p, [c_void_p, c_size_t]),
    ("sluice_reply_free", None, [c_void_p]),
    ("sluice_now", c_int64, [c_void_p]),
    ("sluice_next_deadline", c_int64, [c_void_p]),
    ("sluice_run_until", c_int, [c_void_p, c_int64]),
    ("sluice_step_wall", c_int, [c_void_p, c_int64]),
    ("sluice_take", c_int, [c_void_p, c_char_p, c_size_t, c_char_p, c_int64, c_int64, c_int64, c_int64,
                            POINTER(CVerdict), c_char_p, c_size_t]),
)


@functools.lru_cache(maxsize=None)
def load(path: str) -> ctypes.CDLL:
    """The library of that path, its functions declared."""
    library = ctypes.CDLL(path)
    for name, result, arguments in FUNCTIONS:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def find(path: "str | os.PathLike[str] | None" = None) -> ctypes.CDLL:
    """The library. Raises LibraryNotFound."""
    named = os.fspath(path) if path else os.environ.get("SLUICE_LIBRARY")
    try:
        return load(named or SONAME)
    except (OSError, AttributeError) as error:
        if named:
            raise LibraryNotFound(f"{'the argument' if path else 'SLUICE_LIBRARY'} names {named!r}, which cannot be "
                                  f"used: {error}") from None
        raise LibraryNotFound(f"there is no {SONAME} where the loader looks: install Sluice (cmake --install), or set "
                              "SLUICE_LIBRARY to the path of libsluice.so") from None


def arrays(words: Sequence[bytes]) -> "Tuple[int, Any, Any]":
    """count, words and sizes as the functions take them. Words may hold nul bytes."""
    count = len(words)
    return count, (c_char_p * count)(*words), (c_size_t * count)(*map(len, words))
