#!/usr/bin/python3
"""redis-py and locks: wait, hand-over, a holder that dies, fencing, and being told.

  locks_redis_py.py port
"""
import pathlib
import socket
import sys
import threading
import time

import redis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402


def take(client, key, owner, *options):
    return client.execute_command("LOCK.ACQUIRE", key, owner, *options)


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.005)


class Waiting(threading.Thread):
    """Takes a lock on a connection of its own, waiting for it."""

    def __init__(self, port, key, owner, *options):
        super().__init__(daemon=True)
        self.client = redis.Redis(port=port, single_connection_client=True)
        self.arguments = (key, owner, *options)
        self.grant = None
        self.start()

    def run(self):
        try:
            self.grant = take(self.client, *self.arguments)
        except redis.RedisError as error:
            self.grant = error


def hand_over(port, one):
    token = take(one, "door", "one", "LEASE", 60000)[0]
    waiting = [Waiting(port, "door", "other", "LEASE", 60000, "WAIT", 60000)]
    wait_for(lambda: len(one.execute_command("LOCK.WAITERS", "door")) == 1)
    waiting.append(Waiting(port, "door", "third", "LEASE", 60000, "WAIT", 60000))
    wait_for(lambda: len(one.execute_command("LOCK.WAITERS", "door")) == 2)
    last = token
    for thread, owner in zip(waiting, ["one", "other"]):
        assert one.execute_command("LOCK.RELEASE", "door", owner) == 0
        thread.join(20)
        assert thread.grant[0] > last and thread.grant[1] == 60000
        last = thread.grant[0]
    try:
        one.execute_command("FENCED", "door", token, "SET", "balance", "0")
        raise AssertionError("an old token passed")
    except redis.ResponseError as error:
        assert str(error).startswith("STALE"), error
    assert one.execute_command("FENCED", "door", last, "SET", "balance", "1") in (b"OK", True)
    assert one.execute_command("LOCK.RELEASE", "door", "third") == 0


def holder_dies(port, one):
    holder = redis.Redis(port=port, single_connection_client=True)
    assert take(holder, "door", "holder", "SESSION")[1] == -1
    waiting = Waiting(port, "door", "next", "LEASE", 60000, "WAIT", 60000)
    wait_for(lambda: len(one.execute_command("LOCK.WAITERS", "door")) == 1)
    holder.connection.disconnect()
    waiting.join(20)
    assert waiting.grant[1] == 60000
    gone = Waiting(port, "door", "gone", "LEASE", 60000, "WAIT", 60000)
    wait_for(lambda: len(one.execute_command("LOCK.WAITERS", "door")) == 1)
    killed = [c["id"] for c in one.client_list() if c["flags"] == "b"]
    assert one.client_kill_filter(_id=killed[0]) == 1
    wait_for(lambda: len(one.execute_command("LOCK.WAITERS", "door")) == 0)
    gone.join(20)
    assert isinstance(gone.grant, redis.ConnectionError)
    assert one.execute_command("LOCK.RELEASE", "door", "next") == 0
    assert not one.exists("door")


def told(port):
    """The push of RESP3, on the bare wire: redis-py 4 speaks RESP2 only."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        connection = wire.Connection(sock)
        assert connection.call("HELLO", "3")[0] == "%"
        kind, fields = connection.call("LOCK.ACQUIRE", "door", "me", "LEASE", "50", "NOTIFY")
        assert kind == "%" and fields[0][1] == b"token", fields
        token = fields[1]
        assert next_value(connection) == (
            ">", [("$", b"lock-lost"), ("$", b"door"), token, ("$", b"expired")])


def next_value(connection):
    """What comes without having been asked for."""
    while True:
        try:
            return wire.read(connection.data)[0]
        except wire.Incomplete:
            assert connection.fill(), "nothing was pushed"


def main():
    port = int(sys.argv[1])
    one = redis.Redis(port=port)
    one.flushall()
    hand_over(port, one)
    holder_dies(port, one)
    told(port)
    print("ok")


if __name__ == "__main__":
    main()
