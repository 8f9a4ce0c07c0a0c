"""Database: commands inside this process, by libsluice.so. Skipped where there is none."""
import datetime
import gc
import subprocess
import sys
import threading
import weakref

import pytest

import sluice
from sluice import library


def loaded():
    try:
        library.find()
    except sluice.LibraryNotFound:
        return False
    return True


needs_library = pytest.mark.skipif(not loaded(), reason="there is no libsluice.so; SLUICE_LIBRARY names one")


@pytest.fixture
def db():
    with sluice.Database(time="manual", unix_time=1_800_000_000) as database:
        yield database


@needs_library
def test_replies(db):
    assert db.execute("SET", "k", b"\0\r\n\xff") == b"OK"
    assert db.execute("GET", "k") == b"\0\r\n\xff"
    assert db.execute("GET", "nothing") is None
    assert db.execute("INCRBY", "n", 2**62) == 2**62
    db.execute("HSET", "h", "a", 1, "b", 2)
    assert db.execute("HGETALL", "h") == {b"a": b"1", b"b": b"2"}
    db.execute("SADD", "s", "x", "y")
    assert db.execute("SMEMBERS", "s") in ({b"x", b"y"}, [b"x", b"y"], [b"y", b"x"])
    db.execute("ZADD", "z", 1.5, "x")
    assert db.execute("ZSCORE", "z", "x") == 1.5
    assert db.execute("EVAL", "return {1, {2, 'x'}, false}", 0) == [1, [2, b"x"], None]
    with pytest.raises(sluice.ReplyError, match="WRONGTYPE") as caught:
        db.execute("LPUSH", "k", 1)
    assert caught.value.code == "WRONGTYPE"
    with pytest.raises(sluice.ReplyError, match="unknown command"):
        db.execute("NO.SUCH")
    assert db.execute("SET", "é", "ü") == b"OK" and db.execute("GET", "é".encode()) == "ü".encode()


@needs_library
def test_transactions_and_large_values(db):
    db.execute("MULTI")
    db.execute("INCR", "a")
    db.execute("INCR", "a")
    assert db.execute("EXEC") == [1, 2]
    large = bytes(range(256)) * (1 << 14)
    db.execute("SET", "large", large)
    assert db.execute("GET", "large") == large


@needs_library
def test_manual_clock(db):
    assert db.clock.now() == 1_800_000_000
    db.execute("SET", "k", "v", "EX", 10)
    db.clock.advance(9.999)
    assert db.execute("GET", "k") == b"v"
    db.clock.advance(ms=1)
    assert db.execute("GET", "k") is None
    db.execute("SET", "k", "v", "EX", 10)
    db.clock.set(datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc))
    assert db.clock.now() == 1_893_456_000
    assert db.execute("TTL", "k") == 10


@needs_library
def test_system_clock():
    with sluice.Database() as db:
        assert abs(db.clock.now() - datetime.datetime.now().timestamp()) < 60
        db.poll()
        with pytest.raises(sluice.DatabaseError, match="manual"):
            db.clock.advance(1)


@needs_library
def test_event_loop(db):
    """Who polls when next_deadline() says so misses no moment."""
    waiting = db.connect().start("BLPOP", "k", 2.5)
    until = db.clock.now() + 2.5
    while not waiting.ready():
        span = db.next_deadline()
        assert span is not None and db.clock.now() + span <= until
        db.clock.advance(span)
    assert db.clock.now() == until and waiting.result() is None


@needs_library
def test_limits(db):
    verdict = db.take("user:17", "rolling", 100, 60, cost=60)
    assert verdict and (verdict.limit, verdict.remaining) == (100, 40)
    refused = db.take("user:17", "rolling", 100, 60, cost=60)
    assert not refused and refused.retry_after == 12.0
    assert db.take("user:17", "rolling", 100, 60, cost=101).retry_after is None
    db.execute("SET", "string", "v")
    with pytest.raises(sluice.ReplyError, match="WRONGTYPE"):
        db.take("string", "window", 1, 1)
    with pytest.raises(sluice.ReplyError):
        db.take("k", "random", 1, 1)


@needs_library
def test_locks(db):
    with db.acquire("door", lease=30) as lock:
        assert db.execute("FENCED", "door", lock.token, "SET", "result", "done") == b"OK"
        with pytest.raises(sluice.LockNotGranted):
            db.acquire("door")
        assert lock.renew(60)
        db.clock.advance(60)
        assert not lock.renew(60)
    with db.acquire("door") as after:
        assert after.token > lock.token
    assert db.execute("EXISTS", "door") == 0


@needs_library
def test_waiting(db):
    one, two = db.connect(), db.connect()
    one.execute("LOCK.ACQUIRE", "door", "one", "LEASE", 30_000)
    ticket = two.start("LOCK.ACQUIRE", "door", "two", "LEASE", 30_000, "WAIT", 60_000)
    assert not ticket.ready()
    with pytest.raises(LookupError):
        ticket.result()
    db.clock.advance(30)
    assert ticket.ready() and ticket.result()[b"waited_ms"] == 30_000
    assert ticket.result()[b"waited_ms"] == 30_000
    forgotten = one.start("BLPOP", "list", 0)
    del forgotten
    gc.collect()
    three = db.connect()
    cancelled = three.start("BLPOP", "list", 0)
    cancelled.cancel()
    assert not cancelled.ready()
    assert db.execute("RPUSH", "list", "x") == 1
    assert db.start("BLPOP", "list", 0).result() == [b"list", b"x"]


@needs_library
def test_what_is_forgotten_ends_at_once(db):
    """Without the collector, which comes whenever it likes; and what waits keeps its client."""
    gc.disable()
    try:
        client = db.connect()
        client.execute("LOCK.ACQUIRE", "leader", "me", "SESSION")
        assert db.execute("EXISTS", "leader") == 1
        del client
        assert db.execute("EXISTS", "leader") == 0
        waiting = db.connect().start("BLPOP", "k", 2.5)
        gc.collect()
        assert not waiting.ready()
        db.execute("RPUSH", "k", "v")
        assert waiting.result() == [b"k", b"v"]
        forgotten = weakref.ref(sluice.Database())
        assert forgotten() is None
    finally:
        gc.enable()


@needs_library
def test_messages(db):
    reader = db.connect()
    reader.execute("SUBSCRIBE", "news")
    while reader.next_push():
        pass
    db.execute("PUBLISH", "news", "hello")
    assert reader.next_push() == [b"message", b"news", b"hello"]
    assert reader.next_push() is None


@needs_library
def test_sessions_end_with_their_client(db):
    client = db.connect()
    client.execute("LOCK.ACQUIRE", "leader", "me", "SESSION")
    assert db.execute("EXISTS", "leader") == 1
    client.close()
    assert db.execute("EXISTS", "leader") == 0
    with pytest.raises(sluice.DatabaseError):
        client.execute("PING")


@needs_library
def test_many_and_their_seeds():
    with sluice.Database(seed=17) as one, sluice.Database(seed=17) as two:
        for db in (one, two):
            db.execute("SADD", "s", *range(100))
        assert one.execute("SPOP", "s", 10) == two.execute("SPOP", "s", 10)
        one.execute("FLUSHALL")
        assert two.execute("SCARD", "s") == 90


@needs_library
def test_a_directory(tmp_path):
    with sluice.Database(tmp_path, options={"appendonly": "yes"}) as db:
        db.execute("SET", "k", "v")
    with sluice.Database(tmp_path, options={"appendonly": "yes"}) as db:
        assert db.execute("GET", "k") == b"v"
        with pytest.raises(sluice.DatabaseError):
            sluice.Database(tmp_path, options={"appendonly": "yes"})


@needs_library
def test_threads():
    with sluice.Database() as db:
        def work():
            for _ in range(500):
                db.execute("INCR", "n")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert db.execute("GET", "n") == b"2000"


@needs_library
def test_fork(tmp_path):
    """A child may use a database in memory; files belong to the process that opened them."""
    script = """if True:
        import os, sys, sluice
        memory, files = sluice.Database(), sluice.Database(sys.argv[1], options={"appendonly": "yes"})
        waiting = files.start("BLPOP", "list", 0)
        memory.execute("SET", "k", "v")
        child = os.fork()
        if child == 0:
            assert memory.execute("GET", "k") == b"v"
            try:
                files.execute("SET", "k", "child")
            except sluice.ReplyError as error:
                assert error.code == "FORKED"
                sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert files.execute("SET", "k", "parent") == b"OK"
        files.close()
        print(sluice.Database(sys.argv[1], options={"appendonly": "yes"}).execute("GET", "k"))
    """
    done = subprocess.run([sys.executable, "-c", script, tmp_path], check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "b'parent'\n"


@needs_library
def test_ends():
    db = sluice.Database()
    client, ticket = db.connect(), db.start("BLPOP", "k", 0)
    db.close()
    db.close()
    for call in (lambda: db.execute("PING"), lambda: client.execute("PING"), db.poll, db.connect):
        with pytest.raises(sluice.DatabaseError, match="closed"):
            call()
    del client, ticket
    gc.collect()
    with pytest.raises(sluice.DatabaseError):
        sluice.Database(options={"nonsense": 1})
    with pytest.raises(sluice.DatabaseError):
        sluice.Database(time="sideways")


@needs_library
def test_fixture(pytester):
    pytester.makepyfile("""
        def test_one(sluice_database):
            assert sluice_database.execute("INCR", "n") == 1
            sluice_database.execute("EXPIRE", "n", 60)
            sluice_database.clock.advance(60)
            assert sluice_database.execute("GET", "n") is None
        def test_two(sluice_database):
            assert sluice_database.execute("DBSIZE") == 0
    """)
    result = pytester.runpytest_subprocess("-p", "sluice.pytest_plugin", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)


def test_no_library(tmp_path, monkeypatch):
    with pytest.raises(sluice.LibraryNotFound, match="the argument names"):
        sluice.Database(library=tmp_path / "libsluice.so")
    wrong = tmp_path / "text.so"
    wrong.write_text("no library")
    with pytest.raises(sluice.LibraryNotFound, match="cannot be used"):
        sluice.Database(library=wrong)
    monkeypatch.setenv("SLUICE_LIBRARY", str(wrong))
    with pytest.raises(sluice.LibraryNotFound, match="SLUICE_LIBRARY names"):
        sluice.Database()
