"""Plays the steps of a shared case (clients/cases.json; clients/README.md says what each step means) on the clients of
this package, against a test double whose clock stands at 2030-01-01. The clients for asyncio run on a loop in a thread."""
import asyncio
import contextlib
import json
import pathlib
import re
import threading
import time

import redis

import sluice

CASES = json.loads((pathlib.Path(__file__).resolve().parents[2] / "cases.json").read_text(encoding="utf-8"))
NOW = 1_893_456_000
OURS = re.compile(r"(?:LOCK\.|LIMIT\.|FENCED$)")
SPANS = ("lease", "wait", "renew_every", "margin", "min_hold", "ban", "id_for", "timeout")


class OwnError(Exception):
    """What work raises by itself."""


class Loop:
    """An event loop in a thread; a `with` ends it."""

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work):
        """The result of what is awaited there."""
        async def awaited():
            return await work
        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()


def words(step):
    return step.split(" ") if isinstance(step, str) else [in_bytes(word) for word in step]


def in_bytes(word):
    """A word that is no text stands as {"hex": "ff00"}."""
    return bytes.fromhex(word["hex"]) if isinstance(word, dict) and "hex" in word else word


def seconds(options):
    """Options of a case in this package's units."""
    made = {name: value / 1000 if name in SPANS else in_bytes(value) for name, value in (options or {}).items()}
    if isinstance(made.get("permits"), dict):
        made["permits"] = (made["permits"]["take"], made["permits"]["of"])
    return made


def limit_of(limit):
    if "policy" in limit:
        return sluice.Policy(limit["policy"])
    if limit["algorithm"] == "calendar":
        return sluice.Calendar(limit["max"], limit["unit"], limit.get("zone"), limit.get("starts"))
    return sluice.Limit(limit["algorithm"], limit["max"], limit["period"] / 1000, limit.get("burst"))


def milliseconds(value):
    return None if value is None else round(value * 1000)


def plain(value):
    """A value of ours in the words of the cases."""
    if isinstance(value, sluice.Verdict):
        return {"allowed": value.allowed, "limit": value.limit, "remaining": value.remaining,
                "retry": milliseconds(value.retry_after), "never_fits": value.never_fits, "reset": milliseconds(value.reset_after),
                "reset_at": milliseconds(value.reset_at)}
    if isinstance(value, sluice.Verdicts):
        return {"allowed": value.allowed, "remaining": [verdict.remaining for verdict in value.verdicts]}
    if isinstance(value, sluice.LimitInfo):
        return {**value._asdict(), "period": milliseconds(value.period), "reset_at": milliseconds(value.reset_at)}
    if isinstance(value, sluice.Calendar):
        return {"algorithm": value.algorithm, "max": value.max, "unit": value.unit, "zone": value.zone, "starts": value.starts}
    if isinstance(value, sluice.Limit):
        return {"algorithm": value.algorithm, "max": value.max, "period": milliseconds(value.period), "burst": value.burst}
    return value.decode() if isinstance(value, bytes) else value


def server_code(error):
    """redis-py takes some codes off."""
    found = re.match(r"[A-Z][A-Z0-9]+(?= )", str(error))
    return found[0] if found else "ERR"


def assert_raised(error, expected):
    """An error is what a case says of it."""
    kinds = {"LockLost": sluice.LockLost, "LockNotGranted": sluice.LockNotGranted, "Argument": ValueError,
             "Server": redis.ResponseError, "Connection": redis.ConnectionError, "Own": OwnError,
             "UnexpectedReply": sluice.UnexpectedReply}
    if not isinstance(error, kinds[expected["error"]]):
        raise AssertionError(f"{expected} was expected, not {error!r}") from error
    for name in ("code", "key", "token"):
        if name in expected:
            found = server_code(error) if expected["error"] == "Server" else getattr(error, name)
            assert found == expected[name]
    if "text" in expected:
        assert str(error) == expected["text"]


class Player:
    """space: the double; None for a server that is made up, of which steps ask nothing. locks, limits: the clients. run: makes a value of what a method of theirs returns."""

    def __init__(self, space, locks=None, limits=None, run=lambda value: value):
        self._space, self._locks, self._limits, self._run = space, locks, limits, run
        self._seen = 0
        self._things = {}  # locks, and calls that are under way
        if space is not None:
            self._own = space.execute("CLIENT", "ID")
            space.journal.start()
            space.clock.freeze(at=NOW)

    def play(self, steps):
        for step in steps:
            try:
                self.step(step)
            except AssertionError as error:
                raise AssertionError(f"{json.dumps(step)}: {error}") from error

    def step(self, step):
        if "server" in step:
            answer = self._space.execute(*words(step["server"]))
            if "gives" in step:
                assert plain(answer) == step["gives"]
        elif "fail" in step:
            raise OwnError(step["fail"])
        elif "begin" in step:
            self._begin(step)
        elif "until" in step:
            self._until(step)
        elif "sleep" in step:
            self._newest()
            time.sleep(step["sleep"] / 1000)
        else:
            self._check(step, *(self._end(step) if "end" in step else self._outcome(step)))
        self.compare_sent(step)

    def _begin(self, step):
        outcome = []
        thread = threading.Thread(target=lambda: outcome.append(self._outcome(step)), daemon=True)
        thread.start()
        self._things[step["begin"]] = (thread, outcome)

    def _end(self, step):
        thread, outcome = self._things[step["end"]]
        thread.join(30)
        assert outcome, "it is not over, after 30 s"
        return outcome[0]

    def _outcome(self, step):
        """(value, None) or (None, error) of a call."""
        try:
            value = self._with(step) if "with" in step else self._call(step)
        except Exception as error:  # pylint: disable=broad-except
            if isinstance(error, AssertionError):
                raise
            return None, error
        if "as" in step and "with" not in step:
            self._things[step["as"]] = value
        return value, None

    def _check(self, step, value, error):
        if "raises" in step:
            assert error is not None, "it raised nothing"
            assert_raised(error, step["raises"])
        elif error is not None:
            raise error
        elif isinstance(step.get("gives"), dict) and "token" in step["gives"]:
            assert value is not None, "the lock was not granted"
            assert step["gives"]["token"] in ("*", value.token)
        elif "gives" in step:
            assert plain(value) == step["gives"]

    def _with(self, step):
        with contextlib.ExitStack() as stack:
            acquiring = self._locks.acquire(step["with"], **seconds(step.get("options")))
            if hasattr(acquiring, "__aenter__"):
                lock = self._run(acquiring.__aenter__())
                stack.push(lambda *error: self._run(acquiring.__aexit__(*error)))
            else:
                lock = stack.enter_context(acquiring)
            self._things[step["as"]] = lock
            self.play(step["do"])

    def _call(self, step):
        call, key, options = step["call"], in_bytes(step.get("key")), seconds(step.get("options"))
        if "of" in step:
            return self._of_lock(self._things[step["of"]], call, step)
        if call in ("acquire", "try_acquire"):
            return self._run(getattr(self._locks, call)(key, **options))
        arguments = {
            "take": lambda: (key, limit_of(step["limit"])),
            "take_all": lambda: ([sluice.Take(one["key"], limit_of(one["limit"]), one.get("cost", 1))
                                  for one in step["requests"]],),
            "refund": lambda: (key, step["units"]),
            "info": lambda: (key,),
            "set_policy": lambda: (step["name"], limit_of(step["limit"])),
            "get_policy": lambda: (step["name"],),
            "delete_policy": lambda: (step["name"],),
            "policies": lambda: (),
        }[call]()
        return self._run(getattr(self._limits, call)(*arguments, **options))

    def _of_lock(self, lock, call, step):
        if call in ("held", "remaining"):
            return getattr(lock, call)
        if call == "lost":
            return lock.lost.is_set()
        if call == "assert_held":
            return lock.assert_held()
        return self._run(getattr(lock, call)(*step.get("words", ())))

    def _until(self, step):
        until = step["until"]
        deadline = time.monotonic() + 30
        while not self._so(until):
            assert time.monotonic() < deadline, "it is not so, after 30 s"
            time.sleep(0.002)
        if "lost" in until:
            assert_raised(self._things[until["lost"]].reason, {"error": "LockLost", "code": step["code"]})

    def _so(self, until):
        if "lost" in until:
            return self._things[until["lost"]].lost.is_set()
        if "waiting" in until:
            return f"blocked_clients:{until['waiting']}\r".encode() in self._space.execute("INFO", "clients")
        if "sent" in until:
            return len(self._space.journal.requests(until["sent"])) >= until["times"]
        if "server" in until:
            return plain(self._space.execute(*words(until["server"]))) == until["gives"]
        return self._outcome(until)[0] == until["gives"]

    def _newest(self):
        """What the clients have sent since the last look."""
        requests = self._space.journal.requests()
        fresh = [request for request in requests if request.number > self._seen and request.client != self._own
                 and OURS.match(request.words[0].upper())]
        self._seen = requests[-1].number if requests else self._seen
        return fresh

    def compare_sent(self, step):
        """Against `sends` and `answers` of a step."""
        if self._space is None:
            return
        fresh = self._newest()
        if "sends" in step:
            pattern = [words(one) for one in step["sends"]]
            sent = [["*" if at < len(row) and row[at] == "*" else word for at, word in enumerate(request.words)]
                    for request, row in zip(fresh, pattern)]
            assert sent == pattern and len(fresh) == len(pattern), [str(request) for request in fresh]
        if "answers" in step:
            assert [request.answer for request in fresh] == step["answers"]
