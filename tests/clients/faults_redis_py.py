#!/usr/bin/python3
"""redis-py against a test double: what each fault looks like to it.   faults_redis_py.py port"""
import sys
import threading

import redis

# What the errors say; redis-py takes the codes of some off.
STATES = {
    "LOADING": "loading the dataset",
    "READONLY": "read only replica",
    "OOM": "maxmemory",
    "MISCONF": "RDB snapshots",
    "BUSY": "busy running a script",
    "NOREPLICAS": "good replicas",
    "MASTERDOWN": "Link with MASTER",
}


def raised(call, kind):
    try:
        answer = call()
    except kind as error:
        return str(error)
    raise AssertionError(f"{answer!r} instead of {kind.__name__}")


class Tester:
    """The connection that sets the rules: one and the same, for a pool has several."""

    def __init__(self, port):
        self.client = redis.Redis(port=port, single_connection_client=True)

    def fault(self, *words):
        return self.client.execute_command("SLUICE.FAULT", "ADD", *words)

    def clear(self):
        return self.client.execute_command("SLUICE.FAULT", "CLEAR")

    def hits(self):
        return [rule[3] for rule in self.client.execute_command("SLUICE.FAULT", "LIST")]

    def clock(self, *words):
        return self.client.execute_command("SLUICE.CLOCK", *words)


def states(tester, client):
    for state, phrase in STATES.items():
        tester.fault("COMMAND", "SET", "STATE", state, "TIMES", 1)
        assert phrase in raised(lambda: client.set("key", "value"), redis.RedisError), state
        tester.clear()
    assert client.get("key") is None
    tester.fault("ERROR", "WRONGTYPE not this one")
    assert "not this one" in raised(lambda: client.get("key"), redis.exceptions.ResponseError)
    tester.clear()


def redirections(tester, client):
    tester.fault("MOVED", "10.0.0.7:6380")
    assert "12739 10.0.0.7:6380" in raised(lambda: client.get("123456789"),
                                           redis.exceptions.ResponseError)
    tester.clear()
    tester.fault("ASK", "10.0.0.7:6380")
    assert "12739 10.0.0.7:6380" in raised(lambda: client.get("123456789"),
                                           redis.exceptions.ResponseError)
    tester.clear()


def connections(tester, port):
    """Closed, cut and dropped answers: without retries the caller sees them. incr() is INCRBY."""
    once = {"port": port, "retry_on_timeout": False, "retry": None}
    closing = redis.Redis(**once)
    assert closing.ping()
    tester.fault("COMMAND", "INCRBY", "AFTER", "CLOSE", "TIMES", 1)
    raised(lambda: closing.incr("counter"), redis.exceptions.ConnectionError)
    assert closing.get("counter") == b"1"

    with closing.pipeline() as pipe:
        tester.fault("COMMAND", "EXEC", "AFTER", "CLOSE", "TIMES", 1)
        raised(lambda: pipe.incr("counter").execute(), redis.exceptions.ConnectionError)
    assert closing.get("counter") == b"2"

    tester.fault("COMMAND", "GET", "TRUNCATE", 3, "TIMES", 1)
    raised(lambda: closing.get("counter"), redis.exceptions.ConnectionError)
    tester.clear()

    waiting = redis.Redis(port=port, socket_timeout=0.1, retry=None)
    tester.fault("COMMAND", "INCRBY", "AFTER", "DROP", "TIMES", 1)
    raised(lambda: waiting.incr("counter"), redis.exceptions.TimeoutError)
    assert closing.get("counter") == b"3"
    tester.fault("COMMAND", "INCRBY", "HANG", "TIMES", 1)
    raised(lambda: waiting.incr("counter"), redis.exceptions.TimeoutError)
    assert tester.hits()[-1] == 1
    tester.clear()

    tester.fault("COMMAND", "SET", "FAILOVER", "TIMES", 1)
    raised(lambda: closing.set("key", "value"), redis.exceptions.ConnectionError)
    assert closing.get("key") is None
    tester.clear()


def delays(tester, client):
    """A delay lasts as long as the test says."""
    tester.clock("FREEZE")
    tester.fault("COMMAND", "GET", "DELAY", 60000)
    answers = []
    caller = threading.Thread(target=lambda: answers.append(client.get("counter")))
    caller.start()
    while tester.hits() == [0]:
        pass
    assert not answers
    tester.clock("ADVANCE", 60000)
    caller.join()
    assert answers == [b"3"]
    tester.clear()
    tester.fault("COMMAND", "GET", "DELAY", 1, "REAL")
    assert client.get("counter") == b"3"
    tester.clear()
    tester.clock("RUN")


def splits(tester, client):
    client.rpush("list", *range(100))
    tester.fault("COMMAND", "LRANGE", "SPLIT")
    assert client.lrange("list", 0, -1) == [b"%d" % number for number in range(100)]
    tester.clear()


def journal(tester, client):
    def ask(*words):
        return tester.client.execute_command("SLUICE.JOURNAL", *words)
    ask("START")
    client.set("lock", "me", nx=True, px=1000)
    client.delete("lock")
    assert ask("EXPECT", "ORDERED", 2, "SET lock * PX * NX", "DEL lock") in (b"OK", "OK")
    assert "no request matched" in raised(lambda: ask("EXPECT", 1, "DEL other"),
                                          redis.exceptions.ResponseError)
    assert b"> SET lock me PX 1000 NX" in ask("EXPORT")
    ask("STOP")


def main():
    port = int(sys.argv[1])
    tester = Tester(port)
    client = redis.Redis(port=port)
    states(tester, client)
    redirections(tester, client)
    connections(tester, port)
    delays(tester, redis.Redis(port=port))
    splits(tester, redis.Redis(port=port))
    journal(tester, redis.Redis(port=port))
    print("ok")


if __name__ == "__main__":
    main()
