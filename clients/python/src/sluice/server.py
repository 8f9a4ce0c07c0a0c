"""The binary as a process of the test's own, and the private servers inside it."""
from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
import threading
import weakref
from types import TracebackType
from typing import List, Mapping, NamedTuple, Optional, Type, Union

from .binary import find, foreign
from .double import Double
from .wire import fields, text

START_SECONDS = 30.0
END_SECONDS = 10.0


class ServerError(RuntimeError):
    """The server did not start, or has ended; the message holds its log."""


class SpaceInfo(NamedTuple):
    """A line of Server.spaces()."""
    name: str
    keys: int
    clients: int
    port: int


class Space(Double):
    """A private server inside a Server: data, clock, faults, journal, scripts and options of its own. As a context
    manager it is deleted at the end."""

    def __init__(self, server: "Server", name: str) -> None:
        super().__init__(server.host, server.port, name, server.timeout)
        self.server, self.name = server, name

    def copy_from(self, source: "Union[Space, str]") -> "Space":
        """Everything of `source` in place of all that is here: for fixtures that are made once."""
        self.server.execute("SLUICE.SPACE", "COPY", source.name if isinstance(source, Space) else source, self.name)
        return self

    def listen(self) -> int:
        """A port of its own, for code under test that knows of no user names."""
        return int(self.server.execute("SLUICE.SPACE", "LISTEN", self.name))

    def delete(self) -> None:
        """It is gone, and its clients are closed."""
        self._connection.close()
        self.server.execute("SLUICE.SPACE", "DEL", self.name)

    def __enter__(self) -> "Space":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.delete()

    def __repr__(self) -> str:
        return f"Space({self.name!r}, {self.url!r})"


class Server(Double):
    """A test double as a process: on a free port of 127.0.0.1, gone with this object, and with this process however it
    ends. It is itself the space `default`.

    binary: the program; without it SLUICE_BIN, then `sluice` in PATH. options: as on the command line,
    {"maxmemory": "10mb"}. seed: makes what is random the same in each run. timeout: seconds that a command of this
    object may take."""

    def __init__(self, binary: Union[str, "os.PathLike[str]", None] = None, *,
                 options: Optional[Mapping[str, object]] = None, seed: Optional[int] = None,
                 timeout: float = 60.0) -> None:
        self.timeout = timeout
        program = find(binary)
        self._folder = tempfile.mkdtemp(prefix="sluice-")
        try:
            self._process = self._start(program, options or {}, seed)
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise ServerError(f"sluice could not be started: {error}\n{foreign(program)}") from error
        self._end = weakref.finalize(self, _end, self._process, os.getpid(), self._folder)
        try:
            port = self._ready()
        except BaseException:
            self._end()
            raise
        self._numbers = itertools.count(1)
        super().__init__("127.0.0.1", port, None, timeout)

    def _start(self, program: str, options: Mapping[str, object], seed: Optional[int]) -> "subprocess.Popen[bytes]":
        words = [program, "--test-double", "yes", "--port", "any", "--ready-line", "yes",
                 "--exit-with-parent", "yes", "--dir", self._folder, "--save", ""]
        if seed is not None:
            words += ["--seed", str(seed)]
        for name, value in options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        with open(self._log_path(), "wb") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)

    def _log_path(self) -> str:
        return os.path.join(self._folder, "log")

    def _ready(self) -> int:
        """The port, from the one line of its standard output, which comes when clients are served."""
        assert self._process.stdout is not None
        patience = threading.Timer(START_SECONDS, self._process.kill)
        patience.start()
        try:
            line = self._process.stdout.readline().decode()
        finally:
            patience.cancel()
        if not line.startswith("ready on "):
            _ended(self._process)
            raise ServerError(f"sluice did not start (exit status {self._process.returncode}):\n{self.log()}")
        return int(line.rsplit(":", 1)[1])

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def log(self) -> str:
        """What the server has logged so far; nothing once it is closed."""
        try:
            with open(self._log_path(), "rb") as file:
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def space(self, name: Optional[str] = None) -> Space:
        """The private server of this name, which is made on first use; without a name a new one."""
        return Space(self, f"space-{next(self._numbers)}" if name is None else name)

    def spaces(self) -> List[SpaceInfo]:
        """All spaces that there are, `default` included."""
        rows = [fields(row) for row in self.execute("SLUICE.SPACE", "LIST")]
        return [SpaceInfo(text(row["name"]), row["keys"], row["clients"], row["port"]) for row in rows]

    def close(self) -> None:
        """Ends the process; closing twice is fine."""
        self._connection.close()
        self._end()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.url!r}, pid={self.pid})"


def _ended(process: "subprocess.Popen[bytes]") -> None:
    """It has its time to end, and no longer."""
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end(process: "subprocess.Popen[bytes]", owner: int, folder: str) -> None:
    """Ends the process. A fork of the one that started it leaves it alone."""
    if os.getpid() != owner:
        return
    process.terminate()
    _ended(process)
    if process.stdout is not None:
        process.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)
