"""When two replies are the same: byte for byte, or by a rule below for what two servers cannot agree on
(order, time, identity). What Sluice does otherwise on purpose is not here but in differences.txt."""
import configparser
import pathlib
import re

import wire

FOLDER = pathlib.Path(__file__).resolve().parent
TIME_TOLERANCE = 3000  # ms or s, of what depends on when a command ran


def unordered(value):
    kind, body = value
    return (kind, sorted(body, key=repr)) if isinstance(body, list) else value


def shape(value):
    """Errors must be the same, all else only of the same kind."""
    kind, body = value
    return value if kind in "-!" else (kind, None)


def sorted_deeply(value):
    """Lists of flags, categories and tips come in an order of no meaning; notes are prose."""
    kind, body = value
    if not isinstance(body, list):
        return value
    if body[:1] == [("$", b"notes")]:
        body = body[2:]
    return kind.translate(AS_ARRAY), sorted((sorted_deeply(item) for item in body), key=repr)


AS_ARRAY = str.maketrans("%", "*")  # a map without its notes has another length, but not another kind


SENTENCES = (b"summary", b"complexity", b"replaced_by")


def docs(value):
    """Everything but the sentences, which each server has of its own. Subcommands that only one server has
    would differ: they are asked for by their full names instead."""
    kind, body = value
    if not isinstance(body, list):
        return value
    told = []
    for name, about in zip(body[::2], body[1::2]):
        facts = {key[1]: fact for key, fact in zip(about[1][::2], about[1][1::2])}
        facts.pop(b"subcommands", None)
        if b"history" in facts:
            facts[b"history"] = [change[1][0] for change in facts[b"history"][1]]
        told.append((name, [(key, key in SENTENCES or facts[key]) for key in sorted(facts)]))
    return kind, sorted(told, key=repr)


UNSTEADY = (b"idle", b"seen-time", b"radix-tree-nodes")


def without_times(value):
    """What XPENDING and XINFO tell of streams, without the times when entries were given out."""
    kind, body = value
    if not isinstance(body, list):
        return value
    shown = [without_times(item) for item in body]
    if "".join(item[0] for item in body) in ("$$::", "$::"):
        shown[-2] = "time"
    for at, item in enumerate(body[:-1]):
        if item[0] == "$" and item[1] in UNSTEADY:
            shown[at + 1] = "unsteady"
    return kind, shown


def hello(value):
    kind, body = value
    if not isinstance(body, list):
        return value
    known = dict(zip((key[1] for key in body[::2]), body[1::2]))
    for varying in (b"id", b"server"):
        known.pop(varying, None)
    return kind, sorted(known.items())


def pairs(value):
    """Fields with their values: a map, or a flat list."""
    kind, body = value
    if not isinstance(body, list):
        return value
    return kind, sorted(zip(body[::2], body[1::2]), key=repr)


def libraries(value):
    """FUNCTION LIST: libraries in any order, each with its functions in any order."""
    kind, body = value
    if not isinstance(body, list):
        return value
    told = []
    for _, about in body:
        names = [("$", b"functions") == name for name in about]
        told.append([unordered(fact) if after else fact for after, fact in zip([False, *names], about)])
    return kind, sorted(told, key=repr)


def slow_log(value):
    """SLOWLOG GET: what was logged and for whom, not when, how long it took and from where."""
    kind, body = value
    if not isinstance(body, list):
        return value
    return kind, [(entry[1][3], entry[1][5]) for entry in body]


def calls(value):
    """LATENCY HISTOGRAM: which commands were called how often, not how long they took."""
    kind, body = value
    if not isinstance(body, list):
        return value
    return kind, sorted((name, about[1][1], about[1][3][0]) for name, about in zip(body[::2], body[1::2]))


HASHTABLES = (2, 4)  # RDB types of sets and of hashes


def dumped(value):
    """What a hashtable holds is dumped in an order of chance; dumps.py looks into it."""
    kind, body = value
    return (kind, body[0], len(body)) if kind == "$" and body and body[0] in HASHTABLES else value


# Where nothing orders the members of a set, or equal weights leave it to chance.
BY_CHANCE = r"(?=.* BY )(?=.* ALPHA\b|.* BY \"?(#|NOSORT))"

# The first pattern that is found in the command line (in capitals) counts.
RULES = [(re.compile(pattern, re.S), rule) for pattern, rule in [
    (r"^(KEYS|HKEYS|HVALS|SMEMBERS|SINTER|SUNION|SDIFF|SPOP)\b", unordered),
    (r"^HGETALL\b", pairs),
    (r"^FUNCTION LIST\b", libraries),
    (r"^DUMP\b", dumped),
    (rf"^SORT(_RO)? (?!.* LIMIT ){BY_CHANCE}", unordered),
    (r"^(HSCAN|SSCAN|HRANDFIELD|SRANDMEMBER)\b", shape),
    (r"^COMMAND INFO .", sorted_deeply),
    (r"^COMMAND DOCS .", docs),
    (r"^(ZRANDMEMBER|ZSCAN|RANDOMKEY|SCAN|INFO|TIME|LASTSAVE|LOLWUT|MEMORY|ROLE)\b", shape),
    (r"^COMMAND INFO$|^CLIENT (LIST|INFO|ID)\b|^DEBUG OBJECT|^COMMAND (COUNT|DOCS)$|^COMMAND$", shape),
    (r"^HELLO\b", hello),
    (r"^SLOWLOG GET\b", slow_log),
    (r"^LATENCY HISTOGRAM\b", calls),
    (r"^X(PENDING|INFO)\b", without_times),
]]
WHERE_A_SERVER_IS = {"dir", "unixsocket", "logfile", "pidfile"}
TIMED = re.compile(r"^(P?TTL|P?EXPIRETIME|OBJECT IDLETIME|TIME)\b", re.S)


class Rules:
    """common: names of the commands that both servers have, lower case, subcommands as "client|list".
    own_options: those whose values are not compared."""

    def __init__(self, common, own_options):
        self.common, self.own_options = common, own_options | WHERE_A_SERVER_IS

    def same(self, line, ours, theirs):
        """line: the command as text; both replies parsed."""
        capitals = line.upper()
        if capitals.startswith("COMMAND LIST"):
            return self.listed(ours) == self.listed(theirs)
        if capitals.startswith("CONFIG GET"):
            return self.options(ours) == self.options(theirs)
        for pattern, rule in RULES:
            if pattern.search(capitals):
                return rule(ours) == rule(theirs)
        if TIMED.search(capitals) and ours[0] == theirs[0] == ":":
            return close(int(ours[1]), int(theirs[1]))
        return ours == theirs

    def options(self, value):
        """A map, or the flat array that RESP2 has instead; its kind counts, its length need not."""
        kind, body = value
        if not isinstance(body, list):
            return value
        return kind, sorted((name[1], about) for name, about in zip(body[::2], body[1::2])
                            if name[1].decode().lower() not in self.own_options)

    def listed(self, value):
        """A list of commands, without those that only one server has."""
        kind, body = value
        if not isinstance(body, list):
            return value
        return kind, sorted(name for _, name in body if name.decode() in self.common)


def close(one, other):
    return one == other or (min(one, other) >= 0 and abs(one - other) <= TIME_TOLERANCE)


def show(reply, width=300):
    return "nothing" if reply is None else repr(reply)[:width]


class Differences:
    """The checked-in list. An entry: `command` (found in the command line, regardless of case), at will
    `ours` and `theirs` (found in the raw replies), `state = differs` when what follows in a sequence
    cannot be compared any more, and a `reason`. Instead of a command: `options` whose values differ."""

    FIELDS = {"command", "options", "ours", "theirs", "state", "reason"}

    def __init__(self, path=FOLDER / "differences.txt"):
        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",),
                                           comment_prefixes=("#",))
        parser.read(path)
        self.entries, self.options = [], set()
        for title in parser.sections():
            entry = dict(parser[title])
            if not entry.get("reason") or set(entry) - self.FIELDS:
                raise ValueError(f"{path}: [{title}] needs a reason, and has no other fields than "
                                 f"{sorted(self.FIELDS)}")
            if "command" not in entry:
                self.options.update(entry["options"].split())
                continue
            for field in ("command", "ours", "theirs"):
                flags = re.S | (re.I if field == "command" else 0)
                entry[field] = re.compile(entry.get(field, ""), flags)
            entry["title"] = title
            self.entries.append(entry)
        self.met = {}

    def find(self, line, ours, theirs):
        """The entry that excuses this, or None."""
        texts = [raw.decode("latin-1") for raw in (ours, theirs)]
        for entry in self.entries:
            if (entry["command"].search(line) and entry["ours"].search(texts[0])
                    and entry["theirs"].search(texts[1])):
                self.met[entry["title"]] = self.met.get(entry["title"], 0) + 1
                return entry
        return None


def state(connection, databases):
    """All keys with all that can be asked about them, per database."""
    found = {}
    for db in databases:
        connection.call("SELECT", db)
        keys = connection.call("KEYS", "*")
        for _, key in sorted(keys[1]) if keys and keys[0] == "*" else []:
            found[db, key] = describe(connection, key)
    return found


def describe(connection, key):
    questions = [(b"TYPE", key), (b"OBJECT", b"ENCODING", key), (b"DEBUG", b"DIGEST-VALUE", key),
                 (b"GET", key), (b"PEXPIRETIME", key)]
    connection.send(b"".join(wire.encode(question) for question in questions))
    return connection.replies(len(questions))


def state_difference(ours, theirs):
    """A sentence about the first key that is not the same, or None."""
    for where in sorted(set(ours) | set(theirs)):
        if where not in ours or where not in theirs:
            side = "ours" if where in ours else "theirs"
            return f"only db {where[0]}, key {wire.quote(where[1])} in {side}"
        mine, other = ours[where], theirs[where]
        if mine[:4] != other[:4] or not close(int(mine[4][1:]), int(other[4][1:])):
            what = "ENCODING" if mine[2:4] == other[2:4] and mine[0] == other[0] else "of"
            return f"{what} db {where[0]}, key {wire.quote(where[1])}:\n  ours   {mine}\n  theirs {other}"
    return None
