#!/usr/bin/python3
"""Compares what Sluice and redis-server count of errors: errorstats, and calls, rejected_calls and failed_calls of each
command in commandstats, after cases written by hand and made-up scripts.

  error_counts.py [--server program] [--oracle program] [--seed n] [--scripts n]

An error is counted once, where it arises, whoever hands it on; the call of a script whose answer it is counts as failed.
"""
import argparse
import pathlib
import random
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed  # noqa: E402

SETUP = """DEL s l n r
SET s x
RPUSH l 1
ACL SETUSER few on nopass resetkeys ~s* resetchannels &s* +@all -set
FUNCTION LOAD REPLACE "#!lua name=lib\\nredis.register_function('bad', function() return redis.call('incr', 's') end)\\nredis.register_function('kept', function() return redis.pcall('incr', 's') end)\\nredis.register_function('own', function() return redis.error_reply('MINE x') end)\\nredis.register_function{function_name='reads', callback=function() return redis.pcall('set', 's', 1) end, flags={'no-writes'}}"
"""

# Requests of a case stand between semicolons.
CASES = r"""
EVAL "return redis.call('incr', 's')" 0
EVAL "return redis.pcall('incr', 's')" 0
EVAL "redis.pcall('incr', 's') return 1" 0
EVAL "redis.pcall('incr', 's') redis.pcall('incr', 's') return 1" 0
EVAL "return redis.call('get')" 0
EVAL "return redis.pcall('get')" 0
EVAL "redis.pcall('get') return 1" 0
EVAL "return redis.call('nosuch', 'a')" 0
EVAL "return redis.pcall('nosuch', 'a')" 0
EVAL "redis.pcall('nosuch', 'a') return 1" 0
EVAL "return redis.call('client', 'nosuch')" 0
EVAL "redis.pcall('client') return 1" 0
EVAL "redis.pcall('config', 'get') return 1" 0
EVAL "return redis.call('multi')" 0
EVAL "redis.pcall('multi') return 1" 0
EVAL "return redis.pcall('subscribe', 'a')" 0
EVAL "return {redis.pcall('incr', 's'), redis.pcall('get', 's')}" 0
EVAL "return {redis.pcall('incr', 's'), redis.pcall('get')}" 0
EVAL "return {redis.error_reply('MINE a'), redis.error_reply('YOURS b')}" 0
EVAL "return redis.error_reply('MINE a')" 0
EVAL "return redis.error_reply('one')" 0
EVAL "return {err = 'MINE a'}" 0
EVAL "return {err = 'nocode'}" 0
EVAL "return {err = 'MINE a', ignore_error_stats_update = true}" 0
EVAL "return {err = 'MINE a', ignore_error_stats_update = false}" 0
EVAL "return {err = 'MINE a', ignore_error_stats_update = 0}" 0
EVAL "error('boom')" 0
EVAL "error({err = 'MINE boom'})" 0
EVAL "error(redis.pcall('incr', 's'))" 0
EVAL "error({err = redis.pcall('incr', 's').err})" 0
EVAL "local ok, e = pcall(redis.call, 'incr', 's') return e" 0
EVAL "local ok, e = pcall(redis.call, 'incr', 's') return e.err" 0
EVAL "pcall(redis.call, 'get') return 1" 0
EVAL "pcall(error, 'x') return 1" 0
EVAL "return nosuch" 0
EVAL "return redis.call()" 0
EVAL "return redis.pcall()" 0
EVAL "redis.pcall() return 1" 0
EVAL "return redis.pcall('get', {})" 0
EVAL "return redis.acl_check_cmd('nosuch')" 0
EVAL "syntax error(" 0
EVAL "return 1" 1
EVAL "return 1" x
EVALSHA 0000000000000000000000000000000000000000 0
EVAL_RO "return redis.call('set', 's', 1)" 0
EVAL_RO "redis.pcall('set', 's', 1) return 1" 0
EVAL "#!lua flags=no-writes\nreturn redis.call('set', 's', 1)" 0
EVAL "#!lua flags=no-writes\nredis.pcall('set', 's', 1) return 1" 0
EVAL_RO "#!lua\nreturn 1" 0
EVAL "#!lua flags=nosuch\nreturn 1" 0
FCALL bad 0
FCALL kept 0
FCALL own 0
FCALL reads 0
FCALL nosuch 0
FCALL_RO bad 0
FCALL_RO reads 0
FCALL bad x
FUNCTION LOAD "return 1"
SCRIPT LOAD "syntax error("
MULTI; INCR s; EVAL "redis.pcall('incr', 's') return 1" 0; EVAL "return redis.call('incr', 's')" 0; EXEC
MULTI; GET; EXEC
MULTI; EVAL "return redis.pcall('nosuch')" 0; INCR s; EXEC
INCR s; EVAL "return 1" 0
EVAL "return 1" 0; INCR s
AUTH few x; EVAL "return redis.call('set', 's', 1)" 0; AUTH default x
AUTH few x; EVAL "redis.pcall('set', 's', 1) return 1" 0; AUTH default x
AUTH few x; EVAL "redis.pcall('get', 'l') return redis.pcall('get', 'l')" 0; AUTH default x
AUTH few x; EVAL "redis.pcall('publish', 'x', 1) return 1" 0; AUTH default x
AUTH few x; SET s 1; GET l; EVAL "return 1" 1 l; AUTH default x
CONFIG SET maxmemory 1; EVAL "redis.pcall('set', 's', 1) return 1" 0; CONFIG SET maxmemory 0
CONFIG SET maxmemory 1; EVAL "return redis.call('set', 's', 1)" 0; CONFIG SET maxmemory 0
CONFIG SET maxmemory 1; EVAL "return redis.pcall('lpush', 's', 1)" 0; CONFIG SET maxmemory 0
CONFIG SET maxmemory 1; EVAL "#!lua\nreturn 1" 0; SET s 1; CONFIG SET maxmemory 0
"""

# What asks is not counted.
ASKS = ("cmdstat_info:", "cmdstat_config|resetstat:")


def words(line):
    """As redis-cli reads a line."""
    made = []
    for found in re.finditer(r'"((?:[^"\\]|\\.)*)"|(\S+)', line):
        quoted = found[1]
        made.append(found[2] if quoted is None else re.sub(r"\\(.)", lambda e: "\n" if e[1] == "n" else e[1], quoted))
    return made


def counts(connection):
    text = connection.call("INFO", "commandstats", "errorstats", "stats")[1].decode()
    kept = {}
    for line in text.splitlines():
        if line.startswith("cmdstat_") and not line.startswith(ASKS):
            name, _, fields = line.partition(":")
            kept[name] = ",".join(part for part in fields.split(",") if "calls=" in part)
        elif line.startswith(("errorstat_", "total_error_replies")):
            name, _, value = line.partition(":")
            kept[name] = value
    return kept


class Both:
    def __init__(self, options):
        self.servers = [Server(options.server), Server(options.oracle)]
        self.compared = self.differences = 0

    def __enter__(self):
        for server in self.servers:
            server.__enter__()
        self.connections = [wire.Connection(server.connect()) for server in self.servers]
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.__exit__(*_)

    def play(self, case, setup=SETUP):
        for connection in self.connections:
            for line in setup.splitlines():
                assert connection.call(*words(line))[0] != "-", line
            connection.call("CONFIG", "RESETSTAT")
        for line in case:
            replies = [connection.call(*words(line)) for connection in self.connections]
            if replies[0] != replies[1]:
                self.note(line, *replies)
        ours, theirs = map(counts, self.connections)
        self.compared += 1
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                self.note("; ".join(case), f"{name}:{ours.get(name)}", f"{name}:{theirs.get(name)}")

    def note(self, what, ours, theirs):
        self.differences += 1
        if self.differences <= 30:
            print(f"{what}\n  ours   {ours}\n  theirs {theirs}")


CALLS = ["'incr', 's'", "'get', 's'", "'get'", "'nosuch'", "'multi'", "'lpush', 's', 1", "'llen', 'l'", "'set', 'n', 1",
         "'client', 'nosuch'", "'config', 'get'", "'eval', 'return 1', 0", "'expire', 's', 'x'", "'blpop', 'l', 'x'"]


def value(rng, depth=0):
    """An expression of Lua, often an error."""
    roll = rng.randrange(8 if depth < 2 else 6)
    if roll < 3:
        return f"redis.{rng.choice(['pcall', 'pcall', 'call'])}({rng.choice(CALLS)})"
    if roll == 3:
        return rng.choice(["redis.error_reply('MINE x')", "redis.error_reply('x')", "{err = 'YOURS y'}", "1", "'text'"])
    if roll == 4:
        return f"({{pcall(redis.call, {rng.choice(CALLS)})}})[2]"
    if roll == 5:
        return "{err = tostring((redis.pcall('incr', 's')).err), ignore_error_stats_update = %s}" % rng.choice(
            ["true", "false", "nil", "1"])
    return "{" + ", ".join(value(rng, depth + 1) for _ in range(rng.randint(1, 3))) + "}"


def script(rng):
    lines = [rng.choice([f"local v{i} = {value(rng)}", f"redis.pcall({rng.choice(CALLS)})"]) for i in range(rng.randrange(4))]
    end = value(rng)
    # A table without an `err` that is raised ends redis-server.
    raised = f"error({end})" if end.startswith(("redis.error_reply", "{err")) else "return 2"
    lines.append(rng.choice([f"return {end}", f"return {end}", raised, "return 1"]))
    name = rng.choice(["EVAL", "EVAL", "EVAL", "EVAL_RO"])
    return f'{name} "{" ".join(lines)}" 0'


def made_up(rng):
    requests = [rng.choice([script(rng), script(rng), "INCR s", "GET", "NOSUCH", "GET s"]) for _ in range(rng.randint(1, 3))]
    return ["MULTI", *requests, "EXEC"] if rng.random() < 0.2 else requests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--scripts", type=int, default=400)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with Both(options) as both:
        for line in CASES.strip().splitlines():
            both.play([request.strip() for request in line.split("; ")])
        for _ in range(options.scripts):
            both.play(made_up(rng), setup="DEL s l n\nSET s x\nRPUSH l 1\n")
        print(f"seed {options.seed}: {both.compared} cases, {both.differences} differences")
        return 1 if both.differences else 0


if __name__ == "__main__":
    sys.exit(main())
