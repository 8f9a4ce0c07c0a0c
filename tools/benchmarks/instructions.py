"""Instructions a request, counted by valgrind's callgrind: the same figure on every machine.

One connection sends requests over 20,000 keys, one by one and 64 ahead. instructions.txt beside this
file keeps what each took, and which functions took it; a case that takes GROWTH_MAX more fails, and
the functions that grew are named.
"""
import contextlib
import hashlib
import itertools
import pathlib
import random
import re
import subprocess
import time

from .report import Row
from .resp import Client, encode
from .servers import Failure, free_port, process

TABLE = pathlib.Path(__file__).with_suffix(".txt")
GROWTH_MAX = {1: 0.4, 64: 0.02}   # by how many are sent ahead
GROWTH_MAX_NEW = 0.4              # of keys that are not there: which tables grow meanwhile hangs on their hash
FUNCTIONS_KEPT = 25
FUNCTIONS_SHOWN = 8
KEYS = 20_000
REQUESTS = {1: 2_000, 64: 12_800}  # by how many are sent ahead
START_SECONDS_MAX = 60
WARM_UP_SECONDS = 1.2  # in its first second a server asks the system for the time, and not the processor
SEED = 1

WINDOW = ('local n = redis.call("INCR", KEYS[1]) '
          'if n == 1 then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end return n')
WINDOW_SHA = hashlib.sha1(WINDOW.encode()).hexdigest()

# Of the size of a UUID; as it is reproducible, it is the same in each run.
_ids = itertools.count()


def new_id():
    return f"request-{next(_ids):028}"


# Name, request for the key of a number, whether Redis has the command, and whether each request is of a key
# that is not there; else all are there.
CASES = (
    ("set", lambda key: ("SET", f"key:{key}", "value"), True, False),
    ("get", lambda key: ("GET", f"key:{key}"), True, False),
    ("incr", lambda key: ("INCR", f"counter:{key}"), True, False),
    ("set-nx-px", lambda key: ("SET", f"lock:{key}", "owner", "NX", "PX", "10000000"), True, True),
    ("pexpire", lambda key: ("PEXPIRE", f"key:{key}", "10000000"), True, False),
    ("evalsha-window", lambda key: ("EVALSHA", WINDOW_SHA, "1", f"window:{key}", "10000000"), True, False),
    ("limit-take-gcra", lambda key: ("LIMIT.TAKE", f"gcra:{key}", "GCRA", "100", "100000000"), False, False),
    ("limit-take-window", lambda key: ("LIMIT.TAKE", f"w:{key}", "WINDOW", "100", "60000"), False, False),
    ("limit-take-calendar", lambda key: ("LIMIT.TAKE", f"c:{key}", "CALENDAR", "100", "MONTH"), False, False),
    ("limit-take-id", lambda key: ("LIMIT.TAKE", f"w:{key}", "WINDOW", "100", "60000", "ID", new_id()), False, False),
    ("lbucket-count", lambda key: ("LBUCKET.COUNT", f"bucket:{key}", "60000"), False, False),
    ("lock-acquire", lambda key: ("LOCK.ACQUIRE", f"held:{key}", "owner", "LEASE", "10000000"), False, True),
)


class Counted:
    """A server under callgrind."""

    def __init__(self, binary, folder):
        self._port = free_port()
        self._out = folder / "callgrind"
        self._command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self._out}",
                         binary, "--port", str(self._port), "--bind", "127.0.0.1", "--save", "",
                         "--appendonly", "no", "--dir", str(folder)]

    @contextlib.contextmanager
    def running(self):
        with process(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as self._process:
            self._client = self._connect()
            time.sleep(WARM_UP_SECONDS)
            self._client.call("SCRIPT", "LOAD", WINDOW)
            yield self

    def _connect(self):
        began = time.monotonic()
        while True:
            try:
                client = Client(self._port)
                client.call("PING")
                return client
            except OSError:
                if self._process.poll() is not None or time.monotonic() - began > START_SECONDS_MAX:
                    raise Failure(f"{self._command[3]} did not start under valgrind") from None
                time.sleep(0.05)

    def count(self, request, is_new, ahead):
        """{function: instructions a request}."""
        chosen = random.Random(SEED)
        self._send([("SET", f"key:{key}", "value") for key in range(KEYS)], 200)
        if is_new:
            requests = [request(f"{ahead}:{key}") for key in range(REQUESTS[ahead])]
        else:
            self._send([request(key) for key in range(KEYS)], 200)
            requests = [request(chosen.randrange(KEYS)) for _ in range(REQUESTS[ahead])]
        self._control("--zero")
        self._send(requests, ahead)
        self._control("--dump")
        dump = max(self._out.parent.glob(self._out.name + ".*"), key=lambda file: file.stat().st_mtime_ns)
        try:
            return {name: cost / len(requests) for name, cost in costs(dump.read_text()).items()}
        finally:
            dump.unlink()

    def _send(self, requests, ahead):
        encoded = [encode(words) for words in requests]
        for begin in range(0, len(encoded), ahead):
            batch = encoded[begin:begin + ahead]
            self._client.send(batch)
            self._client.receive(len(batch))

    def _control(self, what):
        done = subprocess.run(["callgrind_control", what, str(self._process.pid)], capture_output=True, text=True)
        if "OK" not in done.stdout:
            raise Failure(f"callgrind_control {what}: {(done.stderr or done.stdout).strip()}")


def costs(dump):
    """The instructions of each function itself, read from a dump. Its names are shortened to numbers after
    their first use; the line after a call is what the callee took."""
    names, found, function, is_call = {}, {}, "", False
    for line in dump.split("\n"):
        if match := re.match(r"fn=\((\d+)\)(?: (.*))?", line):
            if match[2]:
                names[match[1]] = match[2]
            function = names[match[1]]
        elif match := re.match(r"cfn=\((\d+)\) (.*)", line):
            names[match[1]] = match[2]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1] in "+-*0123456789" and line:
            if not is_call:
                found[function] = found.get(function, 0) + int(line.split()[1])
            is_call = False
    return found


def read_table():
    """{case: (instructions, {function: instructions})}."""
    table, case = {}, None
    for line in TABLE.read_text().split("\n") if TABLE.exists() else []:
        name, _, figure = line.rpartition(" ")
        if line.startswith("    "):
            table[case][1][name.strip()] = int(figure)
        elif name and not line.startswith("#"):
            case = name
            table[case] = (int(figure), {})
    return table


def write_table(counted):
    lines = ["# Instructions a request, and the functions that take most of them: tools/bench --instructions --write."]
    for case, functions in counted.items():
        lines.append(f"{case} {round(sum(functions.values()))}")
        most = sorted(functions.items(), key=lambda item: -item[1])[:FUNCTIONS_KEPT]
        lines += [f"    {name} {round(cost)}" for name, cost in most]
    TABLE.write_text("\n".join(lines) + "\n")


def growth_max(case):
    name, _, ahead = case.rpartition("-p")
    is_new = any(row[0] == name and row[3] for row in CASES)
    return GROWTH_MAX_NEW if is_new else GROWTH_MAX[int(ahead)]


def growth(functions, before):
    """The functions that took more than they did, the worst first."""
    grown = [(cost - before.get(name, 0), name) for name, cost in functions.items()]
    return [f"+{more:.0f} {name}" for more, name in sorted(grown, reverse=True)[:FUNCTIONS_SHOWN] if more >= 1]


def count_all(binary, folder, cases, progress):
    counted = {}
    with Counted(binary, folder).running() as server:
        for name, request, _, is_new in cases:
            for ahead in REQUESTS:
                progress(f"{name}-p{ahead}")
                counted[f"{name}-p{ahead}"] = server.count(request, is_new, ahead)
    return counted


def rows(ours, theirs, before):
    """Rows of the table, and sentences on what has grown."""
    found, grown = [], []
    for case, functions in ours.items():
        count = sum(functions.values())
        reference = sum(theirs[case].values()) if case in theirs else None
        was, were = before.get(case, (None, {}))
        more = count / was - 1 if was else 0
        found.append(Row(case, "instructions", count, reference, count / reference if reference else None,
                         note=f"{more:+.1%} of {was:,}" if was else "new"))
        if more > growth_max(case):
            grown.append(f"{case}: {more:+.1%}: " + "; ".join(growth(functions, were)))
    return found, grown
