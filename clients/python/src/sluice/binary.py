"""Where the program `sluice` is: the argument, the variable SLUICE_BIN, then PATH."""
from __future__ import annotations

import os
import shutil
from typing import Optional, Union


class BinaryNotFound(FileNotFoundError):
    """There is no program to start. Says where was looked, and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def find(binary: Union[str, "os.PathLike[str]", None] = None) -> str:
    """The path of the program. Raises BinaryNotFound."""
    for source, value in (("the argument", binary), ("SLUICE_BIN", os.environ.get("SLUICE_BIN"))):
        if value:
            found = shutil.which(os.fspath(value))
            if found is None:
                raise BinaryNotFound(f"{source} names {os.fspath(value)!r}, which is no program")
            return found
    on_path: Optional[str] = shutil.which("sluice")
    if on_path is None:
        raise BinaryNotFound("there is no program `sluice` in PATH: build it (tools/run in Sluice's source makes "
                             "build/sluice) and set SLUICE_BIN to its path, or hand the path in as `binary`")
    return on_path
