"""Every case of tools/bench, one a row, in the order in which they run.

A Load row is a name, a command that redis-benchmark sends (__rand_int__ is a random number), how
many requests, how many of them a batch, and the most that Sluice's CPU per request may be of
Redis's:

    Load("get-p16", Work("GET key:__rand_int__", fill="SET key:__rand_int__ 0"), 2_000_000, 16, 0.6)

`Work(..., setup=(...))` runs commands first; `reference=Work(..., on="sluice")` compares with
something else than the same command on Redis. Names are what --only matches.
"""
from .expiry import ExpiryLateness
from .load import Load, Work
from .memory import BytesPerConnection, BytesPerKey
from .stall import Stall
from .startup import StartToPong

FILL = "SET key:__rand_int__ 0"
SET = Work("SET key:__rand_int__ xxx", fill=FILL)
GET = Work("GET key:__rand_int__", fill=FILL)
INCR = Work("INCR key:__rand_int__", fill=FILL)
SET_NX_PX = Work("SET key:__rand_int__ value NX PX 10000", setup=("FLUSHALL",))

CASES = [
    Load("set", SET, 400_000, bar=0.90),
    Load("get", GET, 400_000),
    Load("incr", INCR, 400_000),
    Load("set-p16", SET, 2_000_000, 16, 0.60),
    Load("get-p16", GET, 2_000_000, 16, 0.60),
    Load("incr-p16", INCR, 2_000_000, 16, 0.60),
    Load("set-nx-px-p16", SET_NX_PX, 2_000_000, 16, 0.50),
    Load("set-p64", SET, 3_000_000, 64, 0.40),
    Load("get-p64", GET, 3_000_000, 64, 0.40),
    Load("incr-p64", INCR, 3_000_000, 64, 0.40),
    StartToPong("start-to-pong", starts=11, bar=0.5),
    BytesPerKey("bytes-per-key", keys=2_000_000, bar=0.6),
    BytesPerConnection("bytes-per-connection", connections=5_000, bar=0.25),
    Stall("stall", inserts=9_000_000, bar=0.5, turn_bar_us=1000),
    ExpiryLateness("expiry", expiring=300_000, lasting=700_000, seconds=10, bar_ms=5),
]
