#!/usr/bin/python3
"""A client that holds a SESSION lock and whose link goes down loses it after lock-session-timeout, although
no packet says that it is gone; also where that is set while it holds the lock. Needs a network namespace, so root; says so and is skipped where there can be
none.   lock_dead_peer.py --server program
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import SLUICE, Server  # noqa: E402

SKIPPED = 77
TIMEOUT_MS = 3000
HERE, THERE = "10.203.71.1", "10.203.71.2"
HOLDER = """
import socket, sys, time
client = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
client.sendall(b"LOCK.ACQUIRE door far SESSION\\r\\n")
assert client.recv(4096)[:1] == b"*"
print("held", flush=True)
time.sleep(600)
"""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    program = parser.parse_args().server
    for is_live in (False, True):
        print(f"ok: {waited(program, is_live):.1f} s")


def waited(program, is_live):
    """Seconds until the next one had the lock."""
    space, near, far = f"sluice{os.getpid()}", f"sl{os.getpid()}a", f"sl{os.getpid()}b"
    try:
        ip("netns", "add", space)
        ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", space)
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL, check=False)
        print(f"skipped: no network namespace can be made here ({error})")
        sys.exit(SKIPPED)
    server = holder = None
    try:
        ip("addr", "add", f"{HERE}/24", "dev", near)
        ip("link", "set", near, "up")
        ip("-n", space, "addr", "add", f"{THERE}/24", "dev", far)
        ip("-n", space, "link", "set", far, "up")
        server = Server(program, ["--bind", f"127.0.0.1 {HERE}", "--protected-mode", "no",
                                  "--lock-session-timeout", 0 if is_live else TIMEOUT_MS], tcp=True)
        holder = subprocess.Popen(["ip", "netns", "exec", space, sys.executable, "-c", HOLDER, HERE,
                                   str(server.port)], stdout=subprocess.PIPE, text=True)
        assert holder.stdout.readline() == "held\n"
        client = wire.Connection(server.connect())
        if is_live:
            assert client.call("CONFIG", "SET", "lock-session-timeout", TIMEOUT_MS) == ("+", b"OK")
        ip("link", "set", near, "down")
        down = time.monotonic()
        grant = client.call("LOCK.ACQUIRE", "door", "next", "SESSION", "WAIT", 10 * TIMEOUT_MS)
        seconds = time.monotonic() - down
        assert grant[0] == "*" and len(grant[1]) == 4, grant
        assert seconds * 1000 > TIMEOUT_MS / 2, seconds
    finally:
        if holder:
            holder.kill()
        if server:
            server.stop()
        subprocess.run(["ip", "link", "del", near], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL, check=False)
    return seconds


if __name__ == "__main__":
    main()
