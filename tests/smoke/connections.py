#!/usr/bin/python3
"""Connections of the real binary: where it listens, whom it lets in and how many, and how it ends. Each
test asserts that others are still answered and that memory stays bounded.

  connections.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import os
import pathlib
import resource
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import Server, free_port  # noqa: E402
from smoke import MIB, PATIENCE, Checked, Chosen, Skip, answer, client, run_tests, until  # noqa: E402


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


def test_out_of_descriptors():
    """accept() fails: connected clients are served, and new ones when a client has left."""
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


def test_newcomers_are_listed():
    """A client that has connected, without a word yet, is in a list that is asked for later."""
    with Checked() as server:
        other = client(server)
        crowd = []
        for expected in range(2, 200):
            crowd.append(client(server))
            assert len(other.call("CLIENT", "LIST")[1].splitlines()) == expected


def test_maxclients():
    """One too many is told so; a place that is freed can be taken."""
    with Checked("--maxclients", 5) as server:
        crowd = [client(server)]
        until(lambda: len(crowd[0].call("CLIENT", "LIST")[1].splitlines()) == 1, "it is alone")
        crowd += [client(server) for _ in range(4)]
        for connection in crowd:
            assert connection.call("PING") == ("+", b"PONG")
        assert answer(client(server), b"") == b"-ERR max number of clients reached\r\n"
        crowd.pop().close()

        def admitted():
            newcomer = client(server)
            got = newcomer.call("PING")
            newcomer.close()
            return got == ("+", b"PONG")
        until(admitted, "the free place is taken")
        until(lambda: len(crowd[0].call("CLIENT", "LIST")[1].splitlines()) == 4, "it is free again")


def test_maxclients_per_ip():
    """One too many of an address is told so, on the TLS port too; other addresses and the Unix socket are
    not counted with it, and a place that is freed can be taken."""
    def from_address(server, address):
        return wire.Connection(socket.create_connection(("127.0.0.1", server.port), PATIENCE, (address, 0)))

    with Checked("--maxclients-per-ip", 3, "--protected-mode", "no", tcp=True) as server:
        control = client(server)
        crowd = [client(server, tcp=True) for _ in range(3)]
        for connection in crowd:
            assert connection.call("PING") == ("+", b"PONG")
        refusal = b"-ERR max number of clients of one address reached (maxclients-per-ip)\r\n"
        assert answer(client(server, tcp=True), b"") == refusal
        assert from_address(server, "127.0.0.2").call("PING") == ("+", b"PONG")
        assert b"rejected_connections:1\r" in control.call("INFO", "stats")[1]
        crowd.pop().close()

        def admitted():
            newcomer = client(server, tcp=True)
            got = newcomer.call("PING")
            newcomer.close()
            return got == ("+", b"PONG")
        until(admitted, "the free place is taken")
        assert control.call("CONFIG", "SET", "maxclients-per-ip", 0) == ("+", b"OK")
        crowd += [client(server, tcp=True) for _ in range(5)]
        assert all(connection.call("PING") == ("+", b"PONG") for connection in crowd)


def test_senders_starve_nobody():
    """Clients who send long requests without a pause: all of them get on, and another is answered."""
    enough = threading.Event()
    sent = [0] * 16

    def send(index):
        with server.connect_tcp() as sock, contextlib.suppress(OSError):
            while not enough.is_set():
                sock.sendall(b"*3\r\n$3\r\nSET\r\n$4\r\nlong\r\n$%d\r\n" % (16 * MIB))
                for _ in range(16):
                    sock.sendall(bytes(MIB))
                    sent[index] += 1
                sock.sendall(b"\r\n")

    with Checked(grow=600 * MIB, tcp=True) as server:
        other = client(server)
        threads = [threading.Thread(target=send, args=(i,), daemon=True) for i in range(len(sent))]
        for thread in threads:
            thread.start()
        until(lambda: min(sent) > 0, "all are sending")
        for _ in range(100):
            assert other.call("PING", timeout=PATIENCE) == ("+", b"PONG")
            time.sleep(0.005)
        enough.set()
        for thread in threads:
            thread.join()


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
        assert answer(stranger, b"").startswith(b"-DENIED ")
        client(server).call("CONFIG", "SET", "protected-mode", "no")
        assert wire.Connection(server.connect_tcp(host=address)).call("PING") == ("+", b"PONG")


def test_keepalive_follows_its_option():
    """tcp-keepalive of connections that are there. /proc/net/tcp says which timer a socket has."""
    def timer(server, connection):
        port = connection.sock.getsockname()[1]
        with open("/proc/net/tcp", encoding="ascii") as table:
            for row in map(str.split, table):
                if row[1].endswith(f":{server.port:04X}") and row[2].endswith(f":{port:04X}"):
                    return row[5].split(":")[0]
        return None

    with Checked("--tcp-keepalive", 0, tcp=True) as server:
        there, control = client(server, tcp=True), client(server)
        assert there.call("PING") == ("+", b"PONG")
        until(lambda: timer(server, there) == "00", "no timer runs")
        assert control.call("CONFIG", "SET", "tcp-keepalive", 100) == ("+", b"OK")
        until(lambda: timer(server, there) == "02", "the keepalive timer runs")
        assert control.call("CONFIG", "SET", "tcp-keepalive", 0) == ("+", b"OK")
        until(lambda: timer(server, there) == "00", "it runs no more")


def test_idle_timeout():
    """`timeout` closes the client that says nothing, and no other."""
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
        server = Server(Chosen.program)
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
    server = Server(Chosen.program)
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
            second = Server(Chosen.program, ["--port", server.port])
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


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
