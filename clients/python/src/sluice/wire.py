"""The protocol (RESP2) as far as a test's own commands need it, so that this package depends on no client. The code
under test uses a real one."""
from __future__ import annotations

import os
import socket
import threading
from typing import Any, List, Optional, Tuple, Union

Word = Union[str, bytes, int, float]
Name = Union[str, bytes]  # of a key or an owner: any bytes
Reply = Any  # None, int, str (a status), bytes, ReplyError inside a list, or a list of these


class ReplyError(Exception):
    """The server answered with an error; `code` is its first word."""

    @property
    def code(self) -> str:
        return str(self).split(" ", 1)[0]


class ConnectionLost(ConnectionError):
    """The server has closed the connection, or does not answer in time."""


def encode(words: Tuple[Word, ...]) -> bytes:
    """A request."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Connection:
    """One connection, opened with the first command, and again in a process that was forked. `space` is the private
    server that it speaks to. Threads may share it: commands go one after the other."""

    def __init__(self, host: str, port: int, space: Optional[str] = None, timeout: float = 60.0) -> None:
        self._address, self._space, self._timeout = (host, port), space, timeout
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self._process = 0
        self._data = b""

    def execute(self, *words: Word) -> Reply:
        """The reply to one command. Raises ReplyError, or ConnectionLost."""
        with self._lock:
            reply = self._ask(words)
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def close(self) -> None:
        """Closes it; the next command opens it again."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._data = None, b""

    def _ask(self, words: Tuple[Word, ...]) -> Reply:
        try:
            self._open()
            return self._exchange(words)
        except OSError as error:
            self.close()
            if isinstance(error, ConnectionLost):
                raise
            host, port = self._address
            raise ConnectionLost(f"{words[0]!s}: {error} (the server at {host}:{port})") from error

    def _open(self) -> None:
        """What was opened before a fork is the parent's."""
        if self._socket is not None and self._process == os.getpid():
            return
        self.close()
        self._process = os.getpid()
        self._socket = socket.create_connection(self._address, self._timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._space is not None:
            reply = self._exchange(("SLUICE.SPACE", self._space))
            if isinstance(reply, ReplyError):
                self.close()
                raise reply

    def _exchange(self, words: Tuple[Word, ...]) -> Reply:
        assert self._socket is not None
        self._socket.sendall(encode(words))
        return self._reply()

    def _reply(self) -> Reply:
        line = self._line()
        kind, body = line[:1], line[1:]
        if kind == b"+":
            return body.decode()
        if kind == b"-":
            return ReplyError(body.decode(errors="replace"))
        if kind == b":":
            return int(body)
        if kind == b"$":
            return None if body == b"-1" else self._bytes(int(body))
        if kind == b"*":
            return None if body == b"-1" else [self._reply() for _ in range(int(body))]
        raise ConnectionLost(f"what answers does not speak RESP: {line[:80]!r}")

    def _line(self) -> bytes:
        while b"\r\n" not in self._data:
            self._fill()
        line, self._data = self._data.split(b"\r\n", 1)
        return line

    def _bytes(self, length: int) -> bytes:
        while len(self._data) < length + 2:
            self._fill()
        data, self._data = self._data[:length], self._data[length + 2:]
        return data

    def _fill(self) -> None:
        assert self._socket is not None
        more = self._socket.recv(1 << 16)
        if not more:
            raise ConnectionLost("the server has closed the connection")
        self._data += more


def text(value: Reply) -> str:
    """A bulk string or status as text."""
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else str(value)


def fields(values: List[Reply]) -> "dict[str, Reply]":
    """name, value, name, value ... as a dictionary."""
    return {text(name): value for name, value in zip(values[::2], values[1::2])}
