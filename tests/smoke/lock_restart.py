#!/usr/bin/python3
"""Fencing tokens over kill -9 and restart: later ones are above earlier ones, whatever the clock says, and
those of before are stale.   lock_restart.py --server program
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from server import SLUICE, Server  # noqa: E402

ROUNDS = 3
LOCKS = 50


def ask(connection, *words):
    connection.sendall(b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
    return connection.makefile("rb").readline().strip()


def tokens(connection):
    """Of LOCKS locks, taken and kept."""
    for number in range(LOCKS):
        with connection.makefile("rb") as replies:
            words = ["LOCK.ACQUIRE", f"lock:{number}", "me", "LEASE", "600000"]
            connection.sendall(b"*%d\r\n" % len(words) + b"".join(
                b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
            lines = [replies.readline() for _ in range(5)]
            yield int(lines[1][1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    server = Server(parser.parse_args().server)
    last = 0
    try:
        for _ in range(ROUNDS):
            with server.connect() as connection:
                if last:
                    stale = ask(connection, "FENCED", "lock:0", str(last), "SET", "x", "1")
                    assert stale.startswith(b"-STALE"), stale
                for token in tokens(connection):
                    assert token > last, (token, last)
                    last = token
            server.kill()
            mark = int(pathlib.Path(server.folder, "fence.mark").read_text())
            assert mark > last, (mark, last)
            server.start()
    finally:
        server.stop()
    print("ok")


if __name__ == "__main__":
    main()
