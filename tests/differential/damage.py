"""Requests that are broken on the wire: hand-picked ones and valid pipelines with a few bytes flipped,
deleted or put in. Each goes over a connection of its own; what comes back must be the same bytes and the
connection must end, or stay open, on both sides."""
import random
import re

import wire

QUIET_SECONDS = 0.3
CONNECTIONS_AT_ONCE = 100

HAND_PICKED = [
    b"\r\n\r\n*1\r\n$4\r\nPING\r\n", b"PING\r\n", b"PING\n", b"ping hello\r\n", b"PING \"a b\"\r\n",
    b"PING \"a\\x41\\n\"\r\n", b"PING 'a b'\r\n", b"PING \"a\r\n", b"PING 'a\r\n", b"PING \"a\"b\r\n",
    b"SET k \"\\xff\\x00\"\r\nGET k\r\n", b"\x00\x01\x02\r\nPING\r\n", b"*0\r\nPING\r\n",
    b"*-1\r\nPING\r\n", b"*-10\r\nPING\r\n", b"*abc\r\nPING\r\n", b"*1048577\r\n", b"*1048576\r\n",
    b"*2147483648\r\n", b"*99999999999999999999\r\n", b"*1\r\n+PING\r\n", b"*1\r\nPING\r\n",
    b"*1\r\n$-1\r\n", b"*1\r\n$abc\r\n", b"*1\r\n$536870913\r\n", b"*1\r\n$99999999999999999999\r\n",
    b"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", b"*1\r\n$4\r\nPING", b"*1\r\n$0\r\n\r\n",
    b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", b"*1\r\n$ 4\r\nPING\r\n", b"* 1\r\n$4\r\nPING\r\n",
    b"*+1\r\n$4\r\nPING\r\n", b"*01\r\n$4\r\nPING\r\n", b"*1\r\n$04\r\nPING\r\n", b"*1\n$4\nPING\n",
    b"*\r\nPING\r\n", b"*1\r\n$\r\n", b"*1\r\n", b"$4\r\nPING\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"host: x\r\n", b"QUIT\r\nPING\r\n", b"QUIT now\r\nPING\r\n",
    b"a" * 70000, b"*1\r\n$" + b"1" * 70000, b"*" + b"1" * 70000, b"PING" + b" " * 66000 + b"\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", b"*1\r\r\n", b"\r", b"\n",
    b"CLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY ON\r\nPING\r\n",
    b"CLIENT REPLY SKIP\r\nPING\r\nECHO a\r\n", b"CLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY SKIP\r\nECHO a\r\n",
    b"CLIENT REPLY\r\nCLIENT REPLY x\r\n", b"MULTI\r\nCLIENT REPLY OFF\r\nPING\r\nEXEC\r\nPING\r\n",
    b"CLIENT KILL TYPE normal SKIPME yes ID 999999\r\n", b"SHUTDOWN NOSAVE SAVE\r\n", b"RESET\r\nPING\r\n",
    b"SET a\x00b 1\r\nGET a\x00b\r\n", b"\tPING\r\n", b" PING \r\n", b"PING\x0b\r\n", b"''\r\n", b"\"\" a\r\n",
    b"nosuch " + b"a" * 200 + b" b c\r\n", b"nosuch\r\n", b"*2\r\n$6\r\nno\r\nsu\r\n$3\r\na\nb\r\n",
    b"config nosuch\r\n", b"CLIENT\r\n", b"get\r\n", b"HELLO\r\n"[:0] + b"HELLO 4\r\n", b"HELLO x\r\n",
    b"HELLO 3 SETNAME\r\n", b"HELLO 3 AUTH a\r\n", b"HELLO 3 nosuch\r\n", b"HELLO 2 SETNAME \"a b\"\r\n",
]

# No time and no order in these: replies are compared as bytes.
BASE = ["SET k v", "GET k", "INCR n", "APPEND k 12345", "MULTI", "EXEC", "PING", "ECHO hello", "DEL k n",
        "SETRANGE k 3 x", "GETRANGE k 0 -1", "EXISTS k k", "MSET a 1 b 2", "MGET a b c", "STRLEN k", "TYPE a"]
IGNORED = re.compile(rb"shutdown|debug|flush|client|config", re.I)


def pipeline(rng):
    lines = [rng.choice(BASE).encode().split() for _ in range(rng.randint(1, 5))]
    return b"".join(wire.encode(args) if rng.random() < 0.85 else b" ".join(args) + b"\r\n"
                    for args in lines)


def damaged(rng):
    data = bytearray(pipeline(rng))
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        roll = rng.randrange(4)
        if roll == 0:
            data[at] = rng.choice(b"\r\n$*-+0123456789 \"'\x00\xffaG")
        elif roll == 1:
            del data[at:at + rng.randint(1, 3)]
        elif roll == 2:
            data[at:at] = bytes(rng.choice(b"\r\n$*-0195 \"'\x00a") for _ in range(rng.randint(1, 3)))
        else:
            data = data[:at + 1]
        if not data:
            return b"\r\n"
    return bytes(data)


def answers(server, requests):
    """What each of the requests is answered, and whether its connection was closed."""
    connections = []
    for data in requests:
        connection = wire.Connection(server.connect())
        connection.send(data)
        connections.append(connection)
        # One after the other: they write to the same keys.
        wire.drain([connection], 0.0)
        probe = wire.Connection(server.connect())
        probe.call("PING")
        probe.close()
    wire.drain(connections, QUIET_SECONDS)
    found = [(connection.data, connection.closed) for connection in connections]
    for connection in connections:
        connection.close()
    return found


def blur(data):
    """Without what differs between any two servers."""
    return re.sub(rb"(\$2\r\nid\r\n:)\d+", rb"\1#", data)


def differences(ours, theirs, known, seed, count):
    """Texts of the differences among `count` damaged requests and the hand-picked ones."""
    rng = random.Random(seed)
    requests = HAND_PICKED + [data for data in (damaged(rng) for _ in range(count))
                              if not IGNORED.search(data)]
    for start in range(0, len(requests), CONNECTIONS_AT_ONCE):
        some = requests[start:start + CONNECTIONS_AT_ONCE]
        for server in (ours, theirs):
            if not server.alive():
                server.restart()
            connection = wire.Connection(server.connect())
            connection.call("AUTH", "secret")
            connection.call("CONFIG", "SET", "requirepass", "")
            connection.call("FLUSHALL")
            connection.close()
        try:
            both = answers(ours, some), answers(theirs, some)
        except OSError as error:
            yield f"--- damaged requests from {start}, --seed {seed}: {error}, alive: {ours.alive()}"
            continue
        for data, mine, other in zip(some, *both):
            if (blur(mine[0]), mine[1]) == (blur(other[0]), other[1]):
                continue
            line = "BYTES " + data[:300].decode("latin-1")
            if not known.find(line, mine[0], other[0]):
                yield (f"--- the bytes {data[:300]!r}\n  ours   {mine[0][:300]!r} closed: {mine[1]}\n"
                       f"  theirs {other[0][:300]!r} closed: {other[1]}")
