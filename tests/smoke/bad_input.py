#!/usr/bin/python3
"""Bad input against the real binary: each test sends something nasty and asserts that another client is
still answered and that memory stays bounded.

  bad_input.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import select
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from smoke import MIB, PATIENCE, Checked, answer, client, run_tests, until  # noqa: E402


def test_garbage():
    """Bytes of every kind: an error or a closed connection for this client alone."""
    with Checked() as server:
        other = client(server)
        for seed in range(60):
            connection = client(server)
            connection.send(bytes((seed * 7 + at * at * 31) % 256 for at in range(3000)))
            wire.drain([connection], 0)
            connection.close()
            assert other.call("PING") == ("+", b"PONG")


def test_lengths_out_of_range():
    """Huge and negative counts and lengths: a sentence, then the end; the announced memory is not taken."""
    cases = {b"*1048577\r\n": b"-ERR Protocol error: invalid multibulk length\r\n",
             b"*99999999999999999999\r\n": b"-ERR Protocol error: invalid multibulk length\r\n",
             b"*1\r\n$536870913\r\n": b"-ERR Protocol error: invalid bulk length\r\n",
             b"*1\r\n$-1\r\n": b"-ERR Protocol error: invalid bulk length\r\n",
             b"*1\r\n$99999999999999999999\r\n": b"-ERR Protocol error: invalid bulk length\r\n",
             b"*1\r\nPING\r\n": b"-ERR Protocol error: expected '$', got 'P'\r\n",
             b"x" * 70000: b"-ERR Protocol error: too big inline request\r\n",
             b"*" + b"1" * 70000: b"-ERR Protocol error: too big mbulk count string\r\n",
             b"*1\r\n$" + b"1" * 70000: b"-ERR Protocol error: too big bulk count string\r\n"}
    with Checked() as server:
        for data, sentence in cases.items():
            connection = client(server)
            got = answer(connection, data)
            assert got == sentence and connection.closed, (data[:40], got)
        connection = client(server)
        connection.send(b"*-5\r\n*0\r\n" + wire.encode([b"PING"]))
        assert connection.replies(1) == [b"+PONG\r\n"]


def test_announced_but_not_sent():
    """Hundreds of requests that announce 500 MB each and then stop."""
    with Checked(grow=64 * MIB) as server:
        waiting = [client(server) for _ in range(300)]
        for connection in waiting:
            connection.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\nabc")
        assert client(server).call("PING") == ("+", b"PONG")
        assert server.rss_bytes() < 200 * MIB, server.rss_bytes()
        waiting_arrays = [client(server) for _ in range(300)]
        for connection in waiting_arrays:
            connection.send(b"*1048576\r\n$1\r\na\r\n")
        assert client(server).call("PING") == ("+", b"PONG")
        assert server.rss_bytes() < 200 * MIB, server.rss_bytes()


def test_cut_anywhere():
    """A pipeline cut between any two bytes gives the same replies."""
    data = (wire.encode([b"SET", b"k\r\n", b"v"]) + b"PING 'a b'\r\n" + wire.encode([b"MULTI"])
            + wire.encode([b"GET", b"k\r\n"]) + wire.encode([b"EXEC"]) + b"ECHO \"\\x41\"\n")
    whole = b"+OK\r\n$3\r\na b\r\n+OK\r\n+QUEUED\r\n*1\r\n$1\r\nv\r\n$1\r\nA\r\n"
    with Checked() as server:
        probe = client(server)
        for at in range(1, len(data)):
            connection = client(server)
            connection.send(data[:at])
            probe.call("PING")  # the first part has been read when this is answered
            connection.send(data[at:])
            assert b"".join(connection.replies(6)) == whole, at
            connection.close()
        connection = client(server)
        for byte in data:
            connection.send(bytes([byte]))
        assert b"".join(connection.replies(6)) == whole


def test_half_requests_then_gone():
    """Clients that leave in the middle of a request or of a reply."""
    with Checked(grow=160 * MIB) as server:
        other = client(server)
        other.call("SET", "big", b"x" * MIB)
        for _ in range(200):
            connection = client(server)
            connection.send(wire.encode([b"GET", b"big"]) * 3 + b"*2\r\n$4\r\nEC")
            connection.close()
        assert other.call("PING") == ("+", b"PONG")
        until(lambda: len(other.call("CLIENT", "LIST")[1].splitlines()) == 1, "the clients are gone")


def test_half_closed():
    """A client that will send no more still gets all it has asked for, in many turns if need be."""
    with Checked() as server:
        connection = client(server)
        connection.send(b"DEBUG SLEEP 0.0001\r\n" * 800 + b"SET a 1\r\n")
        connection.sock.shutdown(socket.SHUT_WR)
        assert answer(connection, b"") == b"+OK\r\n" * 801
        assert client(server).call("GET", "a") == ("$", b"1")


def test_end_of_stream_with_the_last_data():
    """A request and the end of its stream that the server meets together: answered, and closed."""
    with Checked() as server:
        sleeper, gone = client(server), client(server)
        assert gone.call("PING") == ("+", b"PONG")
        sleeper.send(b"DEBUG SLEEP 0.2\r\n")
        gone.send(b"PING\r\n")
        gone.sock.shutdown(socket.SHUT_WR)
        assert answer(gone, b"") == b"+PONG\r\n"
        assert sleeper.replies(1) == [b"+OK\r\n"]


def test_slow_requests_wait_in_the_kernel():
    """A pipeline that runs more slowly than it comes is read no faster than it runs."""
    with Checked() as server:
        sender, other = client(server), client(server)
        sender.sock.setblocking(False)
        request, sent = b"DEBUG SLEEP 0.0001\r\n" * 500, 0
        for _ in range(50):
            try:
                sent += sender.sock.send(request)
            except BlockingIOError:
                pass
            line = other.call("CLIENT", "LIST", "ID", 2)[1].decode()
            waiting = [int(word[5:]) for word in line.split() if word.startswith("qbuf=")]
            assert waiting and waiting[0] <= 64 << 10, (sent, line)
        sender.close()


def test_newcomers_during_a_slow_script():
    """Clients that come while a script runs for ever are told so, however many they are, and can end it."""
    with Checked("--busy-reply-threshold", 20) as server:
        caller = client(server)
        caller.send(wire.encode([b"EVAL", b"while true do end", b"0"]))
        time.sleep(0.1)
        crowd = [client(server) for _ in range(40)]
        for connection in crowd * 3:
            connection.send(b"GET a\r\n")
        for connection in crowd * 3:
            assert connection.replies(1)[0].startswith(b"-BUSY")
        assert crowd[0].call("SCRIPT", "KILL") == ("+", b"OK")
        assert caller.replies(1)[0].startswith(b"-")


def test_reader_that_never_reads():
    """Replies pile up for one client: the output limit closes it and the memory comes back."""
    with Checked("--client-output-buffer-limit", "normal 32mb 8mb 1", grow=96 * MIB) as server:
        other = client(server)
        other.call("SET", "big", b"x" * MIB)
        greedy = client(server)
        greedy.sock.setblocking(False)
        request = wire.encode([b"GET", b"big"]) * 10
        deadline = time.monotonic() + PATIENCE
        while len(other.call("CLIENT", "LIST")[1].splitlines()) > 1:
            assert time.monotonic() < deadline, "the greedy client is still there"
            try:
                greedy.sock.send(request)
            except BlockingIOError:
                pass
            except OSError:
                break
            assert server.rss_bytes() < 300 * MIB, server.rss_bytes()
        until(lambda: len(other.call("CLIENT", "LIST")[1].splitlines()) == 1, "it was closed")


def test_default_output_limit_is_finite():
    with Checked() as server:
        value = client(server).call("CONFIG", "GET", "client-output-buffer-limit")[1][1][1]
        assert b"normal 0 0 0" not in value, value


def test_query_buffer_limit():
    """One request above client-query-buffer-limit ends the connection, not the server."""
    with Checked("--client-query-buffer-limit", "1mb", grow=96 * MIB) as server:
        connection = client(server)
        answer(connection, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000000\r\n" + b"x" * (8 * MIB))
        assert client(server).call("EXISTS", "k") == (":", b"0")


def test_before_login():
    """Without a password at most 10 arguments of 16 KiB are read."""
    with Checked("--requirepass", "secret") as server:
        connection = client(server)
        assert answer(connection, b"*11\r\n") == \
            b"-ERR Protocol error: unauthenticated multibulk length\r\n"
        connection = client(server)
        assert answer(connection, b"*1\r\n$16385\r\n") == \
            b"-ERR Protocol error: unauthenticated bulk length\r\n"
        connection = client(server)
        assert connection.call("GET", "k") == ("-", b"NOAUTH Authentication required.")
        assert connection.call("AUTH", "wrong")[0] == "-"
        assert connection.call("AUTH", "secret") == ("+", b"OK")
        assert connection.call("MSET", *range(40)) == ("+", b"OK")
        connection.call("CONFIG", "SET", "requirepass", "")  # for the last look at the server


def test_big_pipeline():
    """200,000 requests sent before the first reply is read, and other clients are served meanwhile."""
    with Checked(grow=192 * MIB) as server:
        sender, other = client(server), client(server)
        sender.sock.setblocking(False)
        request, left, got = wire.encode([b"INCR", b"n"]) * 1000, 200, 0
        pending = b""
        while left or pending or got < 200_000:
            if not pending and left:
                pending, left = request, left - 1
            readable, writable, _ = select.select([sender.sock], [sender.sock] if pending else [], [],
                                                  PATIENCE)
            assert readable or writable, "nothing moves"
            if writable:
                pending = pending[sender.sock.send(pending):]
            if readable:
                got += sender.sock.recv(1 << 20).count(b"\n")
            if left % 50 == 0:
                assert other.call("PING") == ("+", b"PONG")
        assert other.call("GET", "n") == ("$", b"200000")


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
