"""Where the program `sluice` is: the argument, the variable SLUICE_BIN, the wheel that carries it, then PATH."""
from __future__ import annotations

import os
import platform
import shutil
import sys
from typing import Optional, Union


class BinaryNotFound(FileNotFoundError):
    """There is no program to start. Says where was looked, and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def packaged() -> Optional[str]:
    """Of the wheel `sluice-server`; None where it is not installed. Raises BinaryNotFound when it has lost its right to
    be run."""
    try:
        import sluice_server
    except ModuleNotFoundError:
        return None
    program = str(sluice_server.program())
    if shutil.which(program) is None:
        raise BinaryNotFound(f"{program!r} of sluice-server is not executable: install it again")
    return program


def find(binary: Union[str, "os.PathLike[str]", None] = None) -> str:
    """The path of the program. Raises BinaryNotFound."""
    for source, value in (("the argument", binary), ("SLUICE_BIN", os.environ.get("SLUICE_BIN"))):
        if value:
            found = shutil.which(os.fspath(value))
            if found is None:
                raise BinaryNotFound(f"{source} names {os.fspath(value)!r}, which is no program")
            return found
    there = packaged() or shutil.which("sluice")
    if there is None:
        raise BinaryNotFound(f"there is no program `sluice` in PATH, nor in a wheel `sluice-server` of {sys.platform} on "
                             f"{platform.machine()} (there are those of Linux on x86_64 and aarch64): build it (tools/run "
                             "in Sluice's source makes build/sluice) and set SLUICE_BIN to its path, or hand the path in "
                             "as `binary`")
    return there
