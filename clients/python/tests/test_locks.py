"""What LockClient does beyond the shared cases: threads, tasks that are cancelled, forks, clocks that step."""
import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import redis.asyncio

import sluice
import sluice.asyncio
import sluice.lease


@pytest.fixture
def locks(sluice_space):
    client = sluice_space.redis()
    yield sluice.LockClient(client)
    client.close()


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def waiting(space, count=1):
    return f"blocked_clients:{count}\r".encode() in space.execute("INFO", "clients")


def test_on_lost(sluice_space, locks):
    lock, told = locks.acquire("door", renew_every=0.005), []
    lock.on_lost(told.append)
    sluice_space.execute("LOCK.BREAK", "door")
    assert lock.lost.wait(30)
    until(lambda: told)
    lock.on_lost(told.append)  # at once
    assert [error.code for error in told] == ["NOTHELD", "NOTHELD"] and told[0] is lock.reason
    assert isinstance(lock.reason.__cause__, redis.ResponseError)


def test_many_locks_are_renewed_by_one_thread(sluice_space, locks):
    sluice_space.journal.start()
    held = [locks.acquire(f"door:{n}", lease=60, renew_every=0.02) for n in range(50)]
    for lock in held:
        until(lambda: sluice_space.journal.requests(f"LOCK.RENEW {lock.key} *"))  # pylint: disable=cell-var-from-loop
    assert len([thread for thread in threading.enumerate() if thread.name == "sluice-keeper"
                and thread is locks._keeper._thread]) == 1
    assert all(lock.release() for lock in held)


def test_a_renewal_that_hangs_holds_no_other_lock_up(sluice_space, locks):
    stuck = sluice_space.faults.on("LOCK.RENEW", key="stuck").hang()
    lock, other = locks.acquire("stuck", lease=0.1), locks.acquire("other", lease=1.5)
    assert lock.lost.wait(30) and lock.reason.code == "EXPIRED"
    time.sleep(2)
    assert other.held
    stuck.delete()
    assert other.release()


def test_what_is_told_of_a_loss_fails(sluice_space, locks, monkeypatch):
    """The error is shown, as that of a thread, and the other locks are renewed on."""
    sluice_space.journal.start()
    other, told, shown = locks.acquire("other", lease=60, renew_every=0.005), [], []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    lock = locks.acquire("door", lease=0.1, renew=False)
    lock.on_lost(lambda reason: {}["mine"])
    lock.on_lost(told.append)
    until(lambda: told)
    count = len(sluice_space.journal.requests("LOCK.RENEW other *"))
    until(lambda: len(sluice_space.journal.requests("LOCK.RENEW other *")) > count)
    assert [error.exc_type for error in shown] == [KeyError] and told == [lock.reason]
    assert other.release()


def test_a_thread_cannot_be_begun(sluice_space, locks, monkeypatch):
    """The renewal is begun later."""
    sluice_space.journal.start()
    start, refused = threading.Thread.start, []

    def refuse(thread):
        if thread.name == "sluice-renewal" and len(refused) < 3:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    lock = locks.acquire("door", lease=60, renew_every=0.005)
    until(lambda: sluice_space.journal.requests("LOCK.RENEW door *"))
    assert len(refused) == 3 and lock.release()


def test_a_lock_that_nobody_knows_of_is_renewed_no_more(sluice_space, locks):
    sluice_space.journal.start()
    lock = locks.acquire("door", lease=60, renew_every=0.01)
    until(lambda: sluice_space.journal.requests("LOCK.RENEW *"))
    del lock
    until(lambda: gc.collect() + len(locks._keeper.locks) == 0)
    count = len(sluice_space.journal.requests("LOCK.RENEW *"))
    time.sleep(0.05)
    assert len(sluice_space.journal.requests("LOCK.RENEW *")) <= count + 1


def test_the_machine_has_slept(locks, monkeypatch):
    lock = locks.acquire("door", lease=60, renew_every=0.03)
    wall = time.time
    monkeypatch.setattr(sluice.lease.time, "time", lambda: wall() + 60)  # the monotonic clock has stood still
    assert not lock.held
    assert lock.lost.wait(30) and lock.reason.code == "EXPIRED"


def test_the_machine_has_slept_while_a_renewal_was_under_way(sluice_space, locks, monkeypatch):
    hang = sluice_space.faults.on("LOCK.RENEW").hang()
    lock = locks.acquire("door", lease=90, renew_every=0.01)
    until(lambda: hang.hits == 1)
    wall = time.time
    monkeypatch.setattr(sluice.lease.time, "time", lambda: wall() + 90)
    hang.delete()  # now it is answered
    assert lock.lost.wait(30) and lock.reason.code == "EXPIRED"


def test_the_wall_clock_steps_back(locks, monkeypatch):
    wall = time.time
    lock = locks.acquire("door", lease=0.2, renew=False)
    monkeypatch.setattr(sluice.lease.time, "time", lambda: wall() - 3600)
    assert lock.lost.wait(30) and lock.reason.code == "EXPIRED"


def test_a_lease_of_months(sluice_space, locks):
    lock = locks.acquire("door", lease=100 * 86_400)
    time.sleep(0.02)
    assert lock.held and lock.remaining > 99 * 86_400
    assert lock.release()


def test_a_grant_that_comes_too_late_begins_no_work(sluice_space, locks):
    sluice_space.faults.on("LOCK.ACQUIRE", after=True).delay(0.15, real=True)
    with pytest.raises(sluice.LockLost):
        with locks.acquire("door", lease=0.1):
            raise AssertionError("the work was begun")


def test_one_release_for_all_who_ask(locks):
    lock, answers = locks.acquire("door"), []
    threads = [threading.Thread(target=lambda: answers.append(lock.release())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 4


def test_threads_are_owners_of_their_own(locks):
    """Two of one name would share a lock."""
    begin, taken = threading.Barrier(8), []

    def work():
        begin.wait()
        for _ in range(20):
            lock = locks.try_acquire("door")
            if lock is not None:
                taken.append(1)
                assert len(taken) == 1
                taken.clear()
                assert lock.release()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({locks._owners.new() for _ in range(100)}) == 100 and not taken


def test_decorator(sluice_space, locks):
    @locks.locked("report:{number}", lease=60)
    def report(number, text="x"):
        assert sluice_space.execute("EXISTS", f"report:{number}") == 1
        return number, text

    @locks.locked(lambda number: f"by-function:{number}")
    def other(number):
        return sluice_space.execute("EXISTS", f"by-function:{number}")
    assert report(7, text="y") == (7, "y") and report.__name__ == "report"
    assert other(8) == 1
    assert sluice_space.execute("EXISTS", "report:7") == 0
    sluice_space.execute("LOCK.ACQUIRE", "report:9", "other", "LEASE", 10_000)
    with pytest.raises(sluice.LockNotGranted):
        report(9)


def test_limit_decorator(sluice_space):
    limits = sluice.LimitClient(sluice_space.redis())

    @limits.limited("mail:{user}", sluice.Limit("window", 1, 60))
    def mail(user):
        return user
    sluice_space.clock.freeze()
    assert mail("a") == "a" and mail("b") == "b"
    with pytest.raises(sluice.LimitExceeded) as refused:
        mail("a")
    assert refused.value.key == "mail:a" and refused.value.verdict.retry_after == 60


def test_wrong_words(sluice_redis):
    with pytest.raises(TypeError):
        sluice.LockClient(sluice_redis, leese=5)
    with pytest.raises(TypeError):
        sluice.LockClient(object())
    with pytest.raises(TypeError):
        sluice.LockClient(redis.asyncio.Redis())


def test_socket_timeouts_end_no_wait(sluice_space):
    client = sluice_space.redis(socket_timeout=0.1)
    locks = sluice.LockClient(client)
    holder = locks.acquire("door")
    threading.Timer(0.3, holder.release).start()
    with locks.acquire("door", wait=30):
        pass
    client.close()


WAITS = """
import sys, redis, sluice
locks = sluice.LockClient(redis.Redis.from_url(sys.argv[1]))
try:
    locks.acquire("door", wait=60)
except KeyboardInterrupt:
    import threading
    for thread in threading.enumerate():
        if thread.name == "sluice-give-back":
            thread.join()
    print("interrupted")
"""


def test_a_wait_that_is_interrupted(sluice_space, locks):
    holder = locks.acquire("door")
    with subprocess.Popen([sys.executable, "-c", WAITS, sluice_space.url], stdout=subprocess.PIPE, text=True) as other:
        until(lambda: waiting(sluice_space))
        other.send_signal(signal.SIGINT)
        assert other.communicate(timeout=30)[0] == "interrupted\n"
    assert waiting(sluice_space, 0)
    assert holder.release()
    assert sluice_space.execute("EXISTS", "door") == 0


def in_child(check):
    """Exit status of a fork in which check() has to be true."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if check() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_fork(sluice_space, locks):
    """The lock is its process's: a fork is told that it is lost, and gives nothing back."""
    lock = locks.acquire("door", lease=60, renew_every=0.01)

    def child():
        told = []
        lock.on_lost(told.append)
        return (not lock.held and lock.lost.is_set() and lock.reason.code == "FORKED" and told == [lock.reason]
                and lock.release() is False)
    assert in_child(child) == 0
    assert lock.held and sluice_space.execute("EXISTS", "door") == 1
    assert lock.release()


def test_fork_takes_locks_of_its_own(sluice_space, locks):
    """The thread that renews is begun anew, and made-up owners are others."""
    lock = locks.acquire("door", lease=60, renew_every=0.005)
    sluice_space.journal.start()

    def child():
        mine = locks.acquire("desk", lease=60, renew_every=0.005)
        until(lambda: len(sluice_space.journal.requests("LOCK.RENEW desk *")) >= 2)
        return mine.held and mine.owner.rpartition(":")[0] != lock.owner.rpartition(":")[0] and mine.release()
    assert in_child(child) == 0
    count = len(sluice_space.journal.requests("LOCK.RENEW door *"))
    until(lambda: len(sluice_space.journal.requests("LOCK.RENEW door *")) > count)
    assert lock.release()


# --- asyncio

def with_locks(space, play):
    """Runs play(locks, client) on a loop."""
    async def run():
        client = redis.asyncio.Redis(**space.connection_kwargs)
        try:
            return await play(sluice.asyncio.LockClient(client), client)
        finally:
            await client.close()
    return asyncio.run(run())


async def until_async(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.002)


def test_async_wait_is_cancelled(sluice_space):
    async def play(locks, _):
        holder = await locks.acquire("door")
        asking = asyncio.ensure_future(locks.try_acquire("door", wait=60))
        await until_async(lambda: waiting(sluice_space))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert waiting(sluice_space, 0)
        assert await holder.release()
    with_locks(sluice_space, play)
    assert sluice_space.execute("EXISTS", "door") == 0


def test_async_cancelled_when_it_has_just_been_granted(sluice_space):
    async def play(locks, _):
        sluice_space.journal.start()
        holder = await locks.acquire("door")
        rule = sluice_space.faults.on("LOCK.ACQUIRE", args=7, after=True).hang()  # seven words with WAIT
        asking = asyncio.ensure_future(locks.try_acquire("door", wait=60))
        await until_async(lambda: waiting(sluice_space))
        await holder.release()
        assert sluice_space.execute("EXISTS", "door") == 1
        asking.cancel()
        await until_async(lambda: sluice_space.journal.requests("CLIENT UNBLOCK *"))
        rule.delete()
        with pytest.raises(asyncio.CancelledError):
            await asking
    with_locks(sluice_space, play)
    assert sluice_space.execute("EXISTS", "door") == 0


def test_async_cancelled_while_the_first_request_is_under_way(sluice_space):
    async def play(locks, client):
        rule = sluice_space.faults.on("LOCK.ACQUIRE", after=True).hang()
        asking = asyncio.ensure_future(locks.try_acquire("door"))
        await until_async(lambda: sluice_space.execute("EXISTS", "door") == 1)
        asking.cancel()
        await asyncio.sleep(0.01)
        rule.delete()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await client.get("nobody else's answer") is None
    with_locks(sluice_space, play)
    assert sluice_space.execute("EXISTS", "door") == 0


def test_async_grant_that_comes_too_late_begins_no_work(sluice_space):
    async def play(locks, _):
        sluice_space.faults.on("LOCK.ACQUIRE", after=True).delay(0.15, real=True)
        with pytest.raises(sluice.LockLost):
            async with locks.acquire("door", lease=0.1):
                raise AssertionError("the work was begun")
    with_locks(sluice_space, play)


def test_async_loss_ends_the_work(sluice_space):
    async def play(locks, _):
        async def work():
            async with locks.acquire("door", renew_every=0.005) as lock:
                task = asyncio.current_task()
                lock.on_lost(lambda reason: task.cancel())
                sluice_space.execute("LOCK.BREAK", "door")
                await asyncio.sleep(30)
        with pytest.raises(asyncio.CancelledError):
            await work()
    with_locks(sluice_space, play)


def test_async_what_is_told_of_a_loss_fails(sluice_space):
    async def play(locks, _):
        told, shown = [], []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: shown.append(context["exception"]))
        lock = await locks.acquire("door")
        lock.on_lost(lambda reason: {}["mine"])
        lock.on_lost(told.append)
        sluice_space.execute("LOCK.BREAK", "door")
        with pytest.raises(sluice.LockLost):
            await lock.fenced("SET", "result", "mine")
        assert told == [lock.reason] and [type(error) for error in shown] == [KeyError]
    with_locks(sluice_space, play)


def test_async_decorators(sluice_space):
    async def play(locks, client):
        limits = sluice.asyncio.LimitClient(client)

        @locks.locked("report:{number}")
        @limits.limited("reports", sluice.Limit("window", 1, 60))
        async def report(number):
            return sluice_space.execute("EXISTS", f"report:{number}")
        assert await report(7) == 1
        with pytest.raises(sluice.LimitExceeded):
            await report(8)
    sluice_space.clock.freeze()
    with_locks(sluice_space, play)


def test_async_limit_wait_is_cancelled(sluice_space):
    five = sluice.Limit("window", 5, 60)

    async def play(_, client):
        limits = sluice.asyncio.LimitClient(client)
        await limits.take("k", five, cost=4)
        asking = asyncio.ensure_future(limits.take("k", five, cost=2, wait=120))
        await until_async(lambda: waiting(sluice_space))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await limits.info("k")).used == 4
    sluice_space.clock.freeze()
    with_locks(sluice_space, play)


def test_async_slept_while_a_renewal_was_under_way(sluice_space, monkeypatch):
    async def play(locks, _):
        hang = sluice_space.faults.on("LOCK.RENEW").hang()
        lock = await locks.acquire("door", lease=90, renew_every=0.01)
        await until_async(lambda: hang.hits == 1)
        wall = time.time
        monkeypatch.setattr(sluice.lease.time, "time", lambda: wall() + 90)
        hang.delete()
        await asyncio.wait_for(lock.lost.wait(), 30)
        assert lock.reason.code == "EXPIRED"
    with_locks(sluice_space, play)


def test_async_fork(sluice_space):
    async def play(locks, _):
        lock = await locks.acquire("door")
        assert in_child(lambda: lock.reason.code == "FORKED" and not lock.held and lock.remaining == 0) == 0
        assert lock.held and await lock.release()
    with_locks(sluice_space, play)
