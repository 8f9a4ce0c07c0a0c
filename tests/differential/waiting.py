"""Clients that wait: BLPOP and its like, with several connections, step by step on both servers.

A step is a command of one client. It is over when the client has its reply or, as the server's own CLIENT
LIST says, waits; then every client that waited and does so no more has to have a reply as well. So each
step has the same outcome on both servers however fast they are, and outcomes are compared.

Beside commands there are `@CLOSE` (the client goes away), `@PAUSE ms` (so that a time-out passes), and the
word `@ID2` in a command stands for the id of client 2. What a waiting client would send is left out.

Nothing here stores over a key that a client may wait for with SORT STORE or ZRANGESTORE: where that
replaces a value of another type Redis 7.0 forgets to look for waiters, and they miss the list. Where SWAPDB
brings several keys that a client waits for, Redis 7.0 serves it from any of them, as its hash table has them.
"""
import re
import time

import grammar
import wire
from sequences import Found, RESET

CLIENTS = 5
PATIENCE_SECONDS = 5
WAITS = b"(waits)"

COMMANDS = """
BLPOP line+ 0
BLPOP line 0
BRPOP line+ 0
BLMOVE line line LEFT|RIGHT LEFT|RIGHT 0
BRPOPLPUSH line line 0
BLMPOP 0 lines LEFT|RIGHT {COUNT few}
BZPOPMIN line+ 0
BZPOPMAX line+ 0
BZMPOP 0 lines MIN|MAX {COUNT few}
"""
OTHERS = """
LPUSH line item+
RPUSH line item+
RPUSH line item+
LPUSHX line item
LPOP line
LINSERT line BEFORE item item
LMOVE line line LEFT|RIGHT LEFT|RIGHT
RPOPLPUSH line line
LRANGE line 0 -1
LMPOP lines LEFT
ZADD line score item score item
ZADD line score item
ZREM line item
ZRANGESTORE d line 0 -1
SADD line item
HSET line item item
SET line item
SET line item
DEL line+
UNLINK line
RENAME line line
COPY line line REPLACE
MOVE line 1
SWAPDB 0 1
SELECT 1
SELECT 0
FLUSHDB
SORT line STORE d ALPHA
RENAME d line
RENAME d line
PEXPIRE line later
EXPIRE line 0
MULTI
MULTI
EXEC
EXEC
EVAL script 2 line line
WATCH line
CLIENT UNBLOCK somebody
CLIENT UNBLOCK somebody ERROR|TIMEOUT
TYPE line
EXISTS line
@CLOSE
"""
SCRIPTS = ["redis.call('RPUSH', KEYS[1], 'x', 'y'); redis.call('LPUSH', KEYS[2], 'z')",
           "redis.call('RPUSH', KEYS[1], 'x'); redis.call('DEL', KEYS[1])",
           "redis.call('DEL', KEYS[1]); redis.call('RPUSH', KEYS[1], 'x'); return redis.call('LPOP', KEYS[1])",
           "redis.call('LPUSH', KEYS[2], '1', '2', '3'); redis.call('RENAME', KEYS[2], KEYS[1])",
           "return redis.call('BLMPOP', 0, 2, KEYS[1], KEYS[2], 'LEFT')",
           "redis.call('SET', KEYS[1], 'x'); redis.call('DEL', KEYS[1]); redis.call('RPUSH', KEYS[1], 'y')"]
LINES = [b"a", b"b", b"c"]
SEVERAL = {"line+", "lines"}
MOVES = {"BLMOVE", "BRPOPLPUSH"}
KINDS = {
    "line": grammar.one_of(LINES), "item": grammar.one_of(["1", "2", "3", "x"]),
    "score": grammar.one_of(["1", "2", "-1.5", "inf"]), "few": grammar.one_of([1, 2, 3, 10]),
    "later": grammar.one_of([100000]), "script": grammar.one_of(SCRIPTS),
    "lines": lambda rng: (lambda keys: [str(len(keys)).encode(), *keys])(
        [rng.choice(LINES) for _ in range(rng.choice([1, 2, 3]))]),
    "somebody": grammar.one_of([f"@ID{number}" for number in range(1, CLIENTS + 1)] + ["999999"]),
}


class Waiting:
    """The clients of one server, who may wait."""

    def __init__(self, server, resp):
        self.server, self.resp = server, resp
        self.control = wire.Connection(server.connect())
        requests = [("FLUSHALL",), *RESET, ("CLIENT", "UNPAUSE")]
        self.control.send(b"".join(wire.encode([word.encode() for word in words]) for words in requests))
        self.control.replies(len(requests))
        self.clients, self.ids, self.waiting = {}, {}, {}

    def client(self, number):
        if number not in self.clients:
            connection = wire.Connection(self.server.connect())
            if self.resp == 3:
                connection.call("HELLO", 3)
            self.clients[number] = connection
            self.ids[number] = connection.call("CLIENT", "ID")[1]
        return self.clients[number]

    def flags(self, number):
        """Its flags in CLIENT LIST; None when the server does not know it any more."""
        _, text = self.control.call("CLIENT", "LIST", "ID", self.ids[number])
        found = re.search(rb"flags=(\S+)", text)
        return found and found[1]

    def step(self, number, args):
        """[(client, its command, raw reply or WAITS)] of all that happened."""
        word = args[0].upper()
        if word == b"@PAUSE":
            time.sleep(int(args[1]) / 1000)
        elif word == b"@CLOSE":
            self.leave(number)
        else:
            return [self.send(number, args), *self.settle()]
        return self.settle()

    def send(self, number, args):
        connection = self.client(number)
        ids = {b"@ID%d" % other: self.ids[other] for other in list(self.ids)}
        connection.send(wire.encode([ids.get(arg, arg) for arg in args]))
        line = wire.line(args)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and not connection.closed:
            raw = connection.replies(1, 0.003)
            if raw:
                return number, line, raw[0]
            if b"b" in (self.flags(number) or b""):
                self.waiting[number] = line
                return number, line, WAITS
        return number, line, b""

    def settle(self):
        events = []
        for number, line in list(self.waiting.items()):
            if b"b" in (self.flags(number) or b""):
                continue
            del self.waiting[number]
            raw = self.clients[number].replies(1, PATIENCE_SECONDS)
            events.append((number, line, raw[0] if raw else b""))
        return events

    def leave(self, number):
        self.waiting.pop(number, None)
        if number not in self.clients:
            return
        self.clients.pop(number).close()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.flags(number) and time.monotonic() < deadline:
            time.sleep(0.001)
        del self.ids[number]

    def close(self):
        for number in list(self.clients):
            self.leave(number)
        self.control.close()


class WaitingPlay:
    """As sequences.Play, step by step."""

    def __init__(self, ours, theirs, rules, differences, resp, state):
        self.servers = ours, theirs
        self.rules, self.differences, self.resp, self.state = rules, differences, resp, state

    def run(self, steps):
        sides = [Waiting(server, self.resp) for server in self.servers]
        try:
            for number, args in steps:
                if number in sides[0].waiting and not args[0].startswith(b"@"):
                    continue
                found = self.step([side.step(number, args) for side in sides])
                if found:
                    return found
                if set(sides[0].waiting) != set(sides[1].waiting):
                    return Found(wire.line(args), *(sorted(side.waiting) for side in sides))
            return self.state()
        finally:
            for side in sides:
                side.close()

    def step(self, outcomes):
        ours, theirs = ({number: (line, raw) for number, line, raw in events} for events in outcomes)
        for number in sorted(set(ours) | set(theirs)):
            line, mine = ours.get(number, ("", b"(nothing)"))
            line, other = theirs.get(number, (line, b"(nothing)"))
            if mine == other or self.same(line, mine, other):
                continue
            return Found(f"{line} of client {number}", mine, other)
        return None

    def same(self, line, mine, other):
        if self.differences.find(line, mine, other):
            return True
        spoken = all(raw and not raw.startswith(b"(") for raw in (mine, other))
        return spoken and self.rules.same(line, wire.reply(mine), wire.reply(other))


class WaitingGrammar:
    """common: the names that both servers have."""

    def __init__(self, common):
        self.waits, self.others = (
            [command for command in map(grammar.Command, text.strip().splitlines())
             if command.name.lower() in common or command.tokens[0].startswith("@")]
            for text in (COMMANDS, OTHERS))

    def sequence(self, rng, length):
        # Either databases are swapped, or clients wait for several keys, or move items from key to key: where
        # several keys come at once, Redis serves them in the order of its hash table.
        swaps = rng.random() < 0.5
        waits = [command for command in self.waits
                 if not (swaps and (SEVERAL & set(command.tokens) or command.name in MOVES))]
        others = [command for command in self.others if swaps or command.name != "SWAPDB"]
        steps = []
        for _ in range(length):
            command = rng.choice(waits if rng.random() < 0.35 else others)
            steps.append((rng.randint(1, CLIENTS), command.draw(rng, KINDS)))
        return steps
