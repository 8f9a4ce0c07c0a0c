#!/usr/bin/python3
"""Plays the same commands on Sluice and on redis-server and compares every reply, the keyspace events and
the final state.

  differential.py [--seed n] [--rounds n] [--seconds s] [--resp3] [--events]
                  [--server program] [--case name]

First the hand-picked cases (cases.txt, and waits.txt for clients that wait), then random sequences from
grammar.py and waiting.py, then damaged requests. Each
difference that differences.txt does not excuse is printed with its seed and the shortest sequence that
still shows it. Exit status 1 when there is one.
"""
import argparse
import functools
import pathlib
import random
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import compare  # noqa: E402
import damage  # noqa: E402
import grammar  # noqa: E402
import waiting  # noqa: E402
import wire  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed  # noqa: E402
from sequences import Play, read_cases, shrink  # noqa: E402

SEQUENCE_STEPS = 60
LATER = (b"lpush", b"hset", b"sadd", b"zadd")  # cases with these wait until Sluice has them
REPORTS_MAX = 10
COUNTING = ("slow log", "latency")  # these count SLUICE.SPACE too


def known_commands(server):
    connection = wire.Connection(server.connect())
    reply = connection.call("COMMAND", "LIST")
    connection.close()
    if not reply or reply[0] != "*":
        return set(grammar.Command(text).name.lower() for text in grammar.COMMANDS.strip().splitlines())
    return {name.decode() for _, name in reply[1]}


class InSpace(Server):
    """A test double, of which each client enters one private space."""
    space = None

    def __init__(self, program):
        super().__init__(program, ["--test-double", "yes"])
        self.space = b"differential"

    def connect(self, timeout=20, path=None):
        connection = super().connect(timeout, path)
        if self.space:
            connection.sendall(wire.encode([b"SLUICE.SPACE", self.space]))
            assert connection.recv(64).startswith((b"+OK", b"-NOAUTH"))  # a case has set a password
        return connection


class Harness:
    def __init__(self, options):
        self.options = options
        self.differences = compare.Differences()
        self.ours = (InSpace if options.space else Server)(options.server)
        self.theirs = Server(options.oracle)
        self.known = known_commands(self.ours)
        self.common = self.known & known_commands(self.theirs)
        self.rules = compare.Rules(self.common, self.differences.options)
        self.reports = {}
        self.commands = 0

    def stop(self):
        self.ours.stop()
        self.theirs.stop()

    def play(self, steps, resp, listens):
        """The first difference of a sequence, or None."""
        if not self.ours.alive():
            self.ours.restart()
        if not self.theirs.alive():
            self.theirs.restart()
        self.commands += len(steps)
        return Play(self.ours, self.theirs, self.rules, self.differences, resp, listens).run(steps)

    def play_waiting(self, steps, resp):
        """As play, for clients that may wait."""
        for server in (self.ours, self.theirs):
            if not server.alive():
                server.restart()
        self.commands += len(steps)
        state = Play(self.ours, self.theirs, self.rules, self.differences, resp).compare_states
        return waiting.WaitingPlay(self.ours, self.theirs, self.rules, self.differences, resp, state).run(steps)

    def check(self, title, steps, resp, play=None, listens=False):
        play = play or functools.partial(self.play, listens=listens)
        found = play(steps, resp)
        if not found:
            return
        signature = found.signature()
        if signature in self.reports:
            return
        again = play(steps, resp)
        if not again or again.signature() != signature:
            print(f"(only once, {title}: {found})", flush=True)
            return
        shorter = shrink(steps, lambda fewer: play(fewer, resp), signature)
        last = play(shorter, resp) or found
        text = [f"--- {title}, RESP{resp}", *(f"{client}> {wire.line(args)}" for client, args in shorter),
                str(last)]
        self.reports[signature] = "\n".join(text)
        print(self.reports[signature], flush=True)

    def hand_picked(self):
        for name, steps in read_cases(FOLDER / "cases.txt"):
            if self.options.case and self.options.case not in name:
                continue
            if any(args[0].lower() in LATER and args[0].lower().decode() not in self.known
                   for _, args in steps):
                continue
            if self.options.space and name.startswith(COUNTING):
                continue
            for resp in (2, 3):
                self.check(f"case {name}", steps, resp, listens=resp == 3)

        for name, steps in read_cases(FOLDER / "waits.txt"):
            if self.options.case and self.options.case not in name:
                continue
            names = {args[0].lower().decode() for _, args in steps if not args[0].startswith(b"@")}
            if not names <= self.common:
                continue
            for resp in (2, 3):
                self.check(f"case {name}", steps, resp, self.play_waiting)

    def waiting_rounds(self):
        options = self.options
        drawn = waiting.WaitingGrammar(self.common)
        deadline = time.monotonic() + options.waiting_seconds
        rounds = 0
        while drawn.waits and rounds < options.rounds and time.monotonic() < deadline and self.room():
            seed = options.seed + rounds
            steps = drawn.sequence(random.Random(seed), SEQUENCE_STEPS)
            title = f"--waiting --seed {seed} --rounds 1"
            self.check(title, steps, 3 if seed % 3 == 0 else 2, self.play_waiting)
            rounds += 1
        return rounds

    def random_rounds(self):
        options = self.options
        drawn = grammar.Grammar(self.common)
        fill = [(1, [word.encode() for word in text.split()])
                for text in grammar.FILL.strip().splitlines() if text.split()[0].lower() in self.common]
        deadline = time.monotonic() + options.seconds
        rounds = 0
        while rounds < options.rounds and time.monotonic() < deadline and self.room():
            seed = options.seed + rounds
            rng = random.Random(seed)
            steps = fill + drawn.sequence(rng, SEQUENCE_STEPS)
            self.check(f"--seed {seed} --rounds 1", steps, 3 if options.resp3 or seed % 3 == 0 else 2,
                       listens=options.events or seed % 2 == 0)
            rounds += 1
        return rounds

    def damaged(self):
        for text in damage.differences(self.ours, self.theirs, self.differences, self.options.seed,
                                       self.options.damaged):
            if text not in self.reports and self.room():
                self.reports[text] = text
                print(text, flush=True)

    def room(self):
        return len(self.reports) < self.options.reports


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--rounds", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--waiting", action="store_true", help="only sequences with clients that wait")
    parser.add_argument("--waiting-seconds", type=float, default=8)
    parser.add_argument("--resp3", action="store_true")
    parser.add_argument("--events", action="store_true", help="compare keyspace events in every sequence, not every other")
    parser.add_argument("--space", action="store_true", help="Sluice's side is a private space of a test double")
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--damaged", type=int, default=400, help="damaged requests")
    parser.add_argument("--reports", type=int, default=REPORTS_MAX, help="stop after so many differences")
    parser.add_argument("--case", help="only hand-picked cases with this in their name")
    return parser.parse_args()


def main():
    options = parse_options()
    harness = Harness(options)
    started = time.monotonic()
    try:
        rounds = 0
        if not options.waiting:
            harness.hand_picked()
        if not options.case:
            rounds = harness.waiting_rounds()
        if not options.case and not options.waiting:
            rounds = harness.random_rounds()
            harness.damaged()
    finally:
        harness.stop()
    met = ", ".join(f"{title} ({count})" for title, count in sorted(harness.differences.met.items()))
    print(f"seeds {options.seed}..{options.seed + max(rounds, 1) - 1}: {harness.commands} commands in "
          f"{time.monotonic() - started:.1f} s, {len(harness.reports)} differences; on purpose: {met or 'none'}")
    return 1 if harness.reports else 0


if __name__ == "__main__":
    sys.exit(main())
