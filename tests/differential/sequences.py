"""One sequence of (client, arguments) on both servers, in step; and how a sequence is made shorter."""
import re

import compare
import wire

DATABASES = (0, 1, 2, 15)
# What FLUSHALL does not undo and a sequence may have changed.
RESET = [("CONFIG", "SET", name, value) for name, value in [
    ("timeout", "0"), ("proto-max-bulk-len", "536870912"), ("hash-max-listpack-entries", "128"),
    ("list-max-listpack-size", "-2"),
    ("set-max-intset-entries", "512"), ("zset-max-listpack-entries", "128"), ("zset-max-listpack-value", "64"), ("maxclients", "4064"),
    ("lazyfree-lazy-expire", "no"), ("tcp-keepalive", "300"), ("hz", "10"), ("requirepass", ""), ("maxmemory-policy", "noeviction"), ("notify-keyspace-events", ""),
    ("slowlog-log-slower-than", "-1"), ("slowlog-max-len", "128"),
]] + [("SLOWLOG", "RESET")]
UNANSWERED_SECONDS = 5


class Found:
    """A difference: at which command, and what both said."""

    def __init__(self, line, ours, theirs):
        self.line, self.ours, self.theirs = line, ours, theirs

    def signature(self):
        """What shrinking must keep: the command's name and the kinds of both replies."""
        words = self.line.split()
        if words[0] == "EVENTS":
            return ("EVENTS", *(str(events[-1])[-20:] if events else "" for events in (self.ours, self.theirs)))
        if words[0] == "STATE":
            return ("STATE", words[1], self.line.split()[-1] if words[1] == "only" else "")
        digits = [re.sub(r"\d+|'[^']*'", "#", str(text))[:60] for text in (self.ours, self.theirs)]
        return (words[0].upper(), *digits)

    def __str__(self):
        return f"at {self.line}\n  ours   {self.ours}\n  theirs {self.theirs}"


class Listener:
    """A subscriber to all keyspace events, in RESP2."""

    def __init__(self, server):
        self.connection = wire.Connection(server.connect())
        self.connection.call("CONFIG", "SET", "notify-keyspace-events", "KEAmn")
        self.connection.call("PSUBSCRIBE", "__key*@*__:*")

    def heard(self):
        """(channel, payload) of every message since the last call. When an expired key is noticed is each
        server's own affair: that is left out."""
        self.connection.send(wire.encode([b"PING", b"so far"]))
        events = []
        while True:
            raw = self.connection.replies(1, UNANSWERED_SECONDS)
            if not raw:
                return events + ["silence"]
            words = [word for _, word in wire.read(raw[0])[0][1]]
            if words[:2] == [b"pong", b"so far"]:
                return events
            if b"expired" not in (words[3], words[2].rpartition(b":")[2]):
                events.append(tuple(words[2:]))

    def close(self):
        self.connection.close()


class Side:
    """The clients of one server."""

    def __init__(self, server, resp, listens):
        self.server, self.resp = server, resp
        self.clients = {}
        self.listens, self.listener = listens, None

    def client(self, number):
        if number not in self.clients:
            connection = wire.Connection(self.server.connect())
            if self.resp == 3:
                connection.call("HELLO", 3)
            self.clients[number] = connection
        return self.clients[number]

    def prepare(self):
        connection = wire.Connection(self.server.connect())
        # A case may have ended with its password set.
        requests = [("AUTH", "secret"), ("FLUSHALL",), *RESET, ("CLIENT", "UNPAUSE")]
        connection.send(b"".join(wire.encode([word.encode() for word in words]) for words in requests))
        connection.replies(len(requests))
        connection.close()

    def listen(self):
        if self.listens:
            self.listener = Listener(self.server)

    def state(self):
        connection = wire.Connection(self.server.connect())
        try:
            return compare.state(connection, DATABASES)
        finally:
            connection.close()

    def scan(self, number, options):
        """All keys of a whole SCAN, sorted, or the error. How many calls it takes is each server's
        own, so the slow log is emptied of them."""
        keys, cursor = [], b"0"
        while True:
            reply = self.client(number).call(b"SCAN", cursor, *options)
            if not reply or reply[0] != "*":
                return [repr(reply).encode()]
            cursor = reply[1][0][1]
            keys += [key for _, key in reply[1][1][1]]
            if cursor == b"0":
                self.client(number).call(b"SLOWLOG", b"RESET")
                return sorted(set(keys))

    def close(self):
        for connection in self.clients.values():
            connection.close()
        if self.listener:
            self.listener.close()


class Play:
    def __init__(self, ours, theirs, rules, differences, resp, listens=False):
        self.sides = Side(ours, resp, listens), Side(theirs, resp, listens)
        self.servers = ours, theirs
        self.rules, self.differences = rules, differences
        self.queued = {}    # client: the lines of its MULTI
        self.ended = False  # a difference on purpose has parted the states

    def run(self, steps):
        """Plays all steps; the first difference that nothing excuses, or None."""
        try:
            for side in self.sides:
                side.prepare()
                side.listen()
            for batch in batches(steps):
                found = self.batch(*batch) or self.compare_events(batch[1])
                if found or self.ended:
                    return found
            return self.compare_states()
        except OSError as error:
            return Found("connecting", f"alive: {self.servers[0].alive()}, {error}",
                         f"alive: {self.servers[1].alive()}")
        finally:
            for side in self.sides:
                side.close()

    def compare_events(self, lines):
        """What happened to keys, in the words of keyspace events."""
        if not self.sides[0].listener or self.ended:
            return None
        ours, theirs = (side.listener.heard() for side in self.sides)
        # SORT looks for other keys in the order of what it sorts, which a set has by chance.
        looks_around = any(args[0].upper().startswith(b"SORT") for args in lines)
        if ours == theirs or looks_around and sorted(ours) == sorted(theirs):
            return None
        text = "EVENTS of " + "; ".join(wire.line(args) for args in lines)
        if self.differences.find(text, *(repr(events).encode() for events in (ours, theirs))):
            return None
        return Found(text, ours, theirs)

    def compare_states(self):
        ours, theirs = (side.state() for side in self.sides)
        difference = compare.state_difference(ours, theirs)
        if not difference or self.differences.find(f"STATE {difference}", b"", b""):
            return None
        return Found(f"STATE {difference}", "", "")

    def batch(self, client, lines):
        """Commands of one client, sent at once."""
        if lines[0][0].upper() == b"@SCAN" and client in self.queued:
            lines = [[b"SCAN", b"0", *lines[0][1:]]]
        if lines[0][0].upper() == b"@SCAN":
            ours, theirs = (side.scan(client, lines[0][1:]) for side in self.sides)
            return None if ours == theirs else Found(wire.line(lines[0]), ours, theirs)
        data = b"".join(wire.encode(args) for args in lines)
        answers = []
        for side in self.sides:
            side.client(client).send(data)
        for side in self.sides:
            answers.append(side.client(client).replies(len(lines), UNANSWERED_SECONDS))
        for at, args in enumerate(lines):
            raw = [answer[at] if at < len(answer) else b"" for answer in answers]
            found = self.reply(client, wire.line(args), raw)
            if found or self.ended:
                return found
            if not raw[0]:
                self.closed_or_silent(client)
                return None
        return None

    def closed_or_silent(self, client):
        for side in self.sides:
            side.clients.pop(client).close()
        self.queued.pop(client, None)

    def reply(self, client, line, raw):
        exec_lines = self.follow_multi(client, line, raw[1])
        if raw[0] == raw[1]:
            return None
        if raw[0] and raw[1]:
            ours, theirs = (wire.reply(data) for data in raw)
            if exec_lines and is_list_of(len(exec_lines), ours, theirs):
                pairs = zip(exec_lines, ours[1], theirs[1])
                if all(self.rules.same(queued, mine, other) for queued, mine, other in pairs):
                    return None
                line = "EXEC of " + "; ".join(exec_lines)
            elif self.rules.same(line, ours, theirs):
                return None
        entry = self.differences.find(line, *raw)
        if entry:
            self.ended = entry.get("state") == "differs" or not raw[0] or not raw[1]
            return None
        return Found(line, *(compare.show(data or None) for data in raw))

    def follow_multi(self, client, line, answer):
        """Keeps the queue of each client; at EXEC returns it."""
        word = line.split(" ")[0].upper()
        if word == "MULTI" and answer == b"+OK\r\n":
            self.queued[client] = []
        if answer == b"+QUEUED\r\n":
            self.queued.setdefault(client, []).append(line)
            return None
        return self.queued.pop(client, None) if word in ("EXEC", "DISCARD", "RESET") else None


def is_list_of(count, *values):
    return all(kind == "*" and isinstance(body, list) and len(body) == count for kind, body in values)


def batches(steps):
    """Neighbouring commands of one client together; a whole SCAN stands alone."""
    batch, owner = [], None
    for client, args in steps:
        alone = args[0].upper() == b"@SCAN"
        if batch and (client != owner or alone):
            yield owner, batch
            batch = []
        owner = client
        batch.append(args)
        if alone:
            yield owner, batch
            batch = []
    if batch:
        yield owner, batch


def shrink(steps, play, signature, tries=300):
    """Deletes commands as long as the same difference shows: halves first, single ones at last."""
    size = max(1, len(steps) // 2)
    while tries > 0:
        at, shorter = 0, False
        while at < len(steps) and tries > 0:
            fewer = steps[:at] + steps[at + size:]
            tries -= 1
            found = play(fewer) if fewer else None
            if found and found.signature() == signature:
                steps, shorter = fewer, True
            else:
                at += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return steps


def read_cases(path):
    """Blank-line separated cases in the manner of the transcripts: `# name`, `> command`, `2> command`."""
    import shlex_redis
    name, steps = "", []
    for text in path.read_text().split("\n") + [""]:
        text = text.strip()
        if not text:
            if steps:
                yield name, steps
            name, steps = "", []
        elif text.startswith("#"):
            name = name or text[1:].strip()
        else:
            client, _, command = text.partition(">")
            steps.append((int(client or 1), shlex_redis.split(command)))
