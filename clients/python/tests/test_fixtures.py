"""The fixtures as users have them: in runs of pytest of their own, with workers, asyncio and failures."""
import pytest
import redis

PLUGIN = ("-p", "sluice.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture
def run(pytester):
    def run_tests(code, *words):
        pytester.makepyfile(code)
        return pytester.runpytest_subprocess(*PLUGIN, *words)
    return run_tests


def test_space_of_its_own(run):
    result = run("""
        import pytest, redis
        @pytest.mark.parametrize("n", range(5))
        def test_empty(sluice_space, sluice_redis, sluice_clock, n):
            assert sluice_redis.incr("n") == 1
            sluice_redis.expire("n", 60)
            sluice_clock.advance(minutes=1)
            assert redis.Redis.from_url(sluice_space.url).get("n") is None
        def test_nothing_left(sluice_server):
            assert [info.name for info in sluice_server.spaces()] == ["default"]
        def test_parts(sluice_url, sluice_faults, sluice_journal, sluice_redis):
            with sluice_faults.on("GET", times=1).state("OOM"):
                with pytest.raises(redis.ResponseError):
                    sluice_redis.get("k")
            sluice_journal.expect("GET k")
            assert sluice_url.startswith("redis://space%3Atest")
    """)
    result.assert_outcomes(passed=7)


def test_workers(run):
    """Each has a process, and no test meets another."""
    result = run("""
        import pytest
        @pytest.mark.parametrize("n", range(40))
        def test_alone(sluice_redis, n):
            assert sluice_redis.incr("n") == 1
        @pytest.mark.parametrize("n", range(8))
        def test_own_process(sluice_server, worker_id, n):
            assert sluice_server.execute("SET", "worker", worker_id, "GET") in (None, worker_id.encode())
    """, "-p", "xdist", "-n", "4")
    result.assert_outcomes(passed=48)


def test_asyncio(run):
    result = run("""
        import asyncio, pytest, redis.asyncio
        @pytest.mark.asyncio
        async def test_wait(sluice_space, sluice_clock, sluice_redis_asyncio):
            waiting = asyncio.ensure_future(sluice_redis_asyncio.blpop("queue", timeout=60))
            while not sluice_space.journal.requests("BLPOP *"):
                await asyncio.sleep(0)
            sluice_clock.advance(60)
            assert await waiting is None
        @pytest.mark.asyncio
        async def test_own_client(sluice_url):
            async with redis.asyncio.from_url(sluice_url) as client:
                assert await client.set("k", "v")
    """, "-W", "error")
    result.assert_outcomes(passed=2)


def test_failure_shows_what_was_sent(run):
    result = run("""
        def test_lock(sluice_redis):
            sluice_redis.set("lck", "me")
            assert sluice_redis.get("lock")
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*sluice: the last requests to test:*", "#* SET lck me (client *) +OK",
                                 "#* GET lock (client *) (nil)"])


def test_failure_shows_the_clock(run):
    result = run("""
        import sluice
        def test_lease(sluice_redis, sluice_clock, sluice_space):
            sluice_redis.set("lock", "me", px=1500)
            sluice_clock.advance(1)
            assert sluice_redis.get("lock")
            assert sluice_space.clock.now() == sluice_clock.now()
            sluice_clock.next()
            sluice_space.execute("sluice.clock", b"set", 1_900_000_000_000)
            assert sluice_redis.get("lock")
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "*sluice: the last requests to test:*, and how the clock was moved*", "SLUICE.CLOCK FREEZE +OK",
        "#* SET lock me PX 1500 (client *) +OK", "SLUICE.CLOCK ADVANCE 1000 +OK", '#* GET lock (client *) "me"',
        "SLUICE.CLOCK NEXT :500", "SLUICE.CLOCK SET 1900000000000 +OK", "#* GET lock (client *) (nil)"], consecutive=False)
    assert result.stdout.str().count("SLUICE.CLOCK NEXT") == 1
    assert "SLUICE.CLOCK NOW" not in result.stdout.str()


def test_failure_shows_it_once(run):
    """Where the error itself lists the requests; and where the test fails, and a fixture behind it."""
    result = run("""
        import pytest
        @pytest.fixture
        def broken(sluice_redis):
            yield
            sluice_redis.set("late", "1")
            assert False
        def test_expects(sluice_redis, sluice_journal):
            sluice_redis.get("lock")
            sluice_journal.expect("GET door")
        def test_call_and_teardown(sluice_redis, broken):
            sluice_redis.get("both")
            assert False
        def test_teardown(sluice_redis, broken):
            sluice_redis.get("behind")
    """)
    result.assert_outcomes(failed=2, passed=1, errors=2)
    output = result.stdout.str()
    assert "JournalMismatch: expected GET door" in output and "requests: #" not in output
    result.stdout.fnmatch_lines(["*JournalMismatch: expected GET door (1 of 1), which no request matched*",
                                 "#* GET lock (client *) (nil)"])
    for request in ("GET lock", "GET both", "GET behind"):
        assert len([line for line in output.splitlines() if line.startswith("#") and f" {request} " in line]) == 1, request
    result.stdout.fnmatch_lines(["#* GET behind (client *) (nil)", "#* SET late 1 (client *) +OK"])


def test_no_binary(run, monkeypatch):
    monkeypatch.delenv("SLUICE_BIN", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    result = run("def test_it(sluice_space): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*sluice: there is no program `sluice` in PATH*"])


def test_options(run, pytester):
    pytester.makeini("[pytest]\nsluice_options =\n  maxclients 77\nsluice_seed = 5")
    result = run("""
        def test_it(sluice_space, sluice_server):
            assert sluice_space.execute("CONFIG", "GET", "maxclients")[1] == b"77"
            assert sluice_server.execute("CONFIG", "GET", "seed")[1] == b"5"
    """)
    result.assert_outcomes(passed=1)


def test_failing_test_leaves_nothing(run):
    """A rule that hangs, a frozen clock and a dead server are no trouble for what comes behind."""
    result = run("""
        import threading
        def test_hang(sluice_redis, sluice_faults, sluice_clock, sluice_space):
            rule = sluice_faults.on("GET").hang()
            threading.Thread(target=lambda: sluice_redis.get("k"), daemon=True).start()
            while not rule.hits: pass
            assert False
        def test_after(sluice_redis):
            assert sluice_redis.get("k") is None
    """)
    result.assert_outcomes(failed=1, passed=1)
