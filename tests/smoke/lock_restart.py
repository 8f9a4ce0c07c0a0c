#!/usr/bin/python3
"""Fencing tokens over kill -9 and restart: later ones are above earlier ones, whatever the clock says, and
those of before are stale. A disk that cannot be written, until it can. And names that are held back after a
start that knows no grants, until their owners show themselves or all leases are over.
lock_restart.py --server program
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import SLUICE, Server  # noqa: E402
from smoke import until  # noqa: E402

ROUNDS = 3
LOCKS = 50


def fenced(client, number, token):
    return client.call("FENCED", f"lock:{number}", token, "INCR", "writes")


def take_all(client, last):
    """Takes LOCKS locks and keeps them. Returns their tokens."""
    tokens = []
    for number in range(LOCKS):
        grant = client.call("LOCK.ACQUIRE", f"lock:{number}", "me", "LEASE", "600000")
        assert grant[0] == "*", grant
        tokens.append(int(grant[1][0][1]))
        assert tokens[-1] > last, (tokens[-1], last)
        last = tokens[-1]
        assert fenced(client, number, last) == (":", b"%d" % (number + 1))
    return tokens


def refuse_all(client, tokens):
    for number, token in enumerate(tokens):
        kind, text = fenced(client, number, token)
        assert kind == "-" and text.startswith(b"STALE"), text


def start_without_a_disk(server, mark_file):
    """No command waits for the disk: one without a token is refused, and the next is granted once the server's
    thread has written the mark."""
    server.kill()
    mark_file.unlink()
    mark_file.symlink_to("later/fence.mark")
    server.start()
    client = wire.Connection(server.connect())
    acquire = ("LOCK.ACQUIRE", "lock", "me", "LEASE", "600000")
    for _ in range(3):
        assert client.call(*acquire)[0] == "-"
    assert client.call("SET", "key", "value") == ("+", b"OK")
    mark_file.parent.joinpath("later").mkdir()
    until(lambda: client.call(*acquire)[0] == "*", "a lock is given")
    token = int(client.call(*acquire)[1][0][1])  # the same: the owner has it already
    assert int(mark_file.read_text().split()[0]) > token


def hold_back(program):
    """Without a log no grant is known after a restart, but none is given twice."""
    server = Server(program, ["--lock-restart-grace", "yes", "--lock-restart-grace-max", "3000"])
    try:
        client = wire.Connection(server.connect())
        acquire = ("LOCK.ACQUIRE", "lock", "other", "LEASE", "1000")
        grant = client.call("LOCK.ACQUIRE", "lock", "me", "LEASE", "2000")
        token = int(grant[1][0][1])
        server.kill()
        server.start()
        client = wire.Connection(server.connect())
        kind, text = client.call(*acquire)
        assert kind == "-" and text.startswith(b"LOCKGRACE "), text
        assert client.call("LOCK.RENEW", "lock", "me", "LEASE", "2000", "TOKEN", token) == (":", b"2000")
        assert client.call(*acquire) == ("*-1", None)
        assert client.call("LOCK.RELEASE", "lock", "me") == (":", b"0")
        assert client.call(*acquire)[0] == "*"
        free = client.call("LOCK.ACQUIRE", "free", "other", "LEASE", "1000", "WAIT", "60000")
        assert free[0] == "*", free
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    server = Server(parser.parse_args().server)
    mark_file = pathlib.Path(server.folder, "fence.mark")
    tokens, mark = [], 0
    try:
        for round_number in range(ROUNDS):
            client = wire.Connection(server.connect())
            refuse_all(client, tokens)  # before any client took them again, and after
            before, tokens = tokens, take_all(client, mark)
            refuse_all(client, before)
            client.close()
            server.kill()
            mark = int(mark_file.read_text().split()[0])
            assert mark > tokens[-1], (mark, tokens[-1])
            if round_number == 1:  # as if it were of a time when tokens were microseconds
                mark *= 1000
                mark_file.write_text(f"{mark}\n")
            server.start()
        start_without_a_disk(server, mark_file)
    finally:
        server.stop()
    hold_back(server.program)
    print("ok")


if __name__ == "__main__":
    main()
