#!/usr/bin/python3
"""Bad input and bad luck, against the real binary: each test does something nasty and asserts that another
client is still answered and that memory stays bounded.

  bad_input.py [--server program] [name ...]     names: those of the functions test_*
"""
import argparse
import os
import pathlib
import resource
import select
import signal
import socket
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import SLUICE, Server, free_port  # noqa: E402

MIB = 1 << 20
PATIENCE = 30  # seconds for what takes milliseconds on an idle machine
PROGRAM = SLUICE


class Skip(Exception):
    pass


def client(server, tcp=False):
    return wire.Connection(server.connect_tcp() if tcp else server.connect())


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.01)


def answer(connection, data):
    """Sends bytes; everything that comes until the connection is closed."""
    if data:
        connection.send(data)
    connection.sock.settimeout(PATIENCE)
    while connection.fill():
        pass
    assert connection.closed, "the server has not closed the connection"
    return connection.data


class Checked:
    """A server that must still answer, within a bound of memory, when the test is over."""

    def __init__(self, *options, grow=64 * MIB, tcp=False):
        self.options, self.grow, self.tcp = options, grow, tcp

    def __enter__(self):
        self.server = Server(PROGRAM, self.options, tcp=self.tcp)
        self.rss = self.server.rss_bytes()
        return self.server

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                assert self.server.alive(), f"the server died:\n{self.server.output()}"
                assert client(self.server).call("PING") == ("+", b"PONG")
                until(lambda: self.server.rss_bytes() - self.rss < self.grow,
                      f"grew by less than {self.grow}")
        finally:
            self.server.stop()


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


def test_ten_thousand_idle():
    """10,000 connections that each sent one PING."""
    count = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 200
    if hard < wanted:
        raise Skip(f"only {hard} descriptors are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    with Checked("--maxclients", count + 100, grow=256 * MIB) as server:
        idle = []
        for _ in range(count):
            connection = client(server)
            connection.send(b"PING\r\n")
            idle.append(connection)
        for connection in idle:
            assert connection.replies(1) == [b"+PONG\r\n"]
        other = client(server)
        assert other.call("SET", "k", "v") == ("+", b"OK")
        assert server.rss_bytes() < 256 * MIB, server.rss_bytes()
        for connection in idle:
            connection.close()
        assert other.call("GET", "k") == ("$", b"v")


def test_half_closed():
    """Who says that it will send no more still gets all it has asked for, in many turns if need be."""
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
    """Who comes while a script runs for ever is told so, however many they are, and can end it."""
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


def test_out_of_descriptors():
    """accept() fails: those who are in are served, and newcomers when somebody has left."""
    with Checked(tcp=True) as server:
        other = client(server)
        used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 20, used + 20))
        crowd = [client(server, tcp=True) for _ in range(60)]
        for connection in crowd:
            connection.send(b"PING\r\n")
        assert other.call("PING") == ("+", b"PONG")
        spent = cpu_seconds(server)
        time.sleep(0.5)
        assert cpu_seconds(server) - spent < 0.3, "it spins while it has no descriptors"
        assert other.call("PING") == ("+", b"PONG")
        for connection in crowd[:55]:
            connection.close()
        newcomer = client(server, tcp=True)
        assert newcomer.call("PING", timeout=PATIENCE) == ("+", b"PONG")


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_query_buffer_limit():
    """One request above client-query-buffer-limit ends the connection, not the server."""
    with Checked("--client-query-buffer-limit", "1mb", grow=96 * MIB) as server:
        connection = client(server)
        connection.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000000\r\n" + b"x" * (8 * MIB))
        connection.sock.settimeout(PATIENCE)
        while connection.fill():
            pass
        assert connection.closed
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


def test_maxclients():
    """One too many is told so; a place that is freed can be taken."""
    with Checked("--maxclients", 5) as server:
        crowd = [client(server)]
        until(lambda: len(crowd[0].call("CLIENT", "LIST")[1].splitlines()) == 1, "it is alone")
        crowd += [client(server) for _ in range(4)]
        for connection in crowd:
            assert connection.call("PING") == ("+", b"PONG")
        extra = client(server)
        extra.sock.settimeout(PATIENCE)
        while extra.fill():
            pass
        assert extra.data == b"-ERR max number of clients reached\r\n", extra.data
        crowd.pop().close()

        def admitted():
            newcomer = client(server)
            got = newcomer.call("PING")
            newcomer.close()
            return got == ("+", b"PONG")
        until(admitted, "the free place is taken")
        until(lambda: len(crowd[0].call("CLIENT", "LIST")[1].splitlines()) == 4, "it is free again")


def foreign_address():
    """An address of this machine that is not the loopback's, or a skip."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            address = probe.getsockname()[0]
        except OSError:
            address = "127.0.0.1"
    if address.startswith("127."):
        raise Skip("this machine has no address but the loopback's")
    return address


def test_protected_mode():
    """Open to the network without a password: strangers are told why they are refused."""
    address = foreign_address()
    with Checked("--bind", "*", tcp=True) as server:
        stranger = wire.Connection(server.connect_tcp(host=address))
        stranger.sock.settimeout(PATIENCE)
        while stranger.fill():
            pass
        assert stranger.data.startswith(b"-DENIED "), stranger.data
        client(server).call("CONFIG", "SET", "protected-mode", "no")
        assert wire.Connection(server.connect_tcp(host=address)).call("PING") == ("+", b"PONG")


def test_idle_timeout():
    """`timeout` closes who says nothing, and nobody else."""
    with Checked("--timeout", 1) as server:
        idle, busy = client(server), client(server)
        idle.call("PING")
        idle.sock.settimeout(0.05)
        deadline = time.monotonic() + PATIENCE
        while not idle.closed:
            assert busy.call("PING") == ("+", b"PONG")
            assert time.monotonic() < deadline, "the idle client is still there"
            idle.fill()


def test_signals():
    """SIGTERM and SIGINT: a clean end, exit status 0, the socket file gone."""
    for number in (signal.SIGTERM, signal.SIGINT):
        server = Server(PROGRAM)
        try:
            connection = client(server)
            assert connection.call("SET", "k", "v") == ("+", b"OK")
            server.process.send_signal(number)
            assert server.process.wait(PATIENCE) == 0, server.output()
            assert not os.path.exists(server.socket_path)
            assert not connection.fill() and connection.closed
        finally:
            server.stop()


def test_shutdown_command():
    server = Server(PROGRAM)
    try:
        connection = client(server)
        connection.send(wire.encode([b"SHUTDOWN", b"NOSAVE"]))
        assert server.process.wait(PATIENCE) == 0, server.output()
    finally:
        server.stop()


def test_addresses():
    """TCP on 127.0.0.1, IPv6 where there is one, and a Unix socket with its permissions."""
    with Checked("--bind", "127.0.0.1", "-::1", "--unixsocketperm", "700", tcp=True) as server:
        assert client(server, tcp=True).call("PING") == ("+", b"PONG")
        assert os.stat(server.socket_path).st_mode & 0o777 == 0o700
        if has_ipv6():
            connection = wire.Connection(server.connect_tcp(host="::1"))
            assert connection.call("PING") == ("+", b"PONG")
            assert b"addr=[::1]:" in connection.call("CLIENT", "INFO")[1]


def test_names_mean_ipv4():
    with Checked("--bind", "localhost", tcp=True) as server:
        assert client(server, tcp=True).call("PING") == ("+", b"PONG")


def test_maxclients_beyond_the_system():
    """More clients than there can be descriptors are refused, live as at the start."""
    with Checked() as server:
        connection = client(server)
        with open(f"/proc/{server.process.pid}/limits") as limits:
            hard = int(next(row for row in limits if "open files" in row).split()[4])
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (10064, min(hard, 20000)))
        before = connection.call("CONFIG", "GET", "maxclients")
        assert connection.call("CONFIG", "SET", "maxclients", 15000) == ("+", b"OK")
        kind, text = connection.call("CONFIG", "SET", "maxclients", 4_000_000_000)
        assert kind == "-" and b"operating system is not able" in text, text
        assert connection.call("CONFIG", "GET", "maxclients")[1][1] == ("$", b"15000"), before


def has_ipv6():
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
            return True
        except OSError:
            return False


def test_port_in_use():
    """A second server on the same port ends with a sentence, and the first one stays."""
    with Checked(tcp=True) as server:
        try:
            second = Server(PROGRAM, ["--port", server.port])
            second.stop()
            raise AssertionError("it started")
        except RuntimeError as error:
            assert "in use" in str(error), error


def test_port_moves():
    """CONFIG SET port listens anew; a port or an address that is not to be had leaves all as it was."""
    with Checked(tcp=True) as server, Checked(tcp=True) as other:
        admin = client(server)
        for option, value in (("port", other.port), ("bind", "192.0.2.1")):
            refused = admin.call("CONFIG", "SET", option, str(value))
            assert refused[0] == "-" and option.encode() in refused[1], refused
            assert client(server, tcp=True).call("PING") == ("+", b"PONG")
        server.port = free_port()
        assert admin.call("CONFIG", "SET", "port", str(server.port)) == ("+", b"OK")
        assert client(server, tcp=True).call("PING") == ("+", b"PONG")


def test_big_pipeline():
    """200,000 requests sent before the first reply is read, and everybody else is served meanwhile."""
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


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def main():
    global PROGRAM
    options = parse_options()
    PROGRAM = options.server
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (options.names and name not in options.names):
            continue
        started = time.monotonic()
        try:
            test()
            outcome = "ok"
        except Skip as reason:
            outcome = f"skipped: {reason}"
        except Exception:  # a test's failure is reported and the next one runs
            traceback.print_exc()
            outcome, failed = "FAILED", failed + 1
        print(f"{name}: {outcome} ({time.monotonic() - started:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
