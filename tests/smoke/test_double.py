#!/usr/bin/python3
"""A test double in one process: private spaces, their clocks, copies and ports; and what a client could do to
others by way of them.

  test_double.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import signal
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from smoke import PATIENCE, Checked, Chosen, Skip, client, run_tests, until  # noqa: E402

OK = ("+", b"OK")
LOADING = ("-", b"LOADING Redis is loading the dataset in memory")


def number(value):
    return ":", b"%d" % int(value)


def encode(*words):
    return wire.encode([str(word).encode() for word in words])


def replies(connection, count):
    return [wire.reply(raw) for raw in connection.replies(count)]


def double(*options):
    return Checked("--test-double", "yes", *options)


def enter(server, name):
    connection = client(server)
    assert connection.call("SLUICE.SPACE", name) == OK
    return connection


def at_port(port):
    return wire.Connection(socket.create_connection(("127.0.0.1", port), PATIENCE))


def spaces(connection):
    """name: its figures."""
    found = {}
    for _, words in connection.call("SLUICE.SPACE", "LIST")[1]:
        values = [each[1] for each in words]
        figures = dict(zip(values[::2], values[1::2]))
        found[figures[b"name"]] = figures
    return found


def test_without_the_option():
    with Checked() as server:
        for words in (["SLUICE.SPACE", "x"], ["SLUICE.RESET"], ["SLUICE.CLOCK", "NOW"]):
            assert client(server).call(*words)[1].startswith(b"ERR unknown command"), words
        answer = client(server).call("AUTH", "space:x", "any")
        assert answer[1].startswith(b"WRONGPASS"), answer


def test_it_says_what_it_is():
    with double() as server:
        assert b"test_double:yes\r\nspace:default\r\n" in client(server).call("INFO", "server")[1]
        assert b"space:x\r\n" in enter(server, "x").call("INFO", "server")[1]
        assert "test double" in server.output()


def test_spaces_share_nothing():
    with double() as server:
        default, one, two = client(server), enter(server, "one"), enter(server, "two")
        for at, connection in enumerate((default, one, two)):
            assert connection.call("SET", "k", at) == OK
            assert connection.call("PUBLISH", "c", "m") == number(0)
            assert connection.call("CONFIG", "SET", "maxclients", 10 + at) == OK
        for at, connection in enumerate((default, one, two)):
            assert connection.call("GET", "k") == ("$", str(at).encode())
            assert connection.call("CONFIG", "GET", "maxclients")[1][1][1] == str(10 + at).encode()
            assert connection.call("DBSIZE") == number(1)
            assert connection.call("CLIENT", "LIST")[1].count(b"\n") == 1
        one.call("SCRIPT", "LOAD", "return 1")
        sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
        assert two.call("SCRIPT", "EXISTS", sha)[1][0] == number(0)
        assert one.call("FLUSHALL") == OK
        assert two.call("DBSIZE") == number(1)


def test_what_follows_in_a_pipeline_is_for_the_new_space():
    with double() as server:
        connection = client(server)
        connection.send(b"".join(encode(*words) for words in (
            ["SET", "k", "default"], ["SLUICE.SPACE", "one"], ["GET", "k"], ["SET", "k", "one"],
            ["SLUICE.SPACE", "default"], ["GET", "k"], ["SLUICE.SPACE", "one"], ["GET", "k"])))
        assert replies(connection, 8) == [OK, OK, ("$-1", None), OK, OK, ("$", b"default"), OK, ("$", b"one")]


def test_user_names_choose_a_space():
    with double() as server:
        enter(server, "one").call("SET", "k", "v")
        for words in (["AUTH", "space:one", "any"], ["AUTH", "space", "one"]):
            connection = client(server)
            assert connection.call(*words) == OK
            assert connection.call("GET", "k") == ("$", b"v")
        connection = client(server)
        assert connection.call("HELLO", "3", "AUTH", "space:one", "x", "SETNAME", "me")[0] == "%"
        assert connection.call("GET", "k") == ("$", b"v")
        assert connection.call("CLIENT", "GETNAME") == ("$", b"me")


def test_a_password_is_asked_for_all_the_same():
    with double("--requirepass", "secret") as server:
        assert client(server).call("AUTH", "space:one", "wrong")[0] == "-"
        assert client(server).call("AUTH", "space", "one")[0] == "-"
        assert client(server).call("SLUICE.SPACE", "one")[1].startswith(b"NOAUTH")
        connection = client(server)
        assert connection.call("AUTH", "space:one", "secret") == OK
        assert connection.call("PING") == ("+", b"PONG")
        assert connection.call("SLUICE.SPACE", "two") == OK
        assert connection.call("PING") == ("+", b"PONG")
        server.password = "secret"
        connection.call("SLUICE.SPACE", "default")
        connection.call("CONFIG", "SET", "requirepass", "")


def test_a_space_with_a_password_of_its_own():
    with double() as server:
        assert enter(server, "one").call("CONFIG", "SET", "requirepass", "secret") == OK
        connection = client(server)
        connection.send(encode("SLUICE.SPACE", "one"))
        assert replies(connection, 1)[0][1].startswith(b"NOAUTH")
        assert connection.call("AUTH", "secret") == OK
        assert connection.call("PING") == ("+", b"PONG")


def test_each_space_has_its_clock():
    with double() as server:
        one, two = enter(server, "one"), enter(server, "two")
        for connection in (one, two):
            assert connection.call("SLUICE.CLOCK", "FREEZE") == OK
            assert connection.call("SET", "k", "v", "PX", 60_000) == OK
        assert one.call("SLUICE.CLOCK", "ADVANCE", 60_000) == OK
        assert one.call("EXISTS", "k") == number(0)
        assert two.call("PTTL", "k") == number(60_000)


def test_a_running_clock_wakes_its_space():
    """Nothing is sent meanwhile: the expiry is told by the space's own timer."""
    with double() as server:
        one, listener = enter(server, "one"), enter(server, "one")
        one.call("CONFIG", "SET", "notify-keyspace-events", "Ex")
        listener.call("SUBSCRIBE", "__keyevent@0__:expired")
        one.call("SET", "k", "v", "PX", 50)
        assert replies(listener, 1)[0][1][2] == ("$", b"k")
        one.call("SLUICE.CLOCK", "FREEZE")
        one.call("SET", "far", "v", "PX", 3_600_000)
        one.call("SLUICE.CLOCK", "ADVANCE", 3_599_950)
        one.call("SLUICE.CLOCK", "RUN")
        assert replies(listener, 1)[0][1][2] == ("$", b"far")


def test_a_client_that_waits_is_served_on_the_way():
    with double() as server:
        one, waiter = enter(server, "one"), enter(server, "one")
        one.call("SLUICE.CLOCK", "FREEZE")
        one.call("LOCK.ACQUIRE", "door", "me", "LEASE", 1000)
        waiter.send(encode("LOCK.ACQUIRE", "door", "you", "LEASE", 500, "WAIT", 5000))
        until(lambda: b"cmd=lock.acquire" in one.call("CLIENT", "LIST")[1], "a waiter")
        assert one.call("SLUICE.CLOCK", "ADVANCE", 1200) == OK
        assert replies(waiter, 1)[0][0] != "-"
        assert one.call("SLUICE.CLOCK", "NEXT") == number(300)


def test_reset_is_as_after_the_start():
    with double("--seed", "7") as server:
        one, waiter, other = enter(server, "one"), enter(server, "one"), enter(server, "two")
        other.call("SET", "k", "v")

        def story():
            one.call("SLUICE.CLOCK", "FREEZE")
            one.call("SLUICE.CLOCK", "SET", 1_700_000_000_000)
            one.call("SADD", "s", *range(100))
            return [one.call("SPOP", "s", 3), one.call("XADD", "x", "*", "a", "b"),
                    one.call("SRANDMEMBER", "s", 5), one.call("INFO", "server")[1].split(b"run_id:")[1][:40],
                    one.call("LOCK.ACQUIRE", "l", "me"), one.call("EVAL", "return math.random()", 0)]

        first = story()
        waiter.send(encode("BLPOP", "queue", 0))
        until(lambda: b"cmd=blpop" in one.call("CLIENT", "LIST")[1], "a client that waits")
        assert one.call("SLUICE.RESET") == OK
        assert replies(waiter, 1)[0][1].startswith(b"UNBLOCKED")
        assert one.call("DBSIZE") == number(0)
        assert story() == first
        assert waiter.call("SCARD", "s") == number(97)
        assert other.call("GET", "k") == ("$", b"v")


def test_reset_of_the_default_space():
    with double() as server:
        connection = client(server)
        connection.call("SET", "k", "v")
        connection.send(encode("SLUICE.RESET") + encode("DBSIZE"))
        assert replies(connection, 2) == [OK, number(0)]
        assert connection.call("CONFIG", "SET", "slowlog-max-len", "5") == OK
        assert client(server).call("PING") == ("+", b"PONG")


def test_reset_while_the_disk_is_busy():
    """What a worker has begun for the old engine is not told to the new one."""
    with double("--fence-mark-file", "fence.mark") as server:
        connection = client(server)
        for _ in range(20):
            connection.send(encode("SET", "k", "v") + encode("LOCK.ACQUIRE", "l", "me") + encode("BGSAVE")
                            + encode("SLUICE.RESET") + encode("PING"))
            found = replies(connection, 5)
            assert found[3] == OK and found[4] in (("+", b"PONG"), LOADING), found
            until(lambda: connection.call("PING") == ("+", b"PONG"), "what it keeps is read")


def test_copies():
    with double("--seed", "7") as server:
        source = enter(server, "fixture")
        source.call("SLUICE.CLOCK", "FREEZE")
        source.call("SET", "k", "v", "PX", 1000)
        source.call("SADD", "s", *range(1000))
        source.call("LIMIT.TAKE", "l", "WINDOW", 5, 1000)
        source.call("LOCK.ACQUIRE", "door", "me", "LEASE", 5000)
        source.call("FUNCTION", "LOAD", "#!lua name=f\nredis.register_function('f', function() return 7 end)")
        source.call("LOCK.ACQUIRE", "gone", "me", "LEASE", 5000)
        last = source.call("LOCK.ACQUIRE", "gone too", "me", "LEASE", 5000)[1][0]
        source.call("DEL", "gone", "gone too")
        following = number(int(last[1]) + 1)
        now = source.call("SLUICE.CLOCK", "NOW")
        connection = client(server)
        chosen = []
        for name in ("a", "b"):
            assert connection.call("SLUICE.SPACE", "COPY", "fixture", name) == OK
            copy = enter(server, name)
            assert copy.call("SLUICE.CLOCK", "NOW") == now
            assert copy.call("PTTL", "k") == number(1000)
            assert copy.call("FCALL", "f", 0) == number(7)
            chosen.append((copy.call("SRANDMEMBER", "s", 9), copy.call("SMEMBERS", "s")))
            assert copy.call("DEBUG", "DIGEST") == source.call("DEBUG", "DIGEST")
            # Tokens go on behind the last one, be it of a lock that nothing remembers any more.
            assert copy.call("LOCK.ACQUIRE", "next", "me", "LEASE", 10)[1][0] == following
            assert copy.call("LOCK.RELEASE", "next", "me") == number(0)
            assert int(copy.call("SLUICE.CLOCK", "NEXT")[1]) <= 1000
            assert copy.call("SLUICE.CLOCK", "ADVANCE", 10_000) == OK
            assert copy.call("EXISTS", "k", "door") == number(0)
        assert source.call("PTTL", "k") == number(1000)
        assert chosen[0] == chosen[1]
        assert (source.call("SRANDMEMBER", "s", 9), source.call("SMEMBERS", "s")) == chosen[0]
        # No timer of the server's own stands between the copy and the first one of the data.
        empty = enter(server, "empty")
        assert empty.call("SLUICE.CLOCK", "FREEZE") == OK
        assert empty.call("SET", "k", "v", "PX", 60_000) == OK
        assert connection.call("SLUICE.SPACE", "COPY", "empty", "late") == OK
        assert enter(server, "late").call("SLUICE.CLOCK", "NEXT") == number(60_000)
        # Onto one with clients: they stay, and see what was copied.
        assert connection.call("SLUICE.SPACE", "COPY", "fixture", "b") == OK
        assert copy.call("PTTL", "k") == number(1000)
        assert connection.call("SLUICE.SPACE", "COPY", "nothing", "b")[0] == "-"


def test_a_port_of_its_own():
    with double() as server:
        connection = client(server)
        kind, port = connection.call("SLUICE.SPACE", "LISTEN", "one")
        assert kind == ":" and connection.call("SLUICE.SPACE", "LISTEN", "one") == (":", port)
        assert at_port(int(port)).call("SET", "k", "v") == OK
        assert enter(server, "one").call("GET", "k") == ("$", b"v")
        assert spaces(connection)[b"one"][b"port"] == port
        assert connection.call("SLUICE.SPACE", "DEL", "one") == number(1)
        until(lambda: refused(int(port)), "the port is closed")


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
    except ConnectionRefusedError:
        return True
    return False


def test_del_closes_clients_that_wait_there():
    with double() as server:
        waiter, other = enter(server, "one"), client(server)
        waiter.send(encode("BLPOP", "queue", 0))
        until(lambda: spaces(other)[b"one"][b"clients"] == b"1", "the waiter")
        assert other.call("SLUICE.SPACE", "DEL", "one") == number(1)
        assert not waiter.fill() and waiter.closed
        assert b"one" not in spaces(other)
        assert enter(server, "one").call("DBSIZE") == number(0)


def test_what_was_read_with_a_slow_script_is_answered_beside_it():
    with double("--busy-reply-threshold", "20") as server:
        loops, other, default = enter(server, "one"), enter(server, "two"), client(server)
        server.process.send_signal(signal.SIGSTOP)  # so that one turn reads both
        loops.send(encode("EVAL", "while true do end", 0))
        other.send(encode("PING"))
        server.process.send_signal(signal.SIGCONT)
        assert other.replies(1) == [b"+PONG\r\n"]
        assert default.call("SLUICE.SPACE", "DEL", "one") == number(1)


def test_a_slow_script_is_slow_in_its_space_alone():
    """The others are served, and can end it; also when it runs inside another's wait."""
    with double("--busy-reply-threshold", "20") as server:
        loops, other, default = enter(server, "one"), enter(server, "two"), client(server)
        loops.send(encode("EVAL", "while true do end", 0))
        until(lambda: other.call("PING") == ("+", b"PONG"), "others are served")
        assert other.call("SET", "k", "v") == OK
        second = enter(server, "two")
        second.send(encode("EVAL", "while true do end", 0))
        until(lambda: default.call("PING") == ("+", b"PONG"), "the third is served")
        until(lambda: other.call("GET", "k")[1].startswith(b"BUSY"), "a busy space")
        assert default.call("SLUICE.SPACE", "DEL", "two") == number(1)
        assert default.call("PING") == ("+", b"PONG")
        assert default.call("SLUICE.SPACE", "DEL", "one") == number(1)
        assert default.call("DBSIZE") == number(0)


def test_bad_input():
    with double() as server:
        connection = client(server)
        for words in (["SLUICE.SPACE"], ["SLUICE.SPACE", ""], ["SLUICE.SPACE", "a b"], ["SLUICE.SPACE", "x" * 257],
                      ["SLUICE.SPACE", "a\r\nb"], ["SLUICE.SPACE", "DEL"], ["SLUICE.SPACE", "DEL", "default"],
                      ["SLUICE.SPACE", "COPY", "default", "default"], ["SLUICE.SPACE", "COPY", "a", "default"],
                      ["SLUICE.SPACE", "LISTEN", "default"], ["SLUICE.SPACE", "one", "two"],
                      ["SLUICE.SPACE", "x" * (8 << 20)], ["SLUICE.RESET", "now"],
                      ["AUTH", "space:" + "x" * 300, "any"],
                      ["EVAL", "return redis.call('SLUICE.SPACE', 'x')", 0],
                      ["EVAL", "return redis.call('SLUICE.RESET')", 0]):
            assert connection.call(*words)[0] == "-", words[:3]
        for words in (["SLUICE.SPACE", "x"], ["SLUICE.RESET"], ["SLUICE.CLOCK", "ADVANCE", "1"]):
            connection.call("MULTI")
            assert connection.call(*words)[0] == "-", words
            assert connection.call("EXEC")[0] == "-"
        connection.call("MULTI")
        connection.call("AUTH", "space:x", "any")
        assert connection.call("EXEC")[1][0][0] == "-"
        assert set(spaces(connection)) == {b"default"}


def test_many_spaces_and_many_moves():
    with double() as server:
        def wander(seed):
            connection = client(server)
            for step in range(200):
                assert connection.call("SLUICE.SPACE", f"s{(seed * 31 + step) % 50}") == OK
                assert connection.call("INCR", "visits")[0] == ":"
        threads = [threading.Thread(target=wander, args=(each,)) for each in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        visits = sum(int(enter(server, f"s{each}").call("GET", "visits")[1]) for each in range(50))
        assert visits == 8 * 200
        connection = client(server)
        for each in range(50):
            assert connection.call("SLUICE.SPACE", "DEL", f"s{each}") == number(1)


def kib_of(server, field):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(next(line for line in status if line.startswith(field)).split()[1])


def resident_kib(server):
    return kib_of(server, "VmRSS")


def test_a_space_takes_little():
    """Nearly twice what is documented: pages of the allocator differ from run to run."""
    if Chosen.emulated:
        raise Skip("an emulator's memory is seen")
    spaces_made = 500
    with double() as server:
        connection = client(server)
        enter(server, "warm").call("SET", "key", "value")
        if kib_of(server, "VmSize") > 1 << 30:
            return  # built with a sanitizer, which reserves terabytes, and whose allocator keeps what is freed
        before = resident_kib(server)
        for each in range(spaces_made):
            assert connection.call("SLUICE.SPACE", f"untouched{each}") == OK
        assert connection.call("SLUICE.SPACE", "default") == OK
        untouched = resident_kib(server)
        for each in range(spaces_made):
            assert connection.call("SLUICE.SPACE", f"used{each}") == OK
            assert connection.call("SET", "key", "value") == OK
        used = resident_kib(server)
        assert untouched - before < 4 * spaces_made, untouched - before
        assert used - untouched < 33 * spaces_made, used - untouched


def test_what_happened_in_a_space_stays_without_clients():
    with double() as server:
        for words in (("SLUICE.CLOCK", "FREEZE"), ("CLIENT", "ID"), ("CONFIG", "SET", "maxclients", "9")):
            first = enter(server, words[0] + words[1])
            answers = [first.call(*words), first.call("INFO", "server"), first.call("TIME")]
            assert answers[0][0] != "-", answers
            run_id = answers[1][1].split(b"run_id:")[1][:40]
            first.close()
            again = enter(server, words[0] + words[1])
            assert run_id in again.call("INFO", "server")[1], words
            if words[0] == "SLUICE.CLOCK":
                assert again.call("TIME") == answers[2]
            if words[0] == "CONFIG":
                assert b"9" in [each[1] for each in again.call("CONFIG", "GET", "maxclients")[1]]


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
