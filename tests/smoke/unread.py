#!/usr/bin/python3
"""Clients of the real binary that never read: strangers who do not log in, monitors, subscribers. Resident
memory stays bounded, and others are answered.

  unread.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from smoke import MIB, PATIENCE, Checked, client, run_tests  # noqa: E402

CLIENTS = 6
FLOOD_SECONDS = 3


def flood(connection, data):
    """Sends as much as the server takes now."""
    connection.sock.setblocking(False)
    try:
        for _ in range(100):
            connection.sock.send(data)
    except BlockingIOError:
        pass
    except OSError:
        connection.closed = True


def test_strangers():
    """Before login: errors that are not read are not kept, and a client that cannot log in is closed."""
    with Checked(grow=16 * MIB) as server:
        owner = client(server)
        assert owner.call("CONFIG", "SET", "requirepass", "secret") == ("+", b"OK")
        strangers = [client(server) for _ in range(CLIENTS)]
        before = server.rss_bytes()
        request = wire.encode([b"GET", b"k"]) * 500
        deadline = time.monotonic() + FLOOD_SECONDS
        while time.monotonic() < deadline:
            for stranger in strangers:
                flood(stranger, request)
            assert owner.call("PING") == ("+", b"PONG")
            grown = server.rss_bytes() - before
            assert grown < 16 * MIB, f"{grown} bytes more than before"
        assert all(stranger.closed for stranger in strangers), "strangers who do not read are still there"
        assert owner.call("CONFIG", "SET", "requirepass", "") == ("+", b"OK")


def test_login_timeout():
    """A client that does not log in leaves room for others after login-timeout seconds."""
    with Checked() as server:
        owner = client(server)
        assert owner.call("CONFIG", "SET", "requirepass", "secret", "login-timeout", "1") == ("+", b"OK")
        stranger, known = client(server), client(server)
        assert known.call("AUTH", "secret") == ("+", b"OK")
        stranger.sock.settimeout(PATIENCE)
        assert not stranger.fill() and stranger.closed, "the stranger is still there"
        assert known.call("PING") == ("+", b"PONG")
        assert owner.call("CONFIG", "SET", "requirepass", "") == ("+", b"OK")


def test_listeners():
    """Monitors and subscribers: what waits for all of them together is below their limits."""
    limit = 4 * MIB
    with Checked("--client-output-buffer-limit", f"pubsub {limit} 0 0", grow=(CLIENTS * 4 + 24) * MIB) as server:
        speaker = client(server)
        listeners = [client(server) for _ in range(CLIENTS)]
        for number, listener in enumerate(listeners):
            listener.send(wire.encode([b"MONITOR"] if number % 2 else [b"SUBSCRIBE", b"c"]))
            listener.replies(1)
        before = server.rss_bytes()
        most = 0
        for _ in range(200):
            speaker.call("PUBLISH", "c", b"x" * MIB)
            most = max(most, server.rss_bytes() - before)
        assert most < (CLIENTS * 4 + 24) * MIB, f"{most} bytes more than before"
        assert int(speaker.call("PUBSUB", "NUMSUB", "c")[1][1][1]) == 0


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
