#!/usr/bin/python3
"""Makes up users on Sluice and on redis-server, and asks both by ACL DRYRUN which made-up requests they may run.

  access.py [--server program] [--oracle program] [--seed n] [--users n] [--requests n]

Both have to say the same, word for word, and to describe each user alike, but for the rules of commands: Redis's order
is chance, and which categories it names depends on how many commands it has. Then the categories of all commands.
"""
import argparse
import pathlib
import random
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))
sys.path.insert(0, str(FOLDER))

import wire  # noqa: E402
from grammar import KEYS, Grammar  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed  # noqa: E402

CATEGORIES = ("keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin fast slow "
              "blocking dangerous connection transaction scripting").split()
WORDS = ["on", "off", "nopass", "resetpass", ">pw", "<pw", ">", "#" + "ab" * 32, "!" + "ab" * 32, "#ab", "allkeys",
         "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands", "+@all", "-@all", "reset",
         "clearselectors", "sanitize-payload", "skip-sanitize-payload", "", "foo", "~", "&", "%", "%~a", "%R", "+",
         "-", "+@", "+nosuch", "-@nosuch", "+config|get|x", "+select|0", "+get|a", "-get|a", "+client|nosuch", "RESET",
         "On", "+@READ", "+GET", "(", ")", "()", "( )", "(+get", "~a)", "~a b", b"~a\0b", b"on\0x", "(on)", "(+nosuch)"]


def texts(reply):
    return {element[1].decode() for element in reply[1]}


def members(connection):
    """All names by category."""
    return {name: texts(connection.call("ACL", "CAT", name)) for name in CATEGORIES}


class Both:
    def __init__(self, options):
        self.servers = [Server(options.server), Server(options.oracle)]
        self.connections = [wire.Connection(server.connect()) for server in self.servers]
        self.differences = self.compared = 0

    def __enter__(self):
        for server in self.servers:
            server.__enter__()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.__exit__(*_)

    def ask(self, *args, form=lambda reply: reply):
        ours, theirs = (form(connection.call(*args)) for connection in self.connections)
        self.compared += 1
        if ours != theirs:
            self.note(args, ours, theirs)

    def note(self, args, ours, theirs):
        self.differences += 1
        if self.differences <= 20:
            print(f"{args}\n  ours   {ours!r}\n  theirs {theirs!r}")

    def has_no_keys(self, request):
        """Whether Redis finds none, or takes a text that is no number of keys for one."""
        nearly = any(re.fullmatch(rb"\s*[+-]?[0-9]+\s+", word) for word in request)
        return nearly or self.connections[1].call("COMMAND", "GETKEYS", *request)[0] == "-"

    def finds_none(self, request):
        """Whether Sluice, which reads the words as the command does, finds no keys."""
        return self.connections[0].call("COMMAND", "GETKEYS", *request)[0] == "-"


def without_commands(reply):
    """A user as GETUSER describes it; of the rules for commands the first alone."""
    kind, value = reply
    if isinstance(value, list):
        return kind, [without_commands(each) for each in value]
    is_rules = isinstance(value, bytes) and value[1:5] == b"@all"
    return (kind, value[:5]) if is_rules else reply


# A selector with a NUL is refused; Redis would drop the rules behind it without a word.
NAMES = [key.decode("latin1") for key in KEYS if key.isascii() and key.decode().isprintable()]


def pattern(rng):
    word = rng.choice([*NAMES, "a", "x", ""])
    return rng.choice([word, word + "*", "*" + word, word[:1] + "*", "?" + word[1:], "[a-m]*", "*"])


def rule(rng, commands):
    roll = rng.random()
    if roll < 0.3:
        return rng.choice(["~", "~", "%R~", "%W~", "%RW~", "&"]) + pattern(rng).replace(" ", "")
    if roll < 0.55:
        return rng.choice("+-") + "@" + rng.choice(CATEGORIES)
    if roll < 0.8:
        return rng.choice("+-") + rng.choice(commands)
    return rng.choice(WORDS)


def rules(rng, commands):
    made = [rule(rng, commands) for _ in range(rng.randint(0, 6))]
    if rng.random() < 0.3:
        made.append("(" + " ".join(str(rule(rng, commands)) for _ in range(3)).replace("(", "").replace(")", "") + ")")
    return ["reset", *made] if rng.random() < 0.5 else made


# They answer with data, and Redis wants the right to write alone: see "commands that answer with data" in
# differences.txt. And a word that leads to a key may be a value: see "values that look like a word".
READS_TOO = re.compile(rb"(xclaim|xautoclaim) |zadd .*incr", re.I | re.S)
LOOKS_FOR_WORDS = re.compile(rb"(sort|xread|xreadgroup|georadius|georadiusbymember) .*(store|streams)", re.I | re.S)


def ask_whether(both, request):
    """What is excused: arguments that later versions have, and keys of requests that make no sense. Redis
    looks at no key of these, and so lets PFMERGE without sources change any."""
    ours, theirs = (connection.call("ACL", "DRYRUN", "bob", *request) for connection in both.connections)
    both.compared += 1
    newer = b"wrong number of arguments" in theirs[1]
    senseless = b"to access the" in ours[1] and theirs[1] == b"OK"
    words = b" ".join(request)
    stricter = senseless and READS_TOO.match(words)
    seems = len(re.findall(rb"(?i)store|streams", words)) > 1 or both.finds_none(request)
    misled = LOOKS_FOR_WORDS.match(words) and seems
    if stricter or misled:
        return
    if ours != theirs and not newer and not (senseless and both.has_no_keys(request)):
        both.note(("ACL", "DRYRUN", "bob", *request), ours, theirs)


def play(both, options, rng):
    names = [{entry[1][0][1].decode() for entry in connection.call("COMMAND")[1]} for connection in both.connections]
    common = sorted(names[0] & names[1])
    grammar = Grammar(set(common))
    common += ["config|get", "client|list", "acl|whoami", "object|encoding", "xinfo|stream", "memory|usage"]
    ours, theirs = (members(connection) for connection in both.connections)
    for name in CATEGORIES:
        lost = sorted(each for each in theirs[name] - ours[name] if each in common)
        if lost:
            both.differences += 1
            print(f"not in @{name}: {lost}")
    for _ in range(options.users):
        both.ask("ACL", "SETUSER", "bob", *rules(rng, common))
        both.ask("ACL", "GETUSER", "bob", form=without_commands)
        for _ in range(options.requests):
            command = rng.choice(grammar.commands)
            if not command.name.startswith("@"):
                ask_whether(both, grammar.draw(command, rng))
    both.ask("ACL", "DELUSER", "bob")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument("--requests", type=int, default=40)
    options = parser.parse_args()
    with Both(options) as both:
        play(both, options, random.Random(options.seed))
        print(f"{both.compared} answers, {both.differences} differences (--seed {options.seed})")
    return 1 if both.differences else 0


if __name__ == "__main__":
    sys.exit(main())
