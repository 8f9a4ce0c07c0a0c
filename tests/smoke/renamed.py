#!/usr/bin/python3
"""Commands that a configuration renames or turns off: `rename-command`, beside redis-server, and
`scripting-enabled no`.

  renamed.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server import REDIS, Server  # noqa: E402
from smoke import Chosen, client, run_tests  # noqa: E402

RENAMES = ("--rename-command", "CONFIG", "a-name-that-strangers-do-not-guess", "--rename-command", "FLUSHALL", "",
           "--rename-command", "get", "fetch", "--rename-command", "DEL", "get")
# What each server is asked, one after the other.
REQUESTS = [
    ("SET", "k", "v"), ("FETCH", "k"), ("GET", "k"), ("fetch", "k"), ("DEL", "k"), ("FLUSHALL",), ("CONFIG", "GET", "port"),
    ("A-name-that-strangers-do-not-guess", "GET", "maxmemory-samples"), ("a-name-that-strangers-do-not-guess",),
    ("a-name-that-strangers-do-not-guess", "nosuch"), ("COMMAND", "GETKEYS", "fetch", "k"),
    ("EVAL", "return redis.call('fetch', KEYS[1])", "1", "k"), ("EVAL", "return redis.pcall('del', KEYS[1]).err", "1", "k"),
    ("MULTI",), ("flushall",), ("EXEC",), ("ACL", "SETUSER", "bob", "on", "nopass", "~*", "+fetch"),
    ("ACL", "SETUSER", "bob", "+del"), ("ACL", "DRYRUN", "bob", "fetch", "k"), ("ACL", "DRYRUN", "bob", "get", "k"),
    ("OBJECT", "ENCODING", "k"), ("fetch",), ("fetch", "a", "b"),
]


def answers(program, *options):
    server = Server(program, options)
    try:
        connection = client(server)
        return [(request, connection.call(*request)) for request in REQUESTS]
    finally:
        server.stop()


def refusal(*options):
    try:
        Server(Chosen.program, options).stop()
    except RuntimeError as fault:
        return str(fault)
    return ""


def test_as_redis():
    for ours, theirs in zip(answers(Chosen.program, *RENAMES), answers(REDIS, *RENAMES)):
        assert ours == theirs, f"\n  ours   {ours}\n  theirs {theirs}"


def test_what_cannot_be_renamed():
    for words, text in ((("nosuch", "x"), "No such command in rename-command"),
                        (("get", "set"), "Target command name already exists"),
                        (("config|get", ""), "No such command in rename-command"),
                        (("get",), "wrong number of arguments")):
        said = refusal("--rename-command", *words)
        assert text in said, said


def test_what_is_not_there_may_be_renamed_away():
    """Files that harden a server name commands of replication and clusters."""
    words = []
    for name in ("SYNC", "psync", "REPLCONF", "FAILOVER", "MIGRATE", "restore-asking"):
        words += ["--rename-command", name, ""]
    server = Server(Chosen.program, words)
    try:
        assert client(server).call("PING") == ("+", b"PONG")
    finally:
        server.stop()


def test_a_log_outlives_new_names():
    with_log = ("--appendonly", "yes", "--appendfsync", "always")
    server = Server(Chosen.program, with_log)
    try:
        connection = client(server)
        assert connection.call("SET", "k", "v") == ("+", b"OK")
        assert connection.call("EVAL", "redis.call('SET', KEYS[1], 'w')", "1", "l") == ("$-1", None)
        assert connection.call("FUNCTION", "LOAD", "#!lua name=f\nredis.register_function('f', function() end)")
        server.kill()
        server.options = [*with_log, "--rename-command", "SET", "", "--rename-command", "get", "set",
                          "--scripting-enabled", "no"]
        server.start()
        connection = client(server)
        assert connection.call("SET", "k") == ("$", b"v")
        assert connection.call("SET", "l") == ("$", b"w")
        assert connection.call("INCR", "n") == (":", b"1")
        server.kill()
        server.options = list(with_log)
        server.start()
        connection = client(server)
        assert connection.call("GET", "n") == ("$", b"1")
        assert connection.call("FCALL", "f", "0") == ("$-1", None)
    finally:
        server.stop()


def test_without_scripts():
    server = Server(Chosen.program, ("--scripting-enabled", "no"))
    off = ("-", b"ERR scripting is turned off (scripting-enabled no)")
    try:
        connection = client(server)
        for words in (("EVAL", "return 1", "0"), ("evalsha", "a" * 40, "0"), ("EVAL_RO", "return 1", "0"), ("FCALL", "f", "0"),
                      ("SCRIPT", "LOAD", "return 1"), ("FUNCTION", "LIST"), ("FUNCTION",)):
            assert connection.call(*words) == off, words
        assert connection.call("FENCED", "lock", "1", "EVAL", "return 1", "0")[0] == "-"
        assert connection.call("MULTI") == ("+", b"OK")
        assert connection.call("EVAL", "return 1", "0") == off
        assert connection.call("EXEC")[1].startswith(b"EXECABORT")
        assert connection.call("COMMAND", "INFO", "eval") == ("*", [("$-1", None)])
        assert connection.call("CONFIG", "SET", "scripting-enabled", "yes")[0] == "-"
        assert connection.call("SET", "k", "v") == ("+", b"OK")
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
