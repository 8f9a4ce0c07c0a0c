#!/usr/bin/python3
"""Four clients that subscribe, publish, track keys and monitor, on Sluice and on redis-server:
after every command everything that each of them has received must be the same, byte for byte.

  pushes.py [--seed n] [--rounds n] [--seconds s] [--server program]

A difference is printed with its seed and the commands up to it. Exit status 1 when there is one.
"""
import argparse
import pathlib
import random
import re
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed  # noqa: E402

CLIENTS = 4
STEPS = 60
NAMES = ["a", "b", "ab", "news"]
PATTERNS = ["a*", "n?ws"]  # none matches what another does: Redis's order among patterns is chance
# UNSUBSCRIBE without names is left out: the order of Redis's answers is chance.
COMMANDS = """
SUBSCRIBE name name
SUBSCRIBE name
UNSUBSCRIBE name
PSUBSCRIBE pattern
PUNSUBSCRIBE pattern
PUNSUBSCRIBE
SSUBSCRIBE name
SUNSUBSCRIBE name
PUBLISH name text
PUBLISH name text
SPUBLISH name text
PUBSUB NUMSUB name name
PUBSUB NUMPAT
PUBSUB SHARDNUMSUB name
CLIENT TRACKING ON
CLIENT TRACKING ON NOLOOP
CLIENT TRACKING ON OPTIN
CLIENT TRACKING ON OPTOUT
CLIENT TRACKING ON BCAST
CLIENT TRACKING ON BCAST PREFIX name
CLIENT TRACKING ON BCAST PREFIX n PREFIX a NOLOOP
CLIENT TRACKING OFF
CLIENT TRACKINGINFO
CLIENT CACHING YES
CLIENT CACHING NO
CLIENT GETREDIR
GET name
MGET name name
SET name text
MSET name text name text
APPEND name text
DEL name name
GETDEL name
RENAME name name
EXPIRE name -1
EXISTS name
EVAL return(redis.call('get',KEYS[1])) 1 name
EVAL return(redis.call('set',KEYS[1],'x')) 1 name
EVAL return(redis.call('publish',KEYS[1],'x')) 1 name
FLUSHDB
FLUSHALL
MULTI
EXEC
DISCARD
HELLO 2
HELLO 3
RESET
RESET
MONITOR
PING
"""
LINES = COMMANDS.strip().splitlines()
CLIENT_ID = re.compile(rb"(\$2\r\nid\r\n):\d+")  # in HELLO's answer
IN_MULTI = b"-ERR WATCH inside MULTI is not allowed\r\n"
SHOWN = re.compile(rb"^\+\d+\.\d{6} \[(\d+) (lua|unix):?[^\]]*\]", re.M)  # to a monitor
SETTLING = re.compile(rb'^\+\S+ \[[^\]]*\] "PING" "settle"\r\n', re.M)


def draw(rng):
    words = []
    for word in rng.choice(LINES).split(" "):
        pool = {"name": NAMES, "pattern": PATTERNS, "text": ["x", "", "1"]}.get(word, [word])
        words.append(rng.choice(pool).encode())
    return words


class Client:
    def __init__(self, server, name):
        self.connection = wire.Connection(server.connect())
        self.name = b"client-%d" % name
        self.in_multi = self.monitors = self.asks_to_monitor = False

    def send(self, words):
        if words[0] in (b"EXEC", b"DISCARD", b"RESET"):
            self.in_multi = False
        self.asks_to_monitor = words == [b"MONITOR"] and not self.in_multi
        self.monitors = self.monitors and words != [b"RESET"]
        self.connection.send(wire.encode(words))

    def received(self, number, began_multi=False):
        """All bytes so far: up to the answer to a question of our own, which is told from others by its
        number, or in MULTI by its fault."""
        mark = b"%s so far %d" % (self.name, number)
        question = [b"WATCH", self.name] if self.in_multi else [b"PING", mark]
        self.connection.send(wire.encode(question))
        deadline = time.monotonic() + 10
        while True:
            data = self.connection.data
            self.monitors |= self.asks_to_monitor and b"\r\n+OK\r\n" in b"\r\n" + data
            answer = IN_MULTI if self.in_multi else mark + b"\r\n"
            if self.monitors:  # it is shown the question behind the answer to it
                answer = b'"%s" "%s"\r\n' % tuple(question)
            if data.endswith(answer):
                break
            queued = b"+QUEUED\r\n" if self.monitors else b"+OK\r\n+QUEUED\r\n"
            if began_multi and not self.in_multi and data.endswith(queued):
                self.in_multi = True
                break
            if time.monotonic() > deadline or not self.connection.fill():
                return data + b" (silence)"
        self.connection.data = b""
        return SHOWN.sub(rb"+[\1 \2]", SETTLING.sub(b"", CLIENT_ID.sub(rb"\1:id", data)))


def play(servers, rng):
    """None, or the story of a difference."""
    steps = []
    controls = [wire.Connection(server.connect()) for server in servers]
    for control in controls:
        control.call("FLUSHALL")
    sides = [[Client(server, name) for name in range(CLIENTS)] for server in servers]
    try:
        for number in range(STEPS):
            who, words = rng.randrange(CLIENTS), draw(rng)
            if words[0] in (b"EXEC", b"DISCARD") and not sides[0][who].in_multi:
                continue  # what a subscriber's EXEC is refused with is in differences.txt
            steps.append(f"{who}> {wire.line(words)}")
            heard = []
            for clients, control in zip(sides, controls):
                clients[who].send(words)
                settle(control)
                heard.append([client.received(number, client is clients[who] and words == [b"MULTI"])
                              for client in sorted(clients, key=lambda one: one is not clients[who])])
            if words == [b"EXEC"]:  # Redis 7.0 sends messages for itself in the midst of the answers
                heard = [[sorted(data.split(b"\r\n")) for data in side] for side in heard]
            if heard[0] != heard[1]:
                at = next(n for n in range(CLIENTS) if heard[0][n] != heard[1][n])
                return "\n".join([*steps, f"  ours   {heard[0][at]!r}", f"  theirs {heard[1][at]!r}"])
        return None
    finally:
        for clients in sides:
            for client in clients:
                client.connection.close()
        for control in controls:
            control.close()


def settle(control):
    """What a server does at the end of a turn is done: the second answer is from a later one."""
    control.call("PING", "settle")
    control.call("PING", "settle")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--rounds", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--server", default=SLUICE)
    options = parser.parse_args()
    servers = [Server(options.server), Server(REDIS)]
    deadline = time.monotonic() + options.seconds
    differences = rounds = 0
    try:
        while rounds < options.rounds and time.monotonic() < deadline and differences < 5:
            seed = options.seed + rounds
            found = play(servers, random.Random(seed))
            if found:
                differences += 1
                print(f"--- --seed {seed} --rounds 1\n{found}", flush=True)
            rounds += 1
    finally:
        for server in servers:
            server.stop()
    print(f"{rounds} rounds of {STEPS} commands from --seed {options.seed}, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
