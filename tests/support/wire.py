"""RESP2 and RESP3 for tests: requests as bytes, where a reply ends, and replies as Python values that keep
their types apart: (kind, value) pairs, kind being the type's byte."""
import select
import time


def encode(args):
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        parts.append(b"$%d\r\n%s\r\n" % (len(arg), arg))
    return b"".join(parts)


def quote(arg):
    """One argument as redis-cli would take it."""
    if arg and all(33 <= byte < 127 and byte not in b"\"'\\" for byte in arg):
        return arg.decode()
    text = "".join(chr(byte) if 32 <= byte < 127 and byte not in b"\"\\" else f"\\x{byte:02x}"
                   for byte in arg)
    return f'"{text}"'


def line(args):
    return " ".join(quote(arg) for arg in args)


class Incomplete(Exception):
    pass


def read(data, at=0):
    """Returns ((kind, value), end). Raises Incomplete, or ValueError when it is not RESP."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, body, at = data[at:at + 1], data[at + 1:end], end + 2
    if kind in b"+-:_,#(" and kind:
        return (kind.decode(), bytes(body)), at
    if kind in (b"$", b"=", b"!"):
        length = int(body)
        if length < 0:
            return ("$-1", None), at
        if at + length + 2 > len(data):
            raise Incomplete
        return (kind.decode(), bytes(data[at:at + length])), at + length + 2
    if kind in (b"*", b"~", b">", b"%", b"|"):
        count = int(body)
        if count < 0:
            return ("*-1", None), at
        elements = []
        for _ in range(count * 2 if kind in b"%|" else count):
            element, at = read(data, at)
            elements.append(element)
        if kind == b"|":  # belongs to the value behind it
            element, at = read(data, at)
            elements.append(element)
        return (kind.decode(), elements), at
    raise ValueError(f"not RESP: {data[at - len(body) - 3:at][:80]!r}")


def reply(raw):
    """The reply in what Connection.replies gave, without the pushes before it."""
    at = 0
    while True:
        value, at = read(raw, at)
        if value[0] != ">":
            return value


class Connection:
    """A client that knows how many replies it waits for. A push comes with the reply behind it."""

    def __init__(self, sock):
        self.sock = sock
        self.data = b""
        self.closed = False

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            self.closed = True

    def replies(self, count, timeout=20):
        """The raw bytes of up to `count` replies; fewer when the connection is closed or silent."""
        found, at, behind = [], 0, 0
        self.sock.settimeout(timeout)
        while len(found) < count:
            try:
                (kind, _), behind = read(self.data, max(at, behind))
                if kind != ">":
                    found.append(self.data[at:behind])
                    at = behind
            except Incomplete:
                if not self.fill():
                    break
        self.data = self.data[at:]
        return found

    def fill(self):
        try:
            more = self.sock.recv(1 << 18)
        except TimeoutError:
            return False
        except OSError:
            more = b""
        if not more:
            self.closed = True
            return False
        self.data += more
        return True

    def call(self, *args, timeout=20):
        """One command given as str or bytes; its parsed reply, or None."""
        words = [arg if isinstance(arg, bytes) else str(arg).encode() for arg in args]
        self.send(encode(words))
        raw = self.replies(1, timeout)
        return reply(raw[0]) if raw else None

    def close(self):
        self.sock.close()


def drain(connections, quiet_seconds, total_seconds=20):
    """Reads from all until each is closed or none has said anything for a while."""
    poller = select.poll()
    by_descriptor = {connection.sock.fileno(): connection for connection in connections}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + total_seconds
    while by_descriptor and time.monotonic() < deadline:
        ready = poller.poll(quiet_seconds * 1000)
        if not ready:
            return
        for descriptor, _ in ready:
            connection = by_descriptor[descriptor]
            connection.fill()
            if connection.closed:
                poller.unregister(descriptor)
                del by_descriptor[descriptor]
