#!/usr/bin/python3
"""redis-py: locks, throttles, pipelines, scans, and a connection that is lost.   redis_py.py port"""
import sys
import threading
import time

import redis


def lock(one, other):
    assert one.set("lock", "me", nx=True, px=60000) is True
    assert other.set("lock", "you", nx=True, px=60000) is None
    assert release(one, "me") and not one.exists("lock")

    one.set("lock", "me", px=60000)
    with one.pipeline() as pipe:
        pipe.watch("lock")
        assert pipe.get("lock") == b"me"
        other.set("lock", "you")
        pipe.multi()
        pipe.delete("lock")
        try:
            pipe.execute()
            raise AssertionError("another's lock was released")
        except redis.WatchError:
            pass
    assert not release(one, "me")

    assert one.set("lease", "me", px=30)
    deadline = time.monotonic() + 10
    while not other.set("lease", "you", nx=True):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def release(client, owner):
    def body(pipe):
        held = pipe.get("lock") == owner.encode()
        pipe.multi()
        if held:
            pipe.delete("lock")
    return client.transaction(body, "lock") == [1]


def throttle(client):
    for count in range(1, 4):
        answer = client.pipeline().incr("hits").pexpire("hits", 60000).execute()
        assert answer == [count, True], answer
    assert 0 < client.pttl("hits") <= 60000
    if client.get("window") is None:
        client.incr("window")
        client.pexpire("window", 60000)
    assert client.get("window") == b"1"


def limits(client, other):
    """The limiters: how a web application would ask."""
    fields = ["allowed", "limit", "remaining", "retry_ms", "reset_ms", "reset_at_ms"]

    def take(*words, asked=client):
        answer = asked.execute_command("LIMIT.TAKE", *words)
        if not isinstance(answer, dict):  # RESP2
            return dict(zip(fields, answer))
        return {name.decode() if isinstance(name, bytes) else name: value
                for name, value in answer.items()}

    first = take("user:17", "WINDOW", 2, 60000)
    assert list(first) == fields and (first["allowed"], first["remaining"]) == (1, 1), first
    assert take("user:17", "WINDOW", 2, 60000)["reset_at_ms"] == first["reset_at_ms"]
    refused = take("user:17", "WINDOW", 2, 60000)
    assert refused["allowed"] == 0 and 0 < refused["retry_ms"] <= 60000, refused
    assert client.execute_command("LIMIT.REFUND", "user:17", 1) == 1
    try:
        take("user:17", "GCRA", 2, 60000)
        raise AssertionError("no error")
    except redis.ResponseError as error:
        assert str(error) == "limiter is WINDOW, not GCRA", error

    shaped = [take("shaped", "GCRA", 50, 1000)]
    for asked in (client, other) * 5:  # each waits until the 20 ms of the one before are over
        shaped.append(take("shaped", "GCRA", 50, 1000, "WAIT", 10000, asked=asked))
        assert shaped[-1]["allowed"] == 1, shaped
        assert shaped[-1]["reset_at_ms"] - shaped[-2]["reset_at_ms"] >= 20, shaped

    pipe = client.pipeline()
    for _ in range(3):
        pipe.execute_command("LBUCKET.COUNT", "bucket", 45)
    pipe.execute_command("LBUCKET.GET", "bucket")
    assert pipe.execute()[-1] in (b"3", "3")
    assert client.execute_command("CL.THROTTLE", "cell", 15, 30, 60) == [0, 16, 15, -1, 2]


def pipeline_and_scan(client):
    with client.pipeline(transaction=False) as pipe:
        for number in range(3000):
            pipe.set(f"key:{number}", number, ex=1000)
        assert all(pipe.execute())
    assert set(client.scan_iter("key:*", count=100)) == {b"key:%d" % n for n in range(3000)}
    assert client.mget(["key:1", "nosuch", "key:2"]) == [b"1", None, b"2"]
    assert client.type("key:1") == b"string" and client.object("encoding", "key:1") == b"int"
    assert client.getex("key:1", persist=True) == b"1" and client.ttl("key:1") == -1


def introspection(client):
    info = client.info()
    assert info["redis_version"].startswith("7.") and info["loading"] == 0
    assert info["db0"]["keys"] == client.dbsize()
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert client.client_setname("me") and client.client_getname() in (b"me", "me")
    assert any(row["name"] == "me" for row in client.client_list())
    if "sluice_version" in info:  # Redis has it since 7.2
        assert client.execute_command("CLIENT SETINFO", "LIB-NAME", "redis-py") in (b"OK", True)
    assert client.time()[0] > 1_600_000_000
    assert client.command_count() > 50


def errors(client):
    client.set("text", "abc")
    try:
        client.incr("text")
        raise AssertionError("no error")
    except redis.ResponseError as error:
        assert str(error) == "value is not an integer or out of range", error
    pipe = client.pipeline().set("text", "1").incr("text").get("text")
    assert pipe.execute() == [True, 2, b"2"]


def messages(port, other):
    """Channels, patterns, and an expiry that is heard of on time."""
    client = redis.Redis(port=port)
    client.flushall()  # the limiters of before end when they like: only one key is to expire here
    listener = client.pubsub()
    listener.subscribe("news")
    listener.psubscribe("n*")
    kinds = [listener.get_message(timeout=10)["type"] for _ in range(2)]
    assert kinds == ["subscribe", "psubscribe"], kinds
    assert other.publish("news", "hello") == 2
    heard = [listener.get_message(timeout=10) for _ in range(2)]
    assert [(one["type"], one["data"]) for one in heard] == [("message", b"hello"), ("pmessage", b"hello")]
    assert other.pubsub_channels() == [b"news"] and other.pubsub_numpat() == 1
    assert other.pubsub_numsub("news") == [(b"news", 1)]
    listener.punsubscribe()
    listener.unsubscribe()
    while listener.subscribed:
        listener.get_message(timeout=10)

    other.config_set("notify-keyspace-events", "Ex")
    listener.subscribe("__keyevent@0__:expired")
    assert listener.get_message(timeout=10)["type"] == "subscribe"
    other.set("soon", 1, px=50)
    assert listener.get_message(timeout=10)["data"] == b"soon"
    other.config_set("notify-keyspace-events", "")
    listener.close()


def lock_class(port, one, other):
    """redis.lock.Lock, as other libraries use it: SET NX PX, and scripts that compare the token."""
    mine, theirs = one.lock("door", timeout=60), other.lock("door", timeout=60, blocking=False)
    assert mine.acquire() and mine.owned() and mine.locked()
    assert not theirs.acquire() and not theirs.owned()
    assert 0 < one.pttl("door") <= 60000
    assert mine.extend(60) and one.pttl("door") > 60000
    assert mine.extend(30, replace_ttl=True) and one.pttl("door") <= 30000
    assert mine.reacquire() and one.pttl("door") > 30000
    for refused in (theirs.release, lambda: theirs.extend(10), theirs.reacquire):
        assert raises(redis.exceptions.LockError, refused)
    mine.release()
    assert not one.exists("door") and theirs.acquire()
    theirs.release()

    # Another's token under the same name: what is no longer mine stays as it is.
    mine.acquire()
    one.set("door", "stolen")
    for refused in (mine.release, lambda: mine.extend(10), mine.reacquire):
        mine.local.token = b"mine"  # release() forgets it, whatever comes of it
        assert raises(redis.exceptions.LockNotOwnedError, refused)
    assert one.get("door") == b"stolen"
    one.delete("door")

    # Waiting: for one that expires, and in vain.
    one.set("door", "somebody", px=50)
    with one.lock("door", timeout=60, sleep=0.005, blocking_timeout=20):
        assert raises(redis.exceptions.LockError, lambda: other.lock(
            "door", sleep=0.005, blocking_timeout=0.02).__enter__())
    assert not one.exists("door")

    # Eight threads, each adds to a number that only the lock guards.
    shared = redis.Redis(port=port)
    shared.set("sum", 0)

    def add():
        for _ in range(10):
            with shared.lock("door", timeout=60, sleep=0.002):
                shared.set("sum", int(shared.get("sum")) + 1)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.get("sum") == b"80"


def raises(kind, call):
    try:
        call()
        return False
    except kind:
        return True


def slow_commands(one):
    """What monitoring reads: SLOWLOG, LATENCY and MEMORY through the client's parsers."""
    one.config_set("slowlog-log-slower-than", 0)
    one.slowlog_reset()
    one.set("seen", "x")
    slow = one.slowlog_get(1)[0]
    assert slow["command"] == b"SET seen x" and slow["duration"] >= 0, slow
    assert abs(slow["start_time"] - time.time()) < 60 and one.slowlog_len() == 3
    one.config_set("slowlog-log-slower-than", 10000)
    assert one.memory_usage("seen") > 0 and one.memory_usage("nosuch") is None
    stats = one.memory_stats()
    assert stats["keys.count"] > 0 and stats["dataset.bytes"] > 0
    assert one.memory_purge() is True
    assert one.execute_command("LATENCY", "LATEST") == []
    assert b"set" in one.execute_command("LATENCY", "HISTOGRAM", "set")


def watching(port, other):
    with redis.Redis(port=port).monitor() as monitor:
        other.set("seen", "x")
        seen = monitor.next_command()
        assert seen["command"] == "SET seen x" and seen["db"] == 0, seen


def reconnect(port, other):
    """A killed connection is made again, with its name, and the command is sent once more."""
    client = redis.Redis(port=port, retry_on_error=[redis.ConnectionError], client_name="victim")
    assert client.ping()
    victims = [row["id"] for row in other.client_list() if row["name"] == "victim"]
    assert other.client_kill_filter(_id=victims[0]) == 1
    assert client.ping() and client.client_getname() in (b"victim", "victim")


def main():
    port = int(sys.argv[1])
    one, other = (redis.Redis(port=port, single_connection_client=True) for _ in range(2))
    one.flushall()
    lock(one, other)
    throttle(one)
    if "sluice_version" in one.info():
        limits(one, other)
    pipeline_and_scan(one)
    introspection(one)
    errors(one)
    messages(port, other)
    lock_class(port, one, other)
    slow_commands(one)
    watching(port, other)
    reconnect(port, other)
    print("ok")


main()
