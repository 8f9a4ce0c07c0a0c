#!/usr/bin/python3
"""The lock and limiter scripts that are in use out there, under many clients at once: each must keep what
it promises (no two clients share a lock, no window takes more than its limit).

  compat_scripts.py [--server program] [name ...]     names: those of the functions test_*

They are written from what the systems do (MasterLock, TrafficJam, GitHub's limiter, Redlock, the INCR
documentation), and are sent as they send them: EVALSHA, and EVAL when that fails.
"""
import hashlib
import pathlib
import random
import sys
import threading
import time
import traceback

import redis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server import Server  # noqa: E402
from smoke import Chosen, run_tests  # noqa: E402

WORKERS = 8
PATIENCE = 60  # seconds for what takes less than one on an idle machine
LEASE_MS = 60_000


class Script:
    def __init__(self, text):
        self.text = text
        self.sha1 = hashlib.sha1(text.encode()).hexdigest()

    def __call__(self, client, keys, *arguments):
        try:
            return client.evalsha(self.sha1, len(keys), *keys, *arguments)
        except redis.ResponseError:
            return client.eval(self.text, len(keys), *keys, *arguments)


def together(server, work, workers=WORKERS):
    """Runs work(client, number) in so many threads, a connection each; what they returned."""
    results, faults = [None] * workers, []

    def body(number):
        try:
            client = redis.Redis(unix_socket_path=server.socket_path, single_connection_client=True)
            results[number] = work(client, number)
            client.close()
        except Exception:  # reported below, by the test's own thread
            faults.append(traceback.format_exc())

    threads = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
    assert not faults, faults[0]
    assert not any(thread.is_alive() for thread in threads), "a client waits for ever"
    return results


def one(server):
    return redis.Redis(unix_socket_path=server.socket_path)


class Guarded:
    """Counts that a second worker inside at the same time would spoil, and notices one."""

    def __init__(self):
        self.inside = 0
        self.entered = 0

    def enter(self):
        self.inside += 1
        assert self.inside == 1, "two hold the lock"
        self.entered += 1

    def leave(self):
        self.inside -= 1


# --- MasterLock: SET NX PX, then a script to extend and one to release, by owner

EXTEND = Script("""
if redis.call("get", KEYS[1]) == ARGV[1] then
  return redis.call("pexpire", KEYS[1], tonumber(ARGV[2]))
else
  return 0
end""")
RELEASE = Script("""
if redis.call("get", KEYS[1]) == ARGV[1] then
  return redis.call("del", KEYS[1])
else
  return 0
end""")


def acquire(client, key, owner):
    deadline = time.monotonic() + PATIENCE
    while not client.set(key, owner, nx=True, px=LEASE_MS):
        assert time.monotonic() < deadline, f"{key} never came free"
        time.sleep(0.001)


def test_master_lock():
    """Acquire, extend, release in turn, while another client flushes the scripts away."""
    guarded = Guarded()

    def work(client, number):
        owner = f"host:1:{number}"
        for turn in range(25):
            acquire(client, "lock:job", owner)
            guarded.enter()
            assert EXTEND(client, ["lock:job"], owner, LEASE_MS) == 1
            assert EXTEND(client, ["lock:job"], "somebody else", LEASE_MS) == 0
            assert RELEASE(client, ["lock:job"], "somebody else") == 0
            if turn % 10 == number:
                client.script_flush()
            guarded.leave()
            assert RELEASE(client, ["lock:job"], owner) == 1

    with Server(Chosen.program) as server:
        together(server, work)
        assert guarded.entered == WORKERS * 25
        assert not one(server).exists("lock:job")


# --- TrafficJam

LIFETIME = Script("""
local arg_amount = tonumber(ARGV[1])
local arg_max = tonumber(ARGV[2])
local amount = tonumber(redis.call("GET", KEYS[1]) or 0)
if amount + arg_amount > arg_max then
  return false
end
redis.call("INCRBY", KEYS[1], arg_amount)
return true""")

GCRA = Script("""
local arg_amount = tonumber(ARGV[1])
local arg_max = tonumber(ARGV[2])
local arg_period = tonumber(ARGV[3])
local incr = arg_amount * arg_period / arg_max
if incr > arg_period then return -1 end
local pttl = redis.call("PTTL", KEYS[1])
if pttl < 0 then
  if incr >= 1 then redis.call("SET", KEYS[1], "", "PX", math.floor(incr)) end
  return 0
end
if pttl + incr > arg_period then return -2 end
redis.call("PEXPIRE", KEYS[1], math.floor(pttl + incr))
return 0""")

LIMIT = Script("""
local arg_timestamp = tonumber(ARGV[1])
local arg_amount = tonumber(ARGV[2])
local arg_max = tonumber(ARGV[3])
local arg_period = tonumber(ARGV[4])
local old_timestamp = redis.call("HGET", KEYS[1], "timestamp")
local amount = 0
if old_timestamp then
  local drift = math.max(arg_timestamp - tonumber(old_timestamp), 0)
  local old_amount = tonumber(redis.call("HGET", KEYS[1], "amount"))
  amount = math.max(old_amount - drift * arg_max / arg_period, 0)
end
if amount + arg_amount > arg_max then
  return false
end
redis.call("HSET", KEYS[1], "amount", amount + arg_amount, "timestamp", arg_timestamp)
redis.call("EXPIRE", KEYS[1], arg_period)
return true""")

ROLLING = Script("""
local arg_timestamp = tonumber(ARGV[1])
local arg_amount = tonumber(ARGV[2])
local arg_max = tonumber(ARGV[3])
local arg_period = tonumber(ARGV[4])
local old = redis.call("HGETALL", KEYS[1])
local sum = 0
for i = 1, #old, 2 do
  if tonumber(old[i]) < arg_timestamp - arg_period then
    redis.call("HDEL", KEYS[1], old[i])
  else
    sum = sum + tonumber(old[i + 1])
    print(sum)
  end
end
if sum + arg_amount > arg_max then
  return false
end
redis.call("HINCRBY", KEYS[1], arg_timestamp, arg_amount)
redis.call("EXPIRE", KEYS[1], arg_period)
return true""")


def test_lifetime_limit():
    """Exactly the limit is given out, whichever client asks and however it is cut."""
    with Server(Chosen.program) as server:
        given = together(server, lambda client, number: sum(
            amount for amount in (random.Random(number).choices((1, 2, 3), k=60))
            if LIFETIME(client, ["life"], amount, 500) == 1))
        client = one(server)
        assert sum(given) == int(client.get("life")) <= 500 and sum(given) >= 498
        assert LIFETIME(client, ["life"], 1, sum(given)) is None
        assert client.ttl("life") == -1


def test_gcra_limit():
    """A burst of all of it at once and no more; the answers are 0, -1 and -2."""
    with Server(Chosen.program) as server:
        answers = together(server, lambda client, _: [GCRA(client, ["gcra"], 1, 100, 3_600_000)
                                                      for _ in range(40)])
        counts = {code: sum(each.count(code) for each in answers) for code in (0, -1, -2)}
        assert counts == {0: 100, -1: 0, -2: WORKERS * 40 - 100}, counts
        client = one(server)
        assert GCRA(client, ["gcra"], 101, 100, 3_600_000) == -1
        assert client.get("gcra") == b"" and 3_500_000 < client.pttl("gcra") <= 3_600_000


def test_limit():
    """The leaking hash; its numbers go to HSET as Lua writes them, and EXPIRE is given milliseconds."""
    at = 1_700_000_000_000
    with Server(Chosen.program) as server:
        given = together(server, lambda client, _: sum(
            LIMIT(client, ["limit"], at, 1, 100, 3_600_000) == 1 for _ in range(40)))
        client = one(server)
        assert sum(given) == 100
        assert client.hmget("limit", "timestamp", "amount") == [b"1700000000000", b"100"]
        assert LIMIT(client, ["limit"], at + 36_000, 1, 100, 3_600_000) == 1  # one has leaked out
        assert LIMIT(client, ["limit"], at + 36_100, 1, 100, 3_600_000) is None
        assert LIMIT(client, ["limit"], at + 90_500, 1, 100, 3_600_000) == 1
        assert client.hget("limit", "amount") == b"99.486111111111114"
        assert client.ttl("limit") > 3_599_000
        assert client.keys("limi*") == [b"limit"] and client.delete("limit") == 1


def test_rolling_limit():
    """print() goes to the log at debug level, and the window rolls."""
    at = 1_700_000_000_000
    with Server(Chosen.program) as server:
        given = together(server, lambda client, number: sum(
            ROLLING(client, ["roll"], at + number, 1, 100, 1000) == 1 for _ in range(20)))
        client = one(server)
        assert sum(given) == 100 == sum(int(value) for value in client.hvals("roll"))
        assert ROLLING(client, ["roll"], at + 500, 1, 100, 1000) is None
        assert ROLLING(client, ["roll"], at + 1500, 60, 100, 1000) == 1
        assert client.hgetall("roll") == {b"1700000001500": b"60"}


# --- GitHub's limiter: a counter and its end in two keys, of which one is declared

COUNT = Script("""
local counter, ends = KEYS[1], KEYS[1] .. ":exp"
local cost, next_end, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local window_end = tonumber(redis.call("GET", ends))
if not window_end or window_end < now then
  redis.call("SET", counter, 0)
  redis.call("SET", ends, next_end)
  redis.call("EXPIREAT", counter, next_end + 1)
  redis.call("EXPIREAT", ends, next_end + 1)
  window_end = next_end
end
return {redis.call("INCRBY", counter, cost), window_end}""")

CHECK = Script("""
local count = redis.call("GET", KEYS[1])
local window_end = redis.call("GET", KEYS[1] .. ":exp")
if not count or not window_end or tonumber(window_end) < tonumber(ARGV[1]) then
  return {nil, nil}
end
return {tonumber(count), tonumber(window_end)}""")


def test_github_limiter():
    """Every count is seen exactly once, and a window that has closed is empty."""
    now = int(time.time())
    end = now + 3600
    with Server(Chosen.program) as server:
        client = one(server)
        assert CHECK(client, ["gh"], now) == []
        answers = together(server, lambda client, _: [COUNT(client, ["gh"], 1, end, now)
                                                      for _ in range(50)])
        assert sorted(count for each in answers for count, _ in each) == \
            list(range(1, WORKERS * 50 + 1))
        assert {at for each in answers for _, at in each} == {end}
        assert CHECK(client, ["gh"], now) == [WORKERS * 50, end]
        assert CHECK(client, ["gh"], end) == [WORKERS * 50, end]
        assert CHECK(client, ["gh"], end + 1) == []
        assert client.expiretime("gh") == client.expiretime("gh:exp") == end + 1
        assert COUNT(client, ["gh"], 5, end + 3600, end + 1) == [5, end + 3600]
        client.delete("gh")  # half cleaned up
        assert CHECK(client, ["gh"], now) == []


# --- Redlock: most of five servers that know nothing of each other

def test_redlock():
    """One of the five dies half way; no two ever share the lock."""
    guarded = Guarded()
    servers = []
    try:
        servers = [Server(Chosen.program) for _ in range(5)]

        def each(clients, act):
            won = 0
            for client in clients:
                try:
                    won += bool(act(client))
                except redis.ConnectionError:
                    pass
            return won

        def work(_, number):
            clients = [redis.Redis(unix_socket_path=server.socket_path, retry=None)
                       for server in servers]
            chance = random.Random(number)
            deadline = time.monotonic() + PATIENCE
            for turn in range(10):
                owner = f"{number}-{turn}"
                while each(clients, lambda c, o=owner: c.set("redlock", o, nx=True, px=LEASE_MS)) < 3:
                    each(clients, lambda c, o=owner: RELEASE(c, ["redlock"], o))
                    assert time.monotonic() < deadline, "no majority was ever found"
                    time.sleep(chance.uniform(0.001, 0.02))
                guarded.enter()
                assert each(clients, lambda c, o=owner: EXTEND(c, ["redlock"], o, LEASE_MS)) >= 3
                if (number, turn) == (0, 4):
                    servers[2].kill()
                guarded.leave()
                assert each(clients, lambda c, o=owner: RELEASE(c, ["redlock"], o)) >= 2

        together(servers[0], work, workers=4)
        assert guarded.entered == 40
        assert not any(one(server).exists("redlock") for server in servers if server.alive())
    finally:
        for server in servers:
            server.stop()


# --- throttles of the INCR documentation and of blogs

INCR_ONCE = Script("""
local current = redis.call("incr", KEYS[1])
if current == 1 then
  redis.call("pexpire", KEYS[1], ARGV[1])
end
return current""")


def passes(client, number, kind):
    """One request of a throttle of 50 a window; whether it went through."""
    if kind == "script":
        return INCR_ONCE(client, ["script"], 3_600_000) <= 50
    if kind == "transaction":
        before, after, _ = client.pipeline().get(kind).incr(kind).pexpire(kind, 3_600_000).execute()
        assert int(before or 0) + 1 == after, (before, after)
        return after <= 50
    if kind == "list":
        if client.llen(kind) >= 50:
            return False
        if client.exists(kind):
            return client.rpushx(kind, number) <= 50
        return client.pipeline().rpush(kind, number).expire(kind, 3600).execute()[0] <= 50
    count, _ = client.pipeline().incr(kind).expire(kind, 3600).execute()
    return count <= 50


def throttle(kind):
    with Server(Chosen.program) as server:
        passed = together(server, lambda client, number: sum(passes(client, number, kind)
                                                             for _ in range(20)))
        assert sum(passed) == 50, (kind, passed)
        assert 0 < one(server).pttl(kind) <= 3_600_000


def test_throttle_by_script():
    throttle("script")


def test_throttle_by_transaction():
    throttle("transaction")


def test_throttle_by_plain_transaction():
    throttle("plain")


def test_throttle_by_list():
    """LLEN, EXISTS, MULTI { RPUSH, EXPIRE } and RPUSHX."""
    throttle("list")


# --- use once: the client that counts up first has it

def test_use_once():
    with Server(Chosen.program) as server:
        client = one(server)
        for number in range(20):
            client.pipeline().hset(f"token:{number}", mapping={"for": "you", "used_by": 0}) \
                .expire(f"token:{number}", 3600).execute()

        def work(client, _):
            won = 0
            for number in range(20):
                seen, count = client.pipeline().hgetall(f"token:{number}") \
                    .hincrby(f"token:{number}", "used_by", 1).execute()
                assert int(seen[b"used_by"]) + 1 == count
                won += seen[b"used_by"] == b"0"
            return won

        assert sum(together(server, work)) == 20


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
