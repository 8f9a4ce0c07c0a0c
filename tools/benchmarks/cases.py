"""Every case of tools/bench, one a row, in the order in which they run.

A Load row is a name, a command that redis-benchmark sends (__rand_int__ is a random number), how
many requests, how many of them a batch, and the most that Sluice's CPU per request may be of
Redis's:

    Load("get-p16", Work("GET key:__rand_int__", fill="SET key:__rand_int__ 0"), 2_000_000, 16, 0.6)

`Work(..., setup=(...))` runs commands first; `reference=Work(..., on="sluice")` compares with
something else than the same command on Redis. Names are what --only matches.
"""
import dataclasses
import hashlib
import shlex

from .crowds import CROWDS
from .deletion import DeletionTurn
from .events import ExpiredEvents
from .eviction import EvictionHits
from .expiry import ExpiryLateness
from .flood import Flood
from .floor import OfFloor
from .following import ReplicaCpu, ReplicaLoad
from .grants import GrantsKept
from .growth import Growth
from .hand_over import HandOver
from .load import Load, Work
from .locks import LockHandOver, LockPairs
from .loading import DrainsLoading, LargeValuesOf, Loading, SnapshotOf, TurnsOf
from .log import EVERYSEC, AlwaysSynced, FastSync, SlowSync
from .snapshots import Saving
from .memory import (BytesPerConnection, BytesPerElement, BytesPerKey, BytesPerLimiter,
                     BytesPerLock, BytesPerRequestId, BytesPerScript)
from .monitoring import OpenPage, Scrape
from .publish import Publish
from .replicas import Followed, FullSync, SlowReplica, StreamBytes
from .stall import Stall
from .startup import StartToPong
from .test_double import TestDouble
from .tls import BytesPerTlsConnection, TlsHandshakes, TlsLoad
from .transactions import Transactions, sliding_window
from .worst_cases import WORST

# Memory is full when the rounds begin, and nearly every SET is of a new key.
FULL = ("--appendonly", "no", "--maxmemory", "32mb", "--maxmemory-policy")
SET_NEW = Work("SET key:__rand_int__ xxx", before=1_000_000)
FILL = "SET key:__rand_int__ 0"
SET = Work("SET key:__rand_int__ xxx", fill=FILL)
GET = Work("GET key:__rand_int__", fill=FILL)
INCR = Work("INCR key:__rand_int__", fill=FILL)
# The key of SET is allowed by the last of them.
FIFTY_RULES = ("ACL SETUSER default reset on nopass +@read +@write +@connection -keys -flushall +acl +info &news:* "
               + " ".join(f"~tenant:{tenant}:*" for tenant in range(39)) + " ~key:*")
IN_CLUSTER = ("--cluster-enabled", "yes")
ALL_SLOTS = ("FLUSHALL", "CLUSTER FLUSHSLOTS", "CLUSTER ADDSLOTSRANGE 0 16383")
SET_NX_PX = Work("SET key:__rand_int__ value NX PX 10000", setup=("FLUSHALL",))
HSET = Work("HSET hash field:__rand_int__ value")
SADD = Work("SADD set element:__rand_int__")

WINDOW = ('local n = redis.call("INCR", KEYS[1]) '
          'if n == 1 then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end return n')
RELEASE = ('if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) '
           'else return 0 end')


def evalsha(script, rest, fill=""):
    sha1 = hashlib.sha1(script.encode()).hexdigest()
    return Work(f"EVALSHA {sha1} {rest}", setup=(f"SCRIPT LOAD {shlex.quote(script)}",), fill=fill)


EVALSHA_WINDOW = evalsha(WINDOW, "1 key:__rand_int__ 60000")
EVALSHA_RELEASE = evalsha(RELEASE, "1 key:__rand_int__ me", fill="SET key:__rand_int__ me")

LPUSH = Work("LPUSH list:__rand_int__ element", setup=("FLUSHALL",))
LPOP = Work("LPOP list:__rand_int__", setup=("FLUSHALL",),
            fill="RPUSH list:__rand_int__" + " element" * 30)
XADD = Work("XADD stream MAXLEN ~ 10000 * field value", setup=("FLUSHALL",))
ZADD = Work("ZADD board __rand_int__ element:__rand_int__", setup=("FLUSHALL",))
ZRANGEBYSCORE = Work("ZRANGEBYSCORE board __rand_int__ +inf LIMIT 0 10",
                     fill="ZADD board __rand_int__ element:__rand_int__")
HSET_ELEMENT = "HSET {key} {element} {number}"
RPUSH_ELEMENT = "RPUSH {key} {element}"
SADD_ELEMENT = "SADD {key} {element}"
ZADD_ELEMENT = "ZADD {key} {number} {element}"

# Buckets and limiters, each beside our own SET.
FRESH = ("FLUSHALL",)
SET_HOT = Work("SET hot xxx")


def count(key, seconds, **more):
    return Work(f"LBUCKET.COUNT {key} {seconds}", setup=FRESH, **more)


def beside_set(name, work, bar_p16, bar_p64, reference=SET):
    return [Load(f"{name}-p16", work, 2_000_000, 16, bar_p16, reference),
            Load(f"{name}-p64", work, 3_000_000, 64, bar_p64, reference)]


# One by one, and in pipelines of 16 and 64: beside a loop that only answers.
def of_floor(name, work, bar, bar_p16, bar_p64):
    return [OfFloor(f"{name}-floor", work, 400_000, 1, bar),
            OfFloor(f"{name}-floor-p16", work, 2_000_000, 16, bar_p16),
            OfFloor(f"{name}-floor-p64", work, 3_000_000, 64, bar_p64)]


# What is taken comes back so slowly that the limiters live.
def take(limit):
    return Work(f"LIMIT.TAKE key:__rand_int__ {limit}", setup=FRESH)


TAKE_WINDOW = take("WINDOW 1000000 60000")
TAKE_CALENDAR = take("CALENDAR 1000000 MONTH")
# Each with another name, as they are but for those that are asked again.
TAKE_HOT = Work("LIMIT.TAKE hot WINDOW 1000000000 3600000", setup=FRESH)
TAKE_HOT_NAMED = Work(f"{TAKE_HOT.command} ID request:__rand_int__", setup=FRESH)
COUNT = count("key:__rand_int__", 45)
# Ten million drains that wait while it is measured.
COUNT_AMONG_MANY = Work("LBUCKET.COUNT key:__rand_int__ 86400", before=10_000_000)
LIMITERS = {
    "window": "WINDOW 1000 3600000",
    "rolling": "ROLLING 1000 3600000 COST 1000",
    "sliding": "SLIDING 1000 3600000",
    "gcra": "GCRA 1000 3600000 BURST 999 COST 1000",
}

CASES = [
    Load("set", SET, 400_000, bar=0.90),
    Load("get", GET, 400_000),
    Load("incr", INCR, 400_000),
    Load("set-p16", SET, 2_000_000, 16, 0.60),
    Load("get-p16", GET, 2_000_000, 16, 0.60),
    Load("incr-p16", INCR, 2_000_000, 16, 0.60),
    Load("set-nx-px-p16", SET_NX_PX, 2_000_000, 16, 0.50),
    Load("hset-p16", HSET, 2_000_000, 16, 0.70),
    Load("sadd-p16", SADD, 2_000_000, 16, 0.70),
    Load("set-p64", SET, 3_000_000, 64, 0.40),
    Load("get-p64", GET, 3_000_000, 64, 0.40),
    Load("incr-p64", INCR, 3_000_000, 64, 0.40),
    *of_floor("set", SET, 1.05, 1.25, 1.8),
    *of_floor("get", GET, 1.05, 1.25, 1.8),
    *of_floor("incr", INCR, None, 1.25, None),
    *of_floor("set-nx-px", SET_NX_PX, None, None, 2.2),
    Growth("set-growth-p64", ("SET", "2"), few=100_000, many=16_000_000, bar=1.5),
    Load("lpush-p16", LPUSH, 2_000_000, 16, 0.70),
    Load("lpop-p16", LPOP, 2_000_000, 16, 0.70),
    Load("xadd-p16", XADD, 1_000_000, 16, 0.70),
    Load("evalsha-window", EVALSHA_WINDOW, 200_000, bar=0.85),
    Load("evalsha-release", EVALSHA_RELEASE, 200_000, bar=0.85),
    Load("evalsha-window-p16", EVALSHA_WINDOW, 800_000, 16, 0.40),
    Load("evalsha-release-p16", EVALSHA_RELEASE, 800_000, 16, 0.45),
    *beside_set("lbucket-count", COUNT, 1.1, 1.3),
    *beside_set("lbucket-count-hot", count("hot", 45), 1.05, 1.05, SET_HOT),
    *beside_set("lbucket-count-1s", count("key:__rand_int__", 1), 1.5, 1.5),
    *beside_set("lbucket-count-1s-hot", count("hot", 1), 1.5, 1.5, SET_HOT),
    Load("lbucket-count-among-10m", COUNT_AMONG_MANY, 2_000_000, 16, 1.3, COUNT),
    *beside_set("limit-window", TAKE_WINDOW, 1.2, 1.4),
    *beside_set("limit-calendar", TAKE_CALENDAR, 1.1, 1.1, TAKE_WINDOW),
    Load("limit-id-p16", TAKE_HOT_NAMED, 2_000_000, 16, 1.25, TAKE_HOT, keys=1_000_000_000),
    Load("limit-id-p64", TAKE_HOT_NAMED, 3_000_000, 64, 1.25, TAKE_HOT, keys=1_000_000_000),
    *beside_set("limit-rolling", take("ROLLING 1000 3600000 BURST 1000000"), 1.2, 1.4),
    *beside_set("limit-sliding", take("SLIDING 1000000 3600000"), 1.2, 1.4),
    *beside_set("limit-gcra", take("GCRA 1000 3600000 BURST 1000000"), 1.2, 1.4),
    *beside_set("limit-log", take("LOG 1000000 60000"), None, None),
    *beside_set("cl-throttle", Work("CL.THROTTLE key:__rand_int__ 1000000 1000 3600", setup=FRESH),
                1.05, 1.05),
    Load("limit-window-evalsha-p64", TAKE_WINDOW, 1_500_000, 64, 0.2,
         dataclasses.replace(EVALSHA_WINDOW, on="redis")),
    *(BytesPerLimiter(f"bytes-per-limiter-{name}", limit, keys=1_000_000, bar=96)
      for name, limit in LIMITERS.items()),
    BytesPerLimiter("bytes-per-limiter-log", "LOG 1000 3600000", keys=1_000_000, bar=150),
    BytesPerRequestId("bytes-per-request-id", ids=1_500_000, bar=64),
    BytesPerLimiter("bytes-per-bucket-3", "3600", keys=1_000_000, bar=120,
                    command="LBUCKET.COUNT", times=3),
    BytesPerLock("bytes-per-lock", "LEASE 3600000", locks=1_000_000, bar=250),
    BytesPerLock("bytes-per-session-lock", "SESSION", locks=1_000_000, bar=390),
    Load("zadd-p16", ZADD, 1_500_000, 16, 0.70),
    Load("zrangebyscore-p16", ZRANGEBYSCORE, 1_500_000, 16, 0.70),
    Transactions("sliding-window-multi-p16", sliding_window, 200_000, 16, step_ms=1, bar=0.70),
    BytesPerElement("bytes-per-element-hash-10", HSET_ELEMENT, 10, keys=100_000, bar=1.0),
    BytesPerElement("bytes-per-element-hash-1m", HSET_ELEMENT, 1_000_000, bar=1.0),
    BytesPerElement("bytes-per-element-list-10", RPUSH_ELEMENT, 10, keys=100_000, bar=1.0),
    BytesPerElement("bytes-per-element-list-1m", RPUSH_ELEMENT, 1_000_000, bar=1.0),
    BytesPerElement("bytes-per-element-set-10", SADD_ELEMENT, 10, keys=100_000, bar=1.0),
    BytesPerElement("bytes-per-element-set-1m", SADD_ELEMENT, 1_000_000, bar=1.0),
    BytesPerElement("bytes-per-element-zset-10", ZADD_ELEMENT, 10, keys=100_000, bar=1.0),
    BytesPerElement("bytes-per-element-zset-1m", ZADD_ELEMENT, 1_000_000, bar=1.0),
    LockPairs("lock-pair-p64", pairs=400_000, pipeline=64, bar=0.35),
    LockHandOver("lock-hand-over", waiters=1000, hand_overs=40_000, bar=1.0),
    StartToPong("start-to-pong", starts=21, bar=0.25, cpu_bar=0.45, bar_ms=4, bar_megabytes=7),
    TestDouble("test-double", timers=1_000_000, space_bar=8, copy_bar=20, advance_bar=2, year_bar=100, kib_bar=16),
    BytesPerKey("bytes-per-key", keys=2_000_000, bar=0.6),
    BytesPerScript("bytes-per-script", 10_000, WINDOW.replace("ARGV[1]", "{}"), bar=1.0),
    BytesPerConnection("bytes-per-connection", connections=5_000, bar=512),
    Load("cluster-set-p16", Work(SET.command, ALL_SLOTS, FILL, flags=IN_CLUSTER), 2_000_000, 16, 1.05, SET),
    Load("cluster-get-p16", Work(GET.command, ALL_SLOTS, FILL, flags=IN_CLUSTER), 2_000_000, 16, 1.05, GET),
    Load("set-p16-fifty-rules", Work(SET.command, (FIFTY_RULES,), FILL), 2_000_000, 16, 1.05, SET),
    TlsLoad("tls-set", SET, 400_000, 1, bar=0.85),
    TlsLoad("tls-set-p16", SET, 2_000_000, 16, bar=0.60),
    TlsHandshakes("tls-handshakes", handshakes=2_000, bar=1 / 0.95),
    BytesPerTlsConnection("tls-bytes-per-connection", connections=2_000, bar=0.5),
    Stall("stall", inserts=9_000_000, bar=0.5, turn_bar_us=1000),
    Publish("publish-50", subscribers=50, messages=5_000, payload_bytes=64, bar=0.90),
    HandOver("blpop-hand-over", consumers=50, messages=20_000, bar=0.90),
    ExpiredEvents("expired-events", expiring=100_000, lasting=200_000, seconds=10, bar_ms=5),
    DeletionTurn("delete-set", "SADD", members=1_000_000, turn_bar_us=1000),
    DeletionTurn("delete-hash", "HSET", members=1_000_000, turn_bar_us=1000),
    DeletionTurn("delete-string", "APPEND", members=500, turn_bar_us=1000),
    ExpiryLateness("expiry", expiring=300_000, lasting=700_000, seconds=10, bar_ms=5),
    Load("evict", SET_NEW, 2_000_000, 16, 0.60, log=(*FULL, "allkeys-lru"), keys=1_000_000_000),
    Load("evict-lfu", SET_NEW, 2_000_000, 16, 0.60, log=(*FULL, "allkeys-lfu"), keys=1_000_000_000),
    EvictionHits("evict-hits-lru", "allkeys-lru", keys=200_000, room=20_000, requests=1_000_000, seconds=60,
                 bar=1.0),
    EvictionHits("evict-hits-lfu", "allkeys-lfu", keys=200_000, room=20_000, requests=1_000_000, seconds=60,
                 bar=1.0),
    Load("log-everysec-p16", SET, 2_000_000, 16, 0.55, log=EVERYSEC),
    AlwaysSynced("log-always", requests=20_000, bar=1.0, syncs_bar=0.125),
    FastSync("log-always-fast", sync_us=20, requests=100_000, bar=0.77, cpu_bar=0.9),
    Loading("load-log-64", TurnsOf(600_000, turn=64), bar=0.5),
    Loading("load-log-1", TurnsOf(600_000, turn=1), bar=0.5),
    Loading("load-rdb", SnapshotOf(2_000_000), bar=0.4),
    Loading("load-rdb-large", LargeValuesOf(1_000_000), bar=0.4),
    DrainsLoading("drains-loading", drains=10_000_000, seconds=86_400, bar=0.5),
    SlowSync("log-slow-sync", sync_ms=500, seconds=8, bar_ms=5),
    Saving("saving", keys=3_000_000, members=1_000_000, wait_bar=1.5, turn_bar_us=1000, cpu_bar=0.7,
           memory_bar=0.3, loading_bar=0.5),
    Followed("replica-set-p16", requests=2_000_000, pipeline=16, bar=1.25),
    StreamBytes("replica-stream-bytes", rounds=20_000, bar=1.15),
    FullSync("replica-full-sync", keys=3_000_000, cpu_bar=0.7, turn_bar_us=1000),
    SlowReplica("replica-slow", seconds=20, bar=1.2),
    ReplicaCpu("replica-cpu", commands=2_000_000, bar=0.6),
    ReplicaLoad("replica-load", keys=3_000_000, bar=0.5),
    GrantsKept("lock-replicas", requests=10_000, p50_bar=1.5, own_bar=1.2, p99_bar_ms=2, rate_bar=1 / 0.8),
    Scrape("scrape", keys=1_000_000, locks=10_000, turn_bar_us=1000, kilobytes_bar=200),
    OpenPage("open-page", locks=10_000, seconds=10, bar_percent=1),
    Flood("flood", clients=10_000, seconds=20, bar_ms=5, bar_mb=200),
    *CROWDS,
    *WORST,
]
