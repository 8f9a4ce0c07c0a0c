"""The attacks of tools/bench --only 'worst*': a row each (see worst.py)."""
import random

from .worst import Worst

MILLION = 1_000_000
MIB = 1 << 20

FILL = "for i = 1, ARGV[1] do redis.call({}) end"


def fill(count, key, call):
    """Runs `call`, a Lua argument list in which `i` counts from 1, so many times."""
    return ("EVAL", FILL.format(call), "1", key, str(count))


SET = fill(MILLION, "set", "'SADD', KEYS[1], 'member:' .. i")
SMALL_SET = fill(2, "small", "'SADD', KEYS[1], 'member:' .. i")
HASH = fill(MILLION, "hash", "'HSET', KEYS[1], 'field:' .. i, 'value:' .. i")
SORTED = fill(MILLION, "zset", "'ZADD', KEYS[1], i, 'member:' .. i")
SMALL_SORTED = fill(2, "zsmall", "'ZADD', KEYS[1], i, 'member:' .. i")
STREAM = fill(MILLION // 2, "stream", "'XADD', KEYS[1], i .. '-1', 'field', i")
PLACES = fill(MILLION // 2, "places", "'GEOADD', KEYS[1], (i * 7919) % 360 - 179.5, "
              "(i * 104729) % 170 - 84.5 + i / 1000000, 'place:' .. i")
LIST = fill(MILLION, "list", "'RPUSH', KEYS[1], (i * 7919) % 1000003")
LONG_STREAM = fill(MILLION, "stream", "'XADD', KEYS[1], i .. '-1', 'field', i")
TEXTS = fill(MILLION, "list", "'RPUSH', KEYS[1], 'element:' .. i")

# A dump is kept under the name of its key and ":dump", and restored by a script: then each server
# is given its own.
RESTORE = "return redis.call('RESTORE', 'restored', 0, redis.call('GET', KEYS[1]))"
KEEP_DUMP = "redis.call('SET', KEYS[1] .. ':dump', redis.call('DUMP', KEYS[1])) return 1"


def kept_dump(key):
    return ("EVAL", KEEP_DUMP, "1", key)


def restored(key):
    return ("EVAL", RESTORE, "1", f"{key}:dump")


def words(line):
    return tuple(line.split())


def zeros(key, mib):
    return ("SETRANGE", key, str(mib * MIB - 1), "x")


def written(key, mib):
    """A string that was sent whole: zeros made by SETRANGE are no pages before they are touched."""
    return ("SET", key, b"\0" * (mib * MIB - 1) + b"x")


def noise(mib):
    return random.Random(1).randbytes(MIB) * mib


def bad_dump(mib, version=b"\x0a\x00"):
    """A frame whose checksum is wrong."""
    return b"\x00" + noise(mib) + version + b"12345678"


def bad_hyperloglog():
    """Sparse registers that say more of them than there are."""
    return b"HYLL\x01\x00\x00\x00" + b"\x00" * 7 + b"\x80" + b"\x7f\xff" * 8 * MIB


WORST = [
    Worst("worst-srandmember", [SET], [words("SRANDMEMBER set -500000")]),
    Worst("worst-hrandfield", [HASH], [words("HRANDFIELD hash -500000")]),
    Worst("worst-hrandfield-values", [HASH], [words("HRANDFIELD hash -250000 WITHVALUES")]),
    Worst("worst-zrandmember", [SORTED], [words("ZRANDMEMBER zset -500000")]),
    Worst("worst-srandmember-half", [SET], [words("SRANDMEMBER set 500000")]),
    Worst("worst-srandmember-few", [SET], [words("SRANDMEMBER set 9000")]),
    Worst("worst-hrandfield-half", [HASH], [words("HRANDFIELD hash 500000")]),
    Worst("worst-zrandmember-half", [SORTED], [words("ZRANDMEMBER zset 500000")]),
    Worst("worst-spop-half", [SET], [words("SPOP set 500000")]),
    Worst("worst-spop-few", [SET], [words("SPOP set 9000")]),
    Worst("worst-randomkey", [fill(MILLION, "k", "'SET', 'key:' .. i, i")],
          [words("RANDOMKEY")] * 20_000),
    Worst("worst-sintercard", [SET], [("SINTERCARD", "1000") + ("set",) * 1000]),
    Worst("worst-sinter-again", [SET], [("SINTER",) + ("set",) * 10]),
    Worst("worst-sunion-again", [SET], [("SUNION",) + ("set",) * 10]),
    Worst("worst-sdiff-self", [SET], [("SDIFF",) + ("set",) * 10]),
    Worst("worst-sdiff-small", [SET, SMALL_SET], [("SDIFF", "set") + ("small",) * 100]),
    Worst("worst-sdiff-large", [SET, SMALL_SET], [("SDIFF", "small") + ("set",) * 100]),
    Worst("worst-sdiff-missing", [SET], [("SDIFF", "set") + ("nothing",) * 100]),
    Worst("worst-sunionstore", [SET, HASH], [words("SUNIONSTORE target set set")]),
    Worst("worst-sinterstore", [SET], [words("SINTERSTORE target set set")]),
    Worst("worst-zinterstore", [SORTED],
          [("ZINTERSTORE", "target", "100") + ("zset",) * 100]),
    Worst("worst-zunionstore", [SORTED], [("ZUNIONSTORE", "target", "10") + ("zset",) * 10]),
    Worst("worst-zunion", [SORTED], [("ZUNION", "10") + ("zset",) * 10]),
    Worst("worst-zinter", [SORTED], [("ZINTER", "10") + ("zset",) * 10]),
    Worst("worst-zintercard", [SORTED], [("ZINTERCARD", "100") + ("zset",) * 100]),
    Worst("worst-zdiff-self", [SORTED], [("ZDIFF", "10") + ("zset",) * 10]),
    Worst("worst-zdiff-small", [SORTED, SMALL_SORTED],
          [("ZDIFF", "101", "zset") + ("zsmall",) * 100]),
    Worst("worst-zdiff-missing", [SORTED], [("ZDIFF", "101", "zset") + ("nothing",) * 100]),
    Worst("worst-zdiffstore", [SORTED, SMALL_SORTED], [words("ZDIFFSTORE target 2 zset zsmall")]),
    Worst("worst-bitop-not", lambda: [written("text", 512)], [words("BITOP NOT target text")]),
    Worst("worst-bitop-not-again", lambda: [written("text", 512), written("target", 512)],
          [words("BITOP NOT target text")]),
    Worst("worst-bitop-and", lambda: [written("text", 256), written("other", 256)],
          [words("BITOP AND target text other")]),
    Worst("worst-bitop-xor", lambda: [written("text", 64)],
          [("BITOP", "XOR", "target") + ("text",) * 30]),
    Worst("worst-bitcount", lambda: [written("text", 512)], [words("BITCOUNT text")]),
    Worst("worst-bitpos", lambda: [written("text", 512)], [words("BITPOS text 1")]),
    Worst("worst-restore", [], lambda: [("RESTORE", "key", "0", bad_dump(100))]),
    Worst("worst-function-restore", [], lambda: [("FUNCTION", "RESTORE", bad_dump(100))]),
    Worst("worst-dump", lambda: [written("text", 256)], [words("DUMP text")]),
    Worst("worst-dump-noise", lambda: [("SET", "text", noise(256))], [words("DUMP text")]),
    Worst("worst-dump-zset", [SORTED], [words("DUMP zset")]),
    Worst("worst-dump-hash", [HASH], [words("DUMP hash")]),
    Worst("worst-dump-set", [SET], [words("DUMP set")]),
    Worst("worst-dump-list", [LIST], [words("DUMP list")]),
    Worst("worst-dump-list-texts", [TEXTS], [words("DUMP list")]),
    Worst("worst-dump-stream", [LONG_STREAM], [words("DUMP stream")]),
    Worst("worst-restore-list", [LIST, kept_dump("list")], [restored("list")]),
    Worst("worst-restore-list-texts", [TEXTS, kept_dump("list")], [restored("list")]),
    Worst("worst-restore-stream", [LONG_STREAM, kept_dump("stream")], [restored("stream")]),
    Worst("worst-sort", [LIST], [words("SORT list")]),
    Worst("worst-sort-alpha", [LIST], [words("SORT list ALPHA")]),
    Worst("worst-sort-limit", [LIST], [words("SORT list LIMIT 0 10")]),
    Worst("worst-sort-alpha-limit", [LIST], [words("SORT list ALPHA LIMIT 0 10")]),
    Worst("worst-sort-limit-middle", [LIST], [words("SORT list LIMIT 500000 10")]),
    Worst("worst-sort-nosort", [LIST], [words("SORT list BY nosort LIMIT 0 10")]),
    Worst("worst-sort-nosort-end", [LIST], [words("SORT list BY nosort LIMIT 999990 10")]),
    Worst("worst-sort-nosort-set", [SET], [words("SORT set BY nosort LIMIT 0 10")]),
    Worst("worst-sort-nosort-zset", [SORTED], [words("SORT zset BY nosort LIMIT 500000 10")]),
    Worst("worst-sort-by", [LIST], [words("SORT list BY weight:*")]),
    Worst("worst-sort-get", [LIST], [words("SORT list BY nosort GET a:* GET b:*->c GET #")]),
    Worst("worst-sort-store", [LIST], [words("SORT list STORE target")]),
    Worst("worst-tracking", [],
          [("CLIENT", "TRACKING", "ON", "BCAST") +
           tuple(word for i in range(8000) for word in ("PREFIX", f"prefix:{i:05}"))]),
    Worst("worst-append", [zeros("text", 500)], [words("APPEND text x")]),
    Worst("worst-append-many", [zeros("text", 500)], [words("APPEND text x")] * 100),
    Worst("worst-setrange", [zeros("text", 500)], [("SETRANGE", "text", str(501 * MIB), "x")]),
    Worst("worst-setbit", [zeros("text", 500)], [("SETBIT", "text", str(8 * 501 * MIB), "1")]),
    Worst("worst-setrange-new", [], [("SETRANGE", "text", str(511 * MIB), "x")]),
    Worst("worst-pfadd-corrupt", lambda: [("SET", "log", bad_hyperloglog())],
          [words("PFADD log a")]),
    Worst("worst-config-get", [], [("CONFIG", "GET") + ("*",) * 3000]),

    # Commands whose work is that of their data or of their arguments.
    Worst("worst-hrandfield-packed", [fill(500, "hash", "'HSET', KEYS[1], 'f' .. i, i")],
          [words("HRANDFIELD hash -500000")]),
    Worst("worst-srandmember-packed", [fill(120, "set", "'SADD', KEYS[1], 'm' .. i")],
          [words("SRANDMEMBER set -500000")]),
    Worst("worst-zrandmember-packed", [fill(120, "zset", "'ZADD', KEYS[1], i, 'm' .. i")],
          [words("ZRANDMEMBER zset -500000")]),
    Worst("worst-set-long", [], lambda: [("SET", "text", noise(400))]),
    Worst("worst-get-long", lambda: [written("text", 400)], [words("GET text")]),
    Worst("worst-getset-long", lambda: [("SET", "text", noise(200))], [words("GETSET text x")]),
    Worst("worst-copy-string", lambda: [written("text", 400)], [words("COPY text other")]),
    Worst("worst-copy-set", [SET], [words("COPY set other")]),
    Worst("worst-copy-hash", [HASH], [words("COPY hash other")]),
    Worst("worst-copy-zset", [SORTED], [words("COPY zset other")]),
    Worst("worst-copy-list", [LIST], [words("COPY list other")]),
    Worst("worst-copy-stream", [LONG_STREAM], [words("COPY stream other")]),
    Worst("worst-lcs", [("SET", "a", "ab" * 5000), ("SET", "b", "ba" * 5000)],
          [words("LCS a b"), words("LCS a b LEN"), words("LCS a b IDX")]),
    Worst("worst-sadd-many", [], lambda: [("SADD", "set", *(f"m:{i}" for i in range(MILLION)))]),
    Worst("worst-srem-many", [SET],
          lambda: [("SREM", "set", *(f"member:{i}" for i in range(MILLION)))]),
    Worst("worst-hset-many", [],
          lambda: [("HSET", "hash", *(f"m:{i // 2}" for i in range(MILLION)))]),
    Worst("worst-hdel-many", [HASH],
          lambda: [("HDEL", "hash", *(f"field:{i}" for i in range(MILLION)))]),
    # A listpack as long as an administrator may have allowed, from its end.
    Worst("worst-hdel-packed",
          [words("CONFIG SET hash-max-listpack-entries 10000"),
           fill(9000, "hash", "'HSET', KEYS[1], 'f' .. i, i")],
          [("HDEL", "hash", f"f{i}") for i in range(9000, 7000, -1)]),
    Worst("worst-zadd-many", [],
          lambda: [("ZADD", "zset", *(word for i in range(MILLION // 2)
                                      for word in (i * 7919 % 1000003, f"m:{i}")))]),
    Worst("worst-zrem-many", [SORTED],
          lambda: [("ZREM", "zset", *(f"member:{i}" for i in range(MILLION)))]),
    Worst("worst-rpush-many", [], lambda: [("RPUSH", "list", *map(str, range(MILLION)))]),
    Worst("worst-mset-many", [], lambda: [("MSET", *(f"key:{i // 2}" for i in range(MILLION)))]),
    Worst("worst-mget-many", [], lambda: [("MGET", *(f"key:{i}" for i in range(MILLION)))]),
    Worst("worst-del-many", [fill(MILLION, "k", "'SET', 'key:' .. i, i")],
          lambda: [("DEL", *(f"key:{i}" for i in range(MILLION)))]),
    Worst("worst-keys", [fill(MILLION, "k", "'SET', 'key:' .. i, i")], [words("KEYS *9*9*9*9*9")]),
    Worst("worst-keys-all", [fill(MILLION, "k", "'SET', 'key:' .. i, i")], [words("KEYS *")]),
    Worst("worst-scan", [fill(MILLION, "k", "'SET', 'key:' .. i, i")],
          [words("SCAN 0 COUNT 1000000 MATCH *99999*")]),
    Worst("worst-scan-pages", [fill(MILLION // 10, "k", "'SET', 'key:' .. i, i")],
          [words("SCAN 0")] * 10_000),
    Worst("worst-sscan-pages", [SET], [words("SSCAN set 0")] * 10_000),
    Worst("worst-hscan-pages", [HASH], [words("HSCAN hash 0")] * 10_000),
    Worst("worst-zscan-pages", [SORTED], [words("ZSCAN zset 0")] * 10_000),
    Worst("worst-flushall", [fill(MILLION, "k", "'SET', 'key:' .. i, i")], [words("FLUSHALL")]),
    Worst("worst-keys-glob", [("SET", "a" * 2000, "1")], [("KEYS", "a*" * 1000 + "b")] * 3),
    Worst("worst-smembers", [SET], [words("SMEMBERS set")]),
    Worst("worst-hgetall", [HASH], [words("HGETALL hash")]),
    Worst("worst-sscan", [SET], [words("SSCAN set 0 COUNT 1000000 MATCH *9*9*9*")]),
    Worst("worst-hscan", [HASH], [words("HSCAN hash 0 COUNT 1000000 MATCH *9*9*9*")]),
    Worst("worst-zscan", [SORTED], [words("ZSCAN zset 0 COUNT 1000000 MATCH *9*9*9*")]),
    Worst("worst-zrange", [SORTED], [words("ZRANGE zset 0 -1 WITHSCORES")]),
    Worst("worst-zrange-offset", [SORTED], [words("ZRANGEBYSCORE zset -inf +inf LIMIT 999990 5")]),
    Worst("worst-zrangestore", [SORTED], [words("ZRANGESTORE target zset 0 -1")]),
    Worst("worst-zremrangebyrank", [SORTED], [words("ZREMRANGEBYRANK zset 1 -1")]),
    Worst("worst-zpopmin", [SORTED], [words("ZPOPMIN zset 1000000")]),
    Worst("worst-lrange", [LIST], [words("LRANGE list 0 -1")]),
    Worst("worst-lindex", [LIST], [words("LINDEX list 500000")] * 100),
    Worst("worst-lset", [LIST], [words("LSET list 500000 x")] * 100),
    Worst("worst-lpos", [LIST], [words("LPOS list x COUNT 0")]),
    Worst("worst-lrem", [LIST], [words("LREM list 0 x")]),
    Worst("worst-linsert", [LIST], [words("LINSERT list BEFORE x y")]),
    Worst("worst-ltrim", [LIST], [words("LTRIM list 500000 500001")]),
    Worst("worst-lpop-many", [LIST], [words("LPOP list 900000")]),
    Worst("worst-xrange", [STREAM], [words("XRANGE stream - +")]),
    Worst("worst-xtrim", [STREAM], [words("XTRIM stream MAXLEN 0")]),
    Worst("worst-xdel-many", [STREAM],
          lambda: [("XDEL", "stream", *(f"{i + 1}-1" for i in range(500_000)))]),
    Worst("worst-xreadgroup", [STREAM, words("XGROUP CREATE stream g 0")],
          [words("XREADGROUP GROUP g c COUNT 500000 STREAMS stream >")]),
    Worst("worst-xautoclaim", [STREAM, words("XGROUP CREATE stream g 0"),
                               words("XREADGROUP GROUP g c COUNT 500000 STREAMS stream >")],
          [words("XAUTOCLAIM stream g d 0 0 COUNT 500000 JUSTID")]),
    Worst("worst-xpending", [STREAM, words("XGROUP CREATE stream g 0"),
                             words("XREADGROUP GROUP g c COUNT 500000 STREAMS stream >")],
          [words("XPENDING stream g IDLE 100000000 - + 10")]),
    Worst("worst-xinfo", [STREAM], [words("XINFO STREAM stream FULL COUNT 0")]),
    Worst("worst-xack-many", [STREAM, words("XGROUP CREATE stream g 0"),
                              words("XREADGROUP GROUP g c COUNT 500000 STREAMS stream >")],
          lambda: [("XACK", "stream", "g", *(f"{i + 1}-1" for i in range(500_000)))]),
    Worst("worst-geosearch", [PLACES],
          [words("GEOSEARCH places FROMLONLAT 0 0 BYRADIUS 20000 km ASC COUNT 10")]),
    Worst("worst-geosearch-any", [PLACES],
          [words("GEOSEARCH places FROMLONLAT 0 0 BYRADIUS 20000 km WITHDIST WITHCOORD")]),
    Worst("worst-geosearchstore", [PLACES],
          [words("GEOSEARCHSTORE t places FROMLONLAT 0 0 BYBOX 40000 40000 km")]),
    Worst("worst-pfcount", [("PFADD", "log", *map(str, range(2000)))],
          [("PFCOUNT",) + ("log",) * 2000]),
    Worst("worst-pfmerge", [("PFADD", "log", *map(str, range(20000)))],
          [("PFMERGE", "t") + ("log",) * 2000]),
    # Sketches of 1,000 elements are sparse: 2 KB of short runs.
    Worst("worst-pfcount-sparse", [("PFADD", "log", *map(str, range(1000)))],
          [("PFCOUNT",) + ("log",) * 2000] * 3),
    Worst("worst-pfmerge-sparse", [("PFADD", "log", *map(str, range(1000)))],
          [("PFMERGE", "t") + ("log",) * 2000] * 3),
    Worst("worst-pfadd-many", [], lambda: [("PFADD", "log", *map(str, range(MILLION)))]),
    Worst("worst-subscribe", [], lambda: [("SUBSCRIBE", *map(str, range(100_000))),
                                          ("UNSUBSCRIBE",)]),
    # Redis compares each with all before it: more of them would take it minutes.
    Worst("worst-psubscribe", [],
          lambda: [("PSUBSCRIBE", *(f"{i}*" for i in range(20_000))), ("PUNSUBSCRIBE",)]),
    Worst("worst-watch", [], lambda: [("WATCH", *map(str, range(20_000))), ("UNWATCH",)]),
    Worst("worst-multi", [], [("MULTI",)] + [("SET", "a", "b")] * 200_000 + [("EXEC",)]),
    Worst("worst-memory-usage", [HASH], [words("MEMORY USAGE hash SAMPLES 0")]),
    Worst("worst-command", [], [("COMMAND",)] * 20),
    Worst("worst-command-docs", [], [("COMMAND", "DOCS")] * 20),
    Worst("worst-command-info", [], [("COMMAND", "INFO") + ("get",) * 20_000]),
    Worst("worst-info", [], [("INFO",) + ("everything",) * 100]),
    Worst("worst-bitfield", [], [("BITFIELD", "a") + ("INCRBY", "u63", "1000", "1") * 100_000]),
    Worst("worst-script-load", [], lambda: [("SCRIPT", "LOAD", "return 1 --" + "x" * 50 * MIB)]),
    Worst("worst-exists-many", [], [("EXISTS",) + ("a",) * MILLION]),
    Worst("worst-errors", [], [("NOSUCHCOMMAND", "x" * 1000)] * 50_000),
    Worst("worst-sinterstore-many", [SET, SMALL_SET],
          [("SINTERSTORE", "t") + ("set",) * 1000 + ("small",)]),
    Worst("worst-rename", [SET, fill(MILLION, "other", "'SADD', KEYS[1], i")],
          [words("RENAME set other")]),
    Worst("worst-setbit-new", [], [("SETBIT", "text", str(8 * 511 * MIB), "1")]),
    Worst("worst-blpop", [], lambda: [("BLPOP", *map(str, range(100_000)), "0.001")]),
    # Others wait for a list at a key that holds a text; and for new entries of a stream.
    Worst("worst-crowd-of-waiters", [],
          [words("SET key x"), words("APPEND key y"), words("PEXPIRE key 100000")] * 1000,
          crowd=4000, waiting=words("BLPOP key 0")),
    Worst("worst-crowd-of-readers", [words("XADD key 1-1 f v")],
          [words("PEXPIRE key 100000"), words("XDEL key 1-1")] * 500,
          crowd=2000, waiting=words("XREAD BLOCK 0 STREAMS key $")),
    Worst("worst-expire", [fill(MILLION, "k", "'SET', 'key:' .. i, i, 'PX', 100000000")],
          [words("DBSIZE"), words("FLUSHALL")]),
]
