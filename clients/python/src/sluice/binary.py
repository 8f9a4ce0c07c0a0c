"""Where the program `sluice` is: the argument, the variable SLUICE_BIN, the wheel that carries it, then PATH."""
from __future__ import annotations

import os
import platform
import shutil
import sys
from typing import Optional, Union


MACHINES = {62: "x86_64", 183: "aarch64"}  # of an ELF file


class BinaryNotFound(FileNotFoundError):
    """There is no program to start. Says where was looked, and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def foreign(program: str) -> str:
    """Why a program that did not start cannot: it is for another processor. Empty where that is not why."""
    try:
        with open(program, "rb") as file:
            head = file.read(20)
    except OSError:  # it is gone
        return ""
    machine = MACHINES.get(int.from_bytes(head[18:], "little"), "another processor")
    if not head.startswith(b"\x7fELF") or machine == platform.machine():
        return ""
    return f"{program!r} is a program for {machine}, and this machine is {platform.machine()}\n"


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
