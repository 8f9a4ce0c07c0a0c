"""What the random sequences are made of: a line a command, and what can stand for each kind of argument.

In a line: a word in capitals is itself; `a|b` one of both (of two commands: two lines in one); `kind?` perhaps; `kind+` one to three; `{A|B x}`
a set of options, of which none to three come in any order and at times twice. Kinds are rows of KINDS.
Commands that one of the two servers does not have are left out when the harness starts.
"""
import re

COMMANDS = """
SET key value {NX|XX|GET|KEEPTTL|EX ttl|PX ttl_ms|EXAT at|PXAT at_ms}
SET key value
SET key number
GET key
GETEX key {EX ttl|PX ttl_ms|EXAT at|PXAT at_ms|PERSIST}
GETDEL key
GETSET key value
SETNX key value
SETEX key ttl value
PSETEX key ttl_ms value
MSET key value key value
MSET key value
MSETNX key value key value
MGET key+
APPEND key value
STRLEN key
SETRANGE key offset value
GETRANGE key index index
SUBSTR key index index
INCR key
DECR key
INCRBY key integer
DECRBY key integer
INCRBYFLOAT key float
LCS key key {LEN|IDX|MINMATCHLEN small|WITHMATCHLEN}
BITCOUNT key
BITCOUNT key index index
BITCOUNT key index index BYTE|BIT
BITPOS key bit
BITPOS key bit index
BITPOS key bit index index BYTE|BIT?
BITOP AND|OR|XOR|NOT key key+
SETBIT key bit_offset bit
GETBIT key bit_offset
BITFIELD key bitfield_op+
BITFIELD_RO key bitfield_read+
DEL key+
UNLINK key+
EXISTS key+
TYPE key
TOUCH key+
KEYS pattern
SCAN cursor {MATCH pattern|COUNT small|TYPE type}
@SCAN {MATCH pattern|COUNT small|TYPE type}
RANDOMKEY
RENAME key key
RENAMENX key key
COPY key key {REPLACE|DB db}
MOVE key db
OBJECT ENCODING|REFCOUNT|FREQ|IDLETIME key
DEBUG DIGEST-VALUE key+
DEBUG DIGEST
EXPIRE key ttl {NX|XX|GT|LT}
PEXPIRE key ttl_ms {NX|XX|GT|LT}
EXPIREAT key at {NX|XX|GT|LT}
PEXPIREAT key at_ms {NX|XX|GT|LT}
EXPIRE key ttl
PEXPIREAT key at_ms
TTL key
PTTL key
EXPIRETIME key
PEXPIRETIME key
PERSIST key
SELECT db
SWAPDB db db
DBSIZE
FLUSHDB ASYNC|SYNC?
PING value?
PUBLISH key value
SPUBLISH key value
PUBSUB CHANNELS pattern?
PUBSUB SHARDCHANNELS pattern?
PUBSUB NUMSUB|SHARDNUMSUB key+
PUBSUB NUMPAT
ECHO value
MULTI
EXEC
EXEC
DISCARD
WATCH key+
UNWATCH
CLIENT SETNAME name
CLIENT GETNAME
CLIENT NO-EVICT ON|OFF
CLIENT UNBLOCK nobody
CLIENT KILL ID nobody
CLIENT LIST ID number
CLIENT LIST TYPE type
CLIENT UNPAUSE
CLIENT TRACKINGINFO
CLIENT GETREDIR
CLIENT ID
COMMAND COUNT
COMMAND INFO command
COMMAND GETKEYS command arguments
COMMAND GETKEYSANDFLAGS command arguments
COMMAND LIST FILTERBY PATTERN pattern
COMMAND LIST FILTERBY ACLCAT category
COMMAND DOCS command
CONFIG GET config+
CONFIG SET setting
CONFIG SET setting setting
CONFIG RESETSTAT
HELLO 2|3
HELLO number {SETNAME name|AUTH name value}
RESET
TIME
AUTH value
AUTH name value
OBJECT HELP
COMMAND HELP
CLIENT HELP
CONFIG HELP
SLOWLOG GET
SLOWLOG GET -1
SLOWLOG GET index
SLOWLOG LEN
SLOWLOG RESET
ROLE
WAIT 0 index
WAIT -1 index
LATENCY LATEST
LATENCY HISTORY|GRAPH value
LATENCY RESET
LATENCY RESET value value
LATENCY DOCTOR
MEMORY USAGE key
MEMORY USAGE key {SAMPLES small|SAMPLES index}
MEMORY USAGE stream_key SAMPLES 0
MEMORY STATS
MEMORY PURGE
DEBUG PROTOCOL protocol_kind
DEBUG STRINGMATCH-LEN number pattern
LOLWUT VERSION small
HSET hash_key hash_field value
HSET hash_key hash_field value hash_field number hash_field value
HMSET hash_key hash_field value hash_field number
HSETNX hash_key hash_field value
HGET hash_key hash_field
HMGET hash_key hash_field+
HGETALL hash_key
HKEYS hash_key
HVALS hash_key
HLEN hash_key
HSTRLEN hash_key hash_field
HEXISTS hash_key hash_field
HDEL hash_key hash_field+
HINCRBY hash_key hash_field integer
HINCRBYFLOAT hash_key hash_field float
HRANDFIELD hash_key index? WITHVALUES?
HSCAN hash_key cursor {MATCH pattern|COUNT small|TYPE type}
SADD set_key set_member+
SADD set_key integer+
SREM set_key set_member+
SISMEMBER set_key set_member
SMISMEMBER set_key set_member+
SCARD set_key
SMEMBERS set_key
SPOP set_key 100|0|-1
SRANDMEMBER set_key index?
SMOVE set_key set_key set_member
SSCAN set_key cursor {MATCH pattern|COUNT small|TYPE type}
SINTER set_key+
SINTERSTORE key set_key+
SINTERCARD 1 set_key {LIMIT small}
SINTERCARD 2 set_key set_key {LIMIT small}
SUNION set_key+
SUNIONSTORE key set_key+
SDIFF set_key+
SDIFFSTORE key set_key+
PFADD hll_key set_member+
PFADD hll_key
PFCOUNT hll_key+
PFMERGE hll_key hll_key+
PFDEBUG ENCODING|DECODE|TODENSE hll_key
DUMP missing
RESTORE key ttl_ms value {REPLACE|ABSTTL|IDLETIME small|FREQ small}
XADD stream_key sid field value
XADD stream_key sid field value field number
XADD stream_key 9-* field value
XADD stream_key {NOMKSTREAM|MAXLEN = small|MAXLEN small|MAXLEN ~ small|MINID sid|MINID ~ sid|LIMIT small} sid field value
XLEN stream_key
XRANGE stream_key range_id range_id {COUNT small}
XREVRANGE stream_key range_id range_id {COUNT small}
XDEL stream_key sid+
XTRIM stream_key {MAXLEN = small|MAXLEN small|MAXLEN ~ small|MINID sid|MINID ~ sid|LIMIT small}
XREAD {COUNT small} STREAMS stream_key last_id
XREAD {COUNT small} STREAMS stream_key stream_key last_id last_id
XREADGROUP GROUP group consumer {COUNT small|NOACK} STREAMS stream_key new_id
XREADGROUP GROUP group consumer {COUNT small|NOACK} STREAMS stream_key stream_key new_id new_id
XREADGROUP {COUNT small|NOACK} GROUP group consumer STREAMS stream_key new_id
XREADGROUP GROUP group consumer STREAMS stream >
XACK stream_key group sid+
XCLAIM stream_key group consumer idle_ms sid+ {IDLE small|TIME at_ms|RETRYCOUNT small|FORCE|JUSTID|LASTID sid}
XCLAIM stream group consumer 0 sid+ {FORCE|JUSTID}
XAUTOCLAIM stream_key group consumer idle_ms range_id {COUNT small|JUSTID}
XPENDING stream_key group
XPENDING stream_key group range_id range_id small consumer?
XPENDING stream_key group IDLE idle_ms range_id range_id small consumer?
XINFO STREAM stream_key
XINFO STREAM stream_key FULL
XINFO STREAM stream_key FULL COUNT small
XINFO GROUPS stream_key
XINFO CONSUMERS stream_key group
XINFO HELP
XGROUP CREATE stream_key group last_id {MKSTREAM|ENTRIESREAD small}
XGROUP SETID stream_key group last_id {ENTRIESREAD small}
XGROUP DESTROY stream_key group
XGROUP CREATECONSUMER stream_key group consumer
XGROUP DELCONSUMER stream_key group consumer
XGROUP HELP
XSETID stream_key sid {ENTRIESADDED small|MAXDELETEDID sid}
LPUSH list value+
RPUSH list value+
LPUSH list item+
RPUSH list item+
LPUSHX list item+
RPUSHX list item+
LPOP list
RPOP list
LPOP list index
RPOP list small
LLEN list
LINDEX list index
LRANGE list index index
LRANGE list 0 -1
LSET list index item
LINSERT list BEFORE|AFTER item item
LREM list index item
LTRIM list index index
LPOS list item {RANK index|COUNT index|MAXLEN index}
LMOVE list list LEFT|RIGHT LEFT|RIGHT
RPOPLPUSH list list
LMPOP lists LEFT|RIGHT {COUNT index}
SORT sortable {BY by|LIMIT index index|GET by|ASC|DESC|STORE list}
SORT sortable {BY by|LIMIT index index|GET by|ASC|DESC|ALPHA}
SORT sortable_alone ALPHA {DESC|LIMIT small small|STORE list|GET by}
SORT_RO sortable ALPHA {BY by|LIMIT index index|GET by|DESC}
SADD key value+
HSET key name value
ZADD key score_member+
ZADD key {NX|XX|GT|LT|CH|INCR} score_member+
ZADD lex_key lex_member+
ZINCRBY key float member
ZREM key member+
ZCARD key
ZSCORE key member
ZMSCORE key member+
ZRANK|ZREVRANK key member
ZRANGE key bound bound {BYSCORE|REV|WITHSCORES|LIMIT index index}
ZRANGE key index index REV? WITHSCORES?
ZRANGE lex_key lex_bound lex_bound BYLEX {REV|LIMIT index index}
ZREVRANGE key index index WITHSCORES?
ZRANGEBYSCORE|ZREVRANGEBYSCORE key bound bound {WITHSCORES|LIMIT index index}
ZRANGEBYLEX|ZREVRANGEBYLEX lex_key lex_bound lex_bound {LIMIT index index}
ZRANGESTORE key key bound bound BYSCORE {REV|LIMIT index index}
ZRANGESTORE key key index index REV?
ZCOUNT key bound bound
ZLEXCOUNT lex_key lex_bound lex_bound
ZREMRANGEBYRANK key index index
ZREMRANGEBYSCORE key bound bound
ZREMRANGEBYLEX lex_key lex_bound lex_bound
ZUNION|ZINTER two_keys {WEIGHTS float float|AGGREGATE MAX|AGGREGATE MIN|AGGREGATE SUM|WITHSCORES}
ZDIFF two_keys WITHSCORES?
ZUNIONSTORE|ZINTERSTORE key two_keys {WEIGHTS float float|AGGREGATE MAX|AGGREGATE MIN}
ZDIFFSTORE key two_keys
ZINTERCARD two_keys {LIMIT index}
ZPOPMIN|ZPOPMAX key index?
ZMPOP two_keys MIN|MAX {COUNT index}
ZRANDMEMBER key index? WITHSCORES?
ZSCAN key cursor {MATCH pattern|COUNT small}
GEOADD key {NX|XX|CH} place+
GEODIST key member member unit?
GEOHASH|GEOPOS key member+
GEOSEARCH key {FROMMEMBER member|FROMLONLAT coordinates} {BYRADIUS metres unit|BYBOX metres metres unit} {ASC|DESC|COUNT small|ANY|WITHDIST|WITHHASH|WITHCOORD}
GEOSEARCH key FROMLONLAT coordinates BYRADIUS metres unit {ASC|DESC|COUNT small|WITHDIST|WITHHASH|WITHCOORD}
GEOSEARCHSTORE key key FROMLONLAT coordinates BYBOX metres metres unit {ASC|COUNT small|STOREDIST}
GEORADIUS key coordinates metres unit {ASC|DESC|COUNT small|ANY|WITHDIST|WITHCOORD|STORE key|STOREDIST key}
GEORADIUS_RO key coordinates metres unit {ASC|DESC|COUNT small|WITHDIST}
GEORADIUSBYMEMBER key member metres unit {ASC|DESC|COUNT small|WITHDIST|STORE key}
GEORADIUSBYMEMBER_RO key member metres unit {ASC|WITHHASH}
"""

# Pools. Keys are few, so that commands meet each other's; some hold other types (see FILL).
KEYS = [b"a", b"b", b"c", b"d", b"e", b"{t}1", b"{t}2", b"list", b"hash", b"set", b"zset", b"stream", b"int",
        b"float", b"long", b"volatile", b"missing", b"", b"\x00\xff\r\n", b"k" * 60]
FILL = """
SET int 41
SET float 3.5
SET long aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee
SET volatile v EX 5000
SET a hello
SET b 1
LPUSH list one two
HSET hash f v
SADD set 1 2 3
ZADD zset 1.5 m
HSET hash a 1 b 2.5 c text
SADD set a b c
SADD int_set 1 2 30
PFADD hll a b c
XADD stream 1-1 f one
XADD stream 1-2 f two
XADD stream 2-1 g three f 4
XADD stream 3-1 f five
XGROUP CREATE stream g 0
XGROUP CREATE stream h $
"""
STREAM_IDS = [b"1-1", b"1-2", b"2-1", b"3", b"3-1", b"4-0", b"5", b"7-7", b"0", b"0-0", b"0-1", b"9-*", b"5-*",
              b"18446744073709551615-18446744073709551615", b"18446744073709551616", b"1-1-1", b"x"]
LIMITS = [0, 1, -1, 2, 7, 63, 64, 127, 128, 255, 256, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63,
          -2**31, -2**63, -2**63 - 1, 2**64 - 1, 2**64]
WEIRD = [b"", b" ", b"-", b"+", b"+1", b"01", b"-01", b"1.0", b"1e3", b"1E3", b"inf", b"-inf", b"+inf",
         b"nan", b"-0", b"0x10", b" 1", b"1 ", b"1\x00", b"\x00", b"\xc3\xa9", b"\r\n", b"*", b"%s",
         b"99999999999999999999", b"9223372036854775807", b"9223372036854775808",
         b"-9223372036854775808", b"18446744073709551615", b"1" * 40, b"x" * 300, b"(nil)", b"#",
         b"NX", b"GET", b"EX", b"5e-324", b"1.7976931348623157e308", b"0.1", b"3.0e-5", b".5", b"5.",
         b"1_000", b"1e400", b"infinity", b"0b1", b"True"]

# Elements are few, so that they are found; some are long enough for chunks of their own.
LISTS = [b"list", b"list", b"list", b"mylist", b"{t}1", b"a"]
ITEMS = [b"a", b"b", b"c", b"1", b"2", b"3", b"-1", b"007", b"300", b"70000", b"", b"x" * 100, b"y" * 3000, b"z" * 9000]

# Relative times are long or over at once: nothing may depend on how fast a server is.
TTL = [0, -1, 2**31, 9223372036854775, 9223372036854776, 2**63 - 1, -2**63]
TTL_MS = [0, -1, 2**53, 2**63 - 1, -2**63, 2**62]
AT = [4102444800, 4102444801, 1, 0, -1, 9223372036854775, 9223372036854776, 2**63 - 1]
AT_MS = [4102444800000, 4102444800001, 1, 0, -1, 2**53, 2**62, 2**63 - 1]
FLOATS = [b"0", b"1", b"-1", b"0.1", b"0.2", b"1e5", b"1.5e-7", b"-2.25", b"1e17", b"123456789.123",
          b"3.14159265358979323846", b"1e300", b"-1e300", b"1e4932", b"5.0e3", b"10.0"]
BOUNDS = [b"-inf", b"+inf", b"inf", b"0", b"-0", b"1", b"(1", b"2", b"(2.5", b"(-inf", b"1e17", b"0.1", b"nan", b"(", b"",
          b" 1", b"1e400", b"0x10", b"3.0"]
MEMBERS = [b"a", b"b", b"bb", b"c", b"m", b"1", b"-5", b"", b"x" * 11, b"y" * 64, b"z" * 65]
LEX_BOUNDS = [b"-", b"+", b"[a", b"(a", b"[b", b"(b", b"[", b"(", b"[c", b"(x", b"a", b"", b"-a"]
METRES = [b"0", b"1", b"100", b"1000", b"5e5", b"1e6", b"3e6", b"2e7", b"-1", b"x", b"200.5"]
PATTERNS = [b"*", b"?", b"[a-c]", b"[^a]*", b"l*", b"{t}?", b"\\*", b"", b"[a", b"a**", b"*[", b"\\",
            b"[a-", b"[]", b"[^]", b"v*e", b"[z-a]", b"??*", b"*\x00*", b"h[a-b]sh", b"int|long"]
CONFIGS = [b"maxmemory-policy", b"timeout", b"*max-*-entries", b"hash-max-ziplist-*", b"hz", b"nope",
           b"databases", b"proto-max-bulk-len", b"save", b"", b"*list*", b"Timeout", b"maxclients",
           b"set-max-intset-entries", b"zset-max-ziplist-value", b"lazyfree-*", b"tcp-keepalive"]

SETTINGS = ["list-max-listpack-size 2", "list-max-ziplist-size -1", "list-max-listpack-size x", "timeout 100", "timeout -1", "timeout x", "hz 100", "hash-max-listpack-entries 5",
            "zset-max-ziplist-value 10", "proto-max-bulk-len 1mb", "proto-max-bulk-len 1", "nosuch 1",
            "tcp-keepalive 9999999999", "zset-max-listpack-entries 2", "zset-max-listpack-entries 0", "maxmemory-policy LRU", "maxmemory-policy allkeys-lru", "databases 9",
            "Set-Max-Intset-Entries 9", "set-max-intset-entries 1k", "timeout", "bind *", "port 65536",
            "lazyfree-lazy-expire maybe", "lazyfree-lazy-expire YES", "maxclients 0", "save x",
            "client-output-buffer-limit x", "client-output-buffer-limit normal", "loglevel loud",
            "slowlog-log-slower-than 0", "slowlog-log-slower-than 0", "slowlog-log-slower-than -1", "slowlog-log-slower-than -2",
            "slowlog-max-len 3", "slowlog-max-len -1", "slowlog-max-len 1 slowlog-log-slower-than 0"]

ASKED_ABOUT = ["get", "xadd", "xread", "xgroup", "xinfo|stream", "xautoclaim", "SET", "mset", "nosuch", "client|list",
               "object", "slowlog", "slowlog|get", "slowlog|len", "slowlog|reset", "latency", "latency|histogram",
               "latency|graph", "latency|reset", "latency|doctor", "memory", "memory|usage", "memory|stats", "memory|purge", "bitop", "lcs", "config|get", "eval", "sort", "copy", "msetnx", "xread", "zunionstore", "zadd",
               "zrange", "zinter", "geosearch", "georadius", "bzmpop", "zscan", "client|nosuch", "bitfield", "rename",
               "lpush", "lpop", "lpos", "linsert", "lmove", "lmpop", "rpoplpush", "blpop", "blmove", "blmpop", "lset"]

INTEGERS = [str(number).encode() for number in LIMITS]


def pick_value(rng):
    roll = rng.random()
    if roll < 0.3:
        return rng.choice([b"hello", b"world", b"10", b"-5", b"foobar", b"x", b"0"])
    if roll < 0.5:
        return bytes(rng.choice(b"ab01\xff\x00 ") for _ in range(rng.choice([0, 1, 5, 20, 44, 45, 90])))
    if roll < 0.7:
        return rng.choice(INTEGERS)
    if roll < 0.8:
        return rng.choice(FLOATS)
    return rng.choice(WEIRD)


def pick_number(rng):
    return str(rng.randint(-20, 200)).encode() if rng.random() < 0.7 else rng.choice(INTEGERS)


def pick_ttl(rng, odd, unit):
    """Seldom the same twice: GT and LT between equal ones would depend on the millisecond."""
    return str(rng.randint(100, 10**6) * unit if rng.random() < 0.6 else rng.choice(odd)).encode()


def pick_bitfield_type(rng):
    return (rng.choice("ui") + str(rng.choice([1, 2, 5, 8, 16, 32, 63, 64, 0, 65, 7]))).encode()


def pick_bitfield_offset(rng):
    return rng.choice([b"", b"#"]) + str(rng.choice([0, 1, 3, 8, 100, 7, 63, -1])).encode()


def bitfield_read(rng):
    return [b"GET", pick_bitfield_type(rng), pick_bitfield_offset(rng)]


def bitfield_op(rng):
    roll = rng.random()
    if roll < 0.3:
        return bitfield_read(rng)
    if roll < 0.5:
        return [b"OVERFLOW", rng.choice([b"WRAP", b"SAT", b"FAIL", b"wrap", b"x"])]
    return [rng.choice([b"SET", b"INCRBY", b"incrby"]), pick_bitfield_type(rng),
            pick_bitfield_offset(rng), rng.choice(INTEGERS)]


def place(rng):
    return pick_point(rng) + one_of(MEMBERS)(rng)


def pick_point(rng):
    if rng.random() < 0.1:
        return [rng.choice(WEIRD), rng.choice(INTEGERS)]
    # Some near each other, some at the edges of the map.
    longitude = rng.choice([rng.uniform(-180, 180), rng.uniform(12, 16), 180, -180, 0])
    latitude = rng.choice([rng.uniform(-85, 85), rng.uniform(36, 39), 85.05112878, -85.05112878, 0])
    return [str(longitude).encode(), str(latitude).encode()]


def score_member(rng):
    return one_of(FLOATS + BOUNDS)(rng) + one_of(MEMBERS)(rng)


def one_of(pool):
    texts = [item if isinstance(item, bytes) else str(item).encode() for item in pool]
    return lambda rng: [rng.choice(texts)]


def pick_list(rng):
    return rng.choice(KEYS) if rng.random() < 0.2 else rng.choice(LISTS)


def pick_lists(rng):
    """A count and so many keys; at times not so many."""
    keys = [pick_list(rng) for _ in range(rng.choice([1, 2, 2, 3]))]
    count = len(keys) if rng.random() < 0.9 else rng.choice([0, -1, 1, 5, "x", 2**31, 2**63 - 1])
    return [str(count).encode(), *keys]


KINDS = {
    # No sorted sets: SORT makes Redis keep them as large ones. A set has no order of its own:
    # what is stored has no weights that may be equal.
    "sortable": one_of([b"list", b"mylist", b"hash", b"missing", b"a", b"{t}1"]),
    "sortable_alone": one_of([b"list", b"mylist", b"set", b"hash", b"a"]),
    "by": one_of([b"#", b"nosort", b"*", b"{t}*", b"k*", b"hash*->f", b"*->f", b"*->", b"a*->", b"**", b"->*", b"h*->a->b"]),
    "list": lambda rng: [pick_list(rng)], "lists": pick_lists,
    "item": lambda rng: [rng.choice(ITEMS) if rng.random() < 0.8 else pick_value(rng)],
    "hash_key": one_of([b"hash", b"hash", b"hash2", b"a", b"missing"]),
    "set_key": one_of([b"set", b"set", b"int_set", b"int_set", b"set2", b"a", b"missing"]),
    "hll_key": one_of([b"hll", b"hll", b"hll2", b"a", b"missing"]),
    "hash_field": one_of([b"a", b"b", b"c", b"d", b"", b"f" * 70, b"12"]),
    "set_member": lambda rng: [rng.choice([b"a", b"b", b"c", b"1", b"2", b"30", b"-5", b"", b"007", b"m" * 70])
                           if rng.random() < 0.7 else str(rng.randint(-40000, 40000)).encode()],
    "key": one_of(KEYS), "value": lambda rng: [pick_value(rng)], "number": lambda rng: [pick_number(rng)],
    "integer": lambda rng: [pick_number(rng)], "float": one_of(FLOATS + INTEGERS),
    "small": one_of([1, 2, 5, 10, 100, 1000]), "bit": one_of([0, 1, 1, 0, 2]),
    "ttl": lambda rng: [pick_ttl(rng, TTL, 1)], "ttl_ms": lambda rng: [pick_ttl(rng, TTL_MS, 1000)], "at": one_of(AT), "at_ms": one_of(AT_MS),
    "bound": one_of(BOUNDS), "member": one_of(MEMBERS), "score_member": score_member,
    "lex_key": one_of(["lex"]), "lex_bound": one_of(LEX_BOUNDS), "lex_member": lambda rng: [b"0"] + one_of(MEMBERS)(rng),
    "two_keys": lambda rng: [b"2"] + one_of(KEYS)(rng) + one_of(KEYS)(rng),
    "place": place, "coordinates": pick_point, "metres": one_of(METRES), "unit": one_of(["m", "km", "FT", "mi", "mm"]),
    "offset": one_of([0, 1, 3, 10, 100, 5000, -1, 536870912, 2**32, 2**63 - 1]),
    "bit_offset": one_of([0, 1, 7, 8, 100, 30000, -1, 2**32, 2**63 - 1]),
    "index": one_of([0, 1, 2, 5, -1, -2, -100, 100, 2**31, 2**63 - 1, -2**63]),
    "pattern": one_of(PATTERNS), "cursor": one_of([0, 0, 0, 0, "x", -1, 2**64]),
    "type": one_of(["string", "list", "hash", "STRING", "nosuch", "normal", "master", "pubsub"]),
    "db": one_of([0, 1, 1, 2, 2, 15, 16, -1]),
    "name": one_of(["me", "", "a b", "x\n", "lib-1.0", "\xe9"]), "config": one_of(CONFIGS),
    "nobody": one_of([0, -1, 10**12, 2**63 - 1, 2**63, -2**63, "x", "", "1.5"]),
    "stream_key": lambda rng: [b"stream" if rng.random() < 0.75 else rng.choice(KEYS)],
    "sid": lambda rng: [stream_id(rng)], "field": one_of(["f", "g", "", "1", "longer-field"]),
    "range_id": lambda rng: [rng.choice([b"-", b"+", b"(1-1", b"(3", b"(", b"(0-0", stream_id(rng)])],
    "last_id": lambda rng: [rng.choice([b"$", b"0", b">", b"-", stream_id(rng)])],
    "new_id": lambda rng: [rng.choice([b">", b">", b">", b"0", b"$", stream_id(rng)])],
    "group": one_of(["g", "g", "g", "h", "streams", "nosuch", ""]), "consumer": one_of(["me", "you", "GROUP", ""]),
    "idle_ms": one_of([0, 0, 0, -1, 10**9, 2**63, "x"]),
    "setting": lambda rng: rng.choice(SETTINGS).encode().split(),
    "arguments": lambda rng: [pick_value(rng) for _ in range(rng.randint(0, 4))],
    "category": one_of(["read", "write", "string", "dangerous", "nosuch", "FAST"]),
    "protocol_kind": one_of(["string", "integer", "double", "null", "array", "set", "map", "attrib", "push",
                             "verbatim", "true", "false", "bignum", "nosuch"]),
    "bitfield_op": bitfield_op, "bitfield_read": bitfield_read,
}

def stream_id(rng):
    return rng.choice(STREAM_IDS) if rng.random() < 0.4 else b"%d-%d" % (rng.randint(0, 12), rng.randint(0, 3))


TOKEN = re.compile(r"\{[^}]*\}|\S+")


class Command:
    """One line of COMMANDS, ready to be drawn from."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.name = self.tokens[0].lstrip("@")

    def draw(self, rng, kinds=None):
        """kinds: instead of KINDS."""
        kinds = kinds or KINDS
        args = []
        for token in self.tokens:
            draw = draw_options if token.startswith("{") else draw_token
            args += draw(token, rng, kinds)
        return args

    def words(self):
        """Those of its grammar: STREAMS, COUNT."""
        parts = (part for token in self.tokens[1:] for part in re.split(r"[{}| ]+", token))
        return [part.encode() for part in parts if part and part not in KINDS and part.isupper()]


def draw_options(token, rng, kinds):
    choices = token[1:-1].split("|")
    args = []
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3])):
        for word in rng.choice(choices).split():
            args += draw_token(word, rng, kinds)
    return args


def draw_token(token, rng, kinds):
    if token.endswith("?"):
        return draw_token(token[:-1], rng, kinds) if rng.random() < 0.5 else []
    if token.endswith("+"):
        args = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            args += draw_token(token[:-1], rng, kinds)
        return args
    if token in kinds:
        return kinds[token](rng)
    return [rng.choice(token.split("|")).encode()]


def mutate(args, rng):
    """Wrong on purpose: arity, case, an odd argument, an option at the wrong place."""
    args = list(args)
    roll = rng.randrange(6)
    at = rng.randrange(len(args))
    if roll == 0 and len(args) > 1:
        del args[-1]
    elif roll == 1:
        args.append(pick_value(rng))
    elif roll == 2 and len(args) > 1:
        args[rng.randrange(1, len(args))] = rng.choice(WEIRD)
    elif roll == 3:
        args[at] = args[at].swapcase()
    elif roll == 4 and len(args) > 2:
        other = rng.randrange(1, len(args))
        at = max(at, 1)
        args[at], args[other] = args[other], args[at]
    else:
        args[at] = args[at] + rng.choice([b"x", b" "] if at > 1 else [b"x"])
    return args


def hangs_on_time(args):
    """Whether a key would end so soon that it depends on the machine's speed if the next command meets it."""
    words = [arg.upper() for arg in args]
    times = args[2:3] if words[0] in (b"PSETEX", b"PEXPIRE") else []
    times += [time for option, time in zip(words, args[1:]) if option == b"PX"]
    return any(re.fullmatch(rb"\d{1,4}", time) and int(time) for time in times)


def variants(text):
    """A line for each of the commands that its first word names: ZRANK|ZREVRANK key member."""
    names, _, rest = text.partition(" ")
    return [f"{name} {rest}".strip() for name in names.split("|")]


class Grammar:
    """common: the names that both servers have."""

    def __init__(self, common):
        lines = [line for text in COMMANDS.strip().splitlines() for line in variants(text.strip())]
        self.commands = [command for command in map(Command, lines) if command.name.lower() in common]
        KINDS["command"] = one_of([name for name in ASKED_ABOUT
                                   if name.lower() in common or "nosuch" in name])

    @staticmethod
    def draw(command, rng):
        """The command's arguments, at times with a mistake in them."""
        args = command.draw(rng)
        if len(args) > 1 and command.words() and rng.random() < 0.04:  # a value that looks like a word
            args[rng.randrange(1, len(args))] = rng.choice(command.words())
        wrong = mutate(args, rng) if rng.random() < 0.15 and args[0][:1] != b"@" else args
        return args if hangs_on_time(wrong) else wrong

    def sequence(self, rng, length):
        """Steps of (client, args); mostly of a few commands, so that they work on each other."""
        favourites = rng.sample(self.commands, min(len(self.commands), 8))
        steps, client = [], 1
        for _ in range(length):
            if rng.random() < 0.1:
                client = 3 - client
            command = rng.choice(favourites if rng.random() < 0.6 else self.commands)
            steps.append((client, self.draw(command, rng)))
        return steps
