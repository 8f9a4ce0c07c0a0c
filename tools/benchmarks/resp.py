"""A small RESP2 client: enough to fill a server, ask it things and time its answers."""
import socket

BATCH = 1000  # commands sent ahead of their replies


class ReplyError(Exception):
    """The server answered with an error."""


def encode(arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        data = str(argument).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.replies = self.socket.makefile("rb")

    def call(self, *arguments):
        self.socket.sendall(encode(arguments))
        return self._read()

    def read(self):
        """The next reply, of something that was sent before."""
        return self._read()

    def pipeline(self, commands):
        """Runs encoded commands in batches; the first error reply is raised."""
        batch = []
        for command in commands:
            batch.append(command)
            if len(batch) == BATCH:
                self._run(batch)
                batch.clear()
        self._run(batch)

    def info(self, section):
        """The fields of one INFO section; empty when the server has no such section."""
        lines = self.call("INFO", section).decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def close(self):
        self.replies.close()
        self.socket.close()

    def send(self, commands):
        """Encoded commands, without waiting for their replies."""
        self.socket.sendall(b"".join(commands))

    def receive(self, count):
        """So many replies; the first error is raised."""
        for _ in range(count):
            self._read()

    def _run(self, batch):
        self.send(batch)
        self.receive(len(batch))

    def _read(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ReplyError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self._read() for _ in range(int(rest))]
        return rest
