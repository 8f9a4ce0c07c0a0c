#!/usr/bin/python3
"""Scripts that run for ever or move a lot, against the real binary: other clients are not held up, they can be
ended, and their memory comes back.

  busy_scripts.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import Server  # noqa: E402
from smoke import MIB, PATIENCE, Checked, Chosen, client, run_tests, until  # noqa: E402

THRESHOLD = ("--busy-reply-threshold", 20)
FOR_EVER = "while true do end"
LIBRARY = """#!lua name=lib
redis.register_function{function_name = 'endless', flags = {'no-writes'},
                        callback = function() while true do end end}
redis.register_function('write_endless', function(keys)
  redis.call('SET', keys[1], 1) while true do end end)"""
BIG = 100 * MIB


def begin(server, *command):
    """A client sends it and waits."""
    caller = client(server)
    caller.send(wire.encode([str(word).encode() for word in command]))
    return caller


def busy(server, kind):
    """A client that has been told so: from here on the script is past its time."""
    other = client(server)
    sentence = f"BUSY Redis is busy running a script. You can only call {kind} KILL or SHUTDOWN NOSAVE."
    until(lambda: other.call("GET", "a") == ("-", sentence.encode()), "the script is late")
    return other


def refused(reply, word):
    assert reply[0] == "-" and reply[1].startswith(word), reply


def ended(caller, sentence):
    (kind, text) = wire.reply(caller.replies(1, PATIENCE)[0])
    assert kind == "-" and sentence in text, (kind, text)
    assert caller.call("PING") == ("+", b"PONG")


def test_script_kill():
    with Checked(*THRESHOLD) as server:
        for text in (FOR_EVER, "while true do pcall(function() while true do end end) end",
                     "while true do redis.call('GET', 'a') end",
                     "local s = string.rep('a', 30) while true do string.find(s, '.-b') end"):
            caller = begin(server, "EVAL", text, 0)
            other = busy(server, "SCRIPT")
            refused(other.call("FUNCTION", "KILL"), b"BUSY")
            refused(other.call("FUNCTION", "STATS"), b"BUSY")
            refused(other.call("SHUTDOWN"), b"BUSY")
            assert other.call("SCRIPT", "KILL") == ("+", b"OK")
            ended(caller, b"Script killed by user with SCRIPT KILL...")
            assert other.call("GET", "a") == ("$-1", None)
            refused(other.call("SCRIPT", "KILL"), b"NOTBUSY")


def test_scripts_that_hide():
    """Each would run for minutes or for ever in places that the count hook alone does not see."""
    with Checked(*THRESHOLD) as server:
        for text in ("while true do coroutine.wrap(function() for i = 1, 900 do end end)() end",
                     "while true do xpcall(function() while true do end end, "
                     "function() while true do end end) end",
                     "return string.find(string.rep('a', 1e5), string.rep('a-', 50) .. 'b')",
                     "table.insert({}, -2147483647, 1)",
                     "while true do collectgarbage() end",
                     "local a = string.rep('\\0', 3e7) local b = a .. 'x' while true do local c = a < b end",
                     "local a = string.rep('x', 2e7) while true do local b = a .. 'y' end",
                     "local s = 'while true do ' .. string.rep('do break end ', 120000) .. ' end ' "
                     "while true do loadstring(s) end"):
            caller = begin(server, "EVAL", text, 0)
            try:
                other = busy(server, "SCRIPT")
                assert other.call("SCRIPT", "KILL") == ("+", b"OK")
            except AssertionError:
                raise AssertionError(text)
            (kind, _) = wire.reply(caller.replies(1, PATIENCE)[0])
            assert kind == "-", text


def test_compiling_ends():
    """Code that takes the parser longer than any other: each break walks past those before it."""
    with Checked(*THRESHOLD) as server:
        caller = client(server)
        loop = "while true do " + "do break end " * 120_000 + " end "
        (kind, text) = caller.call("EVAL", loop * 20, 0)
        assert kind == "-" and b"took too long" in text, text
        assert caller.call("EVAL", "return 1", 0) == (":", b"1")


def test_replies_are_bounded():
    """A reply that has no room is not made, also for a client that wants no answers."""
    with Checked(*THRESHOLD) as server:
        caller, other = client(server), client(server)
        other.call("SADD", "s", "a", "b")
        other.call("HSET", "h", "f", "v")
        script = ("local one = {pcall(redis.call, 'SRANDMEMBER', 's', ARGV[1])} "
                  "local two = {pcall(redis.call, 'HRANDFIELD', 'h', ARGV[1], 'WITHVALUES')} "
                  "local three = {pcall(string.rep, 'x', 1e9)} "
                  "redis.call('SET', 'seen', one[2] .. ' ' .. two[2] .. ' ' .. three[2])")
        full, refused_count = b"not enough memory", b"ERR value is out of range"
        caller.send(wire.encode([b"CLIENT", b"REPLY", b"OFF"]))
        for count, sentence in ((b"-140000000", refused_count),
                                (b"-4611686018427387903", refused_count)):
            caller.send(wire.encode([b"EVAL", script.encode(), b"0", count]))
            seen = b" ".join([sentence, sentence, full])
            until(lambda: other.call("GET", "seen") == ("$", seen), "it ends")
            other.call("DEL", "seen")
        # The longest that is allowed: fields with their values have no room.
        script = ("local got = {pcall(redis.call, 'HRANDFIELD', 'h', -2^24, 'WITHVALUES')} "
                  "redis.call('SET', 'seen', got[2])")
        caller.send(wire.encode([b"EVAL", script.encode(), b"0"]))
        until(lambda: other.call("GET", "seen") == ("$", full), "it ends")


def test_function_kill():
    with Checked(*THRESHOLD) as server:
        assert client(server).call("FUNCTION", "LOAD", LIBRARY) == ("$", b"lib")
        for command in ("FCALL", "FCALL_RO"):
            caller = begin(server, command, "endless", 0)
            other = busy(server, "FUNCTION")
            refused(other.call("SCRIPT", "KILL"), b"BUSY")
            running = dict(zip(*[iter(other.call("FUNCTION", "STATS")[1])] * 2))
            assert ("$", b"endless") in running[("$", b"running_script")][1], running
            assert other.call("FUNCTION", "KILL") == ("+", b"OK")
            ended(caller, b"Script killed by user with SCRIPT KILL...")


def listens(server):
    try:
        server.connect(PATIENCE).close()
        return True
    except OSError:
        return False


def unkillable(*command):
    with Server(Chosen.program, THRESHOLD) as server:
        client(server).call("FUNCTION", "LOAD", LIBRARY)
        caller = begin(server, *command)
        kind = "FUNCTION" if command[0] == "FCALL" else "SCRIPT"
        other = busy(server, kind)
        refused(other.call("SCRIPT", "KILL"), b"UNKILLABLE")
        refused(other.call("FUNCTION", "KILL"), b"UNKILLABLE")
        refused(other.call("SHUTDOWN"), b"BUSY")
        assert server.alive()
        other.send(b"SHUTDOWN NOSAVE\r\n")
        assert not other.fill() and other.closed
        assert not listens(server), "who was sent away finds the server again"
        until(lambda: not server.alive(), "SHUTDOWN NOSAVE ends the server")
        assert server.process.returncode == 0, server.process.returncode
        assert not caller.fill() and caller.closed


def test_unkillable_script():
    unkillable("EVAL", "redis.call('SET', KEYS[1], 1) while true do end", 1, "k")


def test_unkillable_function():
    unkillable("FCALL", "write_endless", 1, "k")


def test_newcomers_log_in_while_busy():
    """AUTH and HELLO are served from inside the script; no other client's commands are."""
    with Checked(*THRESHOLD) as server:
        caller = begin(server, "EVAL", FOR_EVER, 0)
        busy(server, "SCRIPT")
        newcomer = client(server)
        assert newcomer.call("HELLO", 3)[0] == "%"
        refused(newcomer.call("SET", "a", 1), b"BUSY")
        assert newcomer.call("SCRIPT", "KILL") == ("+", b"OK")
        ended(caller, b"killed")


def read_bulk(connection, size):
    """The one bulk string of that size, read without looking at it again and again."""
    whole = bytearray(len(b"$%d\r\n\r\n" % size) + size)
    view, got = memoryview(whole), 0
    connection.sock.settimeout(PATIENCE * 4)
    while got < len(whole):
        more = connection.sock.recv_into(view[got:])
        assert more > 0, "the connection was closed"
        got += more
    assert whole.startswith(b"$%d\r\n" % size) and whole.endswith(b"\r\n"), bytes(whole[:40])
    return whole[whole.index(b"\n") + 1:-2]


def used_memory(connection):
    return int(connection.call("INFO", "memory")[1].split(b"used_memory:")[1].split()[0])


def test_big_replies():
    """A reply of 100 MB, as one string and as a million; nothing of it is kept, not by the
    allocator either once the server is quiet."""
    with Checked() as server:
        connection = client(server)
        for text, size in (("return string.rep('x', ARGV[1])", BIG),
                           ("redis.call('SET', 'big', string.rep('x', ARGV[1])) "
                            "return redis.call('GET', 'big')", BIG)):
            connection.send(wire.encode([b"EVAL", text.encode(), b"0", str(size).encode()]))
            assert read_bulk(connection, size).count(b"x") == size
            connection.call("DEL", "big")
        connection.send(wire.encode([b"EVAL", b"local s, t = string.rep('x', 100), {} "
                                     b"for i = 1, 1e6 do t[i] = s end return t", b"0"]))
        got, data = 0, b""
        connection.sock.settimeout(PATIENCE * 4)
        while got + len(data) < len(b"*1000000\r\n") + 10 ** 6 * len(b"$100\r\n\r\n" + b"x" * 100):
            assert connection.fill(), "the reply stopped"
            got, connection.data = got + len(connection.data), b""
        until(lambda: used_memory(connection) < MIB, "what was taken has been freed")


def test_big_arguments():
    """100 MB as a key's name, as arguments and as a script's own text."""
    with Checked() as server:
        connection = client(server)
        value = b"v" * BIG
        assert connection.call("EVAL", "return #ARGV[1]", 0, value, timeout=PATIENCE * 4) == \
            (":", str(BIG).encode())
        assert connection.call("EVAL", "return redis.call('STRLEN', KEYS[1])", 1, value,
                               timeout=PATIENCE * 4) == (":", b"0")
        many = ["EVAL", "return #ARGV", 0] + [b"w" * 100] * 500_000
        assert connection.call(*many, timeout=PATIENCE * 4) == (":", b"500000")
        text = b"return #'" + b"s" * BIG + b"'"
        assert connection.call("EVAL", text, 0, timeout=PATIENCE * 4) == (":", str(BIG).encode())
        assert connection.call("SCRIPT", "FLUSH") == ("+", b"OK")


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
