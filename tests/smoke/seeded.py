#!/usr/bin/python3
"""Two servers that are started with the same --seed and told the same answer the same, to the last byte, in
what does not depend on the time; with other seeds they do not. (What depends on the time is compared under
clocks that are moved by hand: tests/simulation/one_run_test.cc.)

  seeded.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server import Server, first_seed  # noqa: E402
from smoke import Chosen, client, run_tests  # noqa: E402

SCRIPTS = ("return math.random(1000000)", "return {tostring({}), tostring(print), tostring(redis)}",
           "return redis.call('SRANDMEMBER', 'set', 50)", "return redis.call('HGETALL', 'hash')",
           "local t, all = {}, {} for i = 1, 500 do t['k' .. i] = i end "
           "for k in pairs(t) do all[#all + 1] = k end return all")
LINES = ("HGETALL hash", "HKEYS hash", "HRANDFIELD hash 20 WITHVALUES", "HRANDFIELD hash -700", "HSCAN hash 0 COUNT 100",
         "SMEMBERS set", "SRANDMEMBER set 30", "SRANDMEMBER set -900", "SPOP set", "SPOP set 40", "SSCAN set 0 COUNT 100",
         "SUNION set other", "SDIFF set other", "SINTER set other", "SMEMBERS numbers", "SPOP numbers 3",
         "ZRANDMEMBER board 30 WITHSCORES", "ZRANDMEMBER board -900", "ZSCAN board 0 COUNT 100", "ZUNION 2 board set",
         "KEYS *", "SCAN 0 COUNT 300", "RANDOMKEY", "RANDOMKEY", "DUMP hash", "DUMP set", "DEBUG DIGEST", "CLIENT ID",
         "CLUSTER MYID", "COMMAND LIST", "COMMAND DOCS", "FUNCTION LIST", "PUBSUB CHANNELS", "LOLWUT",
         "COPY hash copy REPLACE", "HGETALL copy", "SORT set BY nosort GET # LIMIT 0 90", "DEBUG RELOAD")
IDS = ("run_id", "master_replid")


def history(server, chance):
    """All that it answers."""
    connection = client(server)
    answers = [field(connection, name) for name in IDS]
    for number in range(700):
        for line in (f"HSET hash field:{number} {number}", f"SADD set member:{number}", f"SADD numbers {number}",
                     f"SADD other member:{number // 3}", f"ZADD board {number % 5} member:{number}",
                     f"SET key:{number} {number}"):
            answers.append(connection.call(*line.split()))
    connection.call("FUNCTION", "LOAD", "#!lua name=one\nredis.register_function('f', function() return "
                                        "{math.random(1000), tostring({})} end)")
    for _ in range(300):
        roll = chance.randrange(10)
        if roll < 7:
            answers.append(connection.call(*chance.choice(LINES).split()))
        elif roll < 9:
            answers.append(connection.call("EVAL", chance.choice(SCRIPTS), "0"))
        else:
            answers.append(connection.call("FCALL", "f", "0"))
    return answers


def field(connection, name):
    return next(line for line in connection.call("INFO", "everything")[1].split(b"\r\n")
                if line.startswith(name.encode() + b":"))


def play(seed, lines):
    server = Server(Chosen.program, ["--seed", seed])
    try:
        return history(server, random.Random(lines))
    finally:
        server.stop()


def test_one_seed_is_one_run():
    lines = first_seed()
    print(f"repeat with: SLUICE_SEED_FROM={lines}")
    one, again, other = play(17, lines), play(17, lines), play(18, lines)
    assert len(one) == len(again)
    for at, (a, b) in enumerate(zip(one, again)):
        assert a == b, f"answer {at}: {a!r:.300} and {b!r:.300}"
    assert one[:len(IDS)] != other[:len(IDS)] and one != other


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
