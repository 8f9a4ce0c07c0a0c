#!/usr/bin/python3
"""A duration is one after a restart too, whichever way: by the log after a kill -9, by the snapshot of a SIGTERM, by
SIGUSR2. All that names a span is asked: LOCK.INFO, LOCK.WAITERS, LIMIT.INFO, INFO, /api/*, /metrics, `sluice top`.

  durations.py [--server program] [name ...]     names: those of the functions test_*
"""
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from hand_over import Server  # noqa: E402
from server import free_port  # noqa: E402
from smoke import PATIENCE, Chosen, run_tests, until  # noqa: E402

LEASE_MS = 600_000
HOUR_S = 3600
UNITS_S = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "s": 1, "seconds": 1, "d": 86400, "days": 86400}
# No spans: moments, and rates that are named like one.
MOMENTS = re.compile(r"unix|_time_usec|last_save_time|time_sec$|per_sec|cursor|timestamp|start_time|period")


class Paged(Server):
    def __init__(self, *options, **named):
        self.http = free_port()
        super().__init__("--http-port", self.http, *options, **named)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, (path, text)
        return text

    def again(self, number):
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self.start()


def spans_of(value, name=""):
    """Names and seconds of all members that end with a unit."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from spans_of(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from spans_of(part, name)
    elif isinstance(value, (int, float)) and name.rpartition("_")[2] in UNITS_S and not MOMENTS.search(name):
        yield name, value * UNITS_S[name.rpartition("_")[2]]


def info_units():
    page = subprocess.run([str(Chosen.program), "--print-info"], capture_output=True, check=True).stdout.decode()
    return dict(re.findall(r"^\| `(\w+)` \| (ms|µs|s|d) \|", page, re.M))


def metric_spans(text):
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        bare = name.partition("{")[0]
        if bare.endswith("_seconds") and not bare.startswith("#") and not MOMENTS.search(bare):
            yield name, float(value)


def all_spans(server):
    for path in ("/api/overview", "/api/locks", "/api/waits", "/api/limits", "/api/keys", "/api/slowlog",
                 "/api/key?key=ZG9vcg", "/api/key?key=dXNlcg"):
        yield from ((f"{path} {name}", s) for name, s in spans_of(json.loads(server.get(path))))
    yield from (("/metrics " + name, s) for name, s in metric_spans(server.get("/metrics")))
    units = info_units()
    assert len(units) > 20, units
    for line in server.call("INFO", "everything")[1].decode().split("\r\n"):
        name, _, value = line.partition(":")
        if name in units and not MOMENTS.search(name) and re.fullmatch(r"-?[0-9.]+", value):
            yield "INFO " + name, float(value) * UNITS_S[units[name]]


def check(server, begun):
    """What is told of a server that began its work then."""
    holder = json.loads(server.get("/api/key?key=ZG9vcg"))["lock"]["holders"][0]
    elapsed_ms = (time.monotonic() - begun) * 1000 + 1
    assert 1000 <= holder["held_ms"] <= elapsed_ms, (holder, elapsed_ms)
    assert holder["lease_whole_ms"] == LEASE_MS, holder
    assert LEASE_MS - elapsed_ms <= holder["lease_ms"] <= LEASE_MS - 1000, (holder, elapsed_ms)
    info = server.call("LOCK.INFO", "door")[1]
    elapsed_ms = (time.monotonic() - begun) * 1000 + 1
    lease_ms = int(info[3][1][0][1][4][1])
    assert LEASE_MS - elapsed_ms <= lease_ms <= LEASE_MS - 1000, info
    far = [(name, s) for name, s in all_spans(server) if not -1 <= s <= HOUR_S]
    assert not far, far
    page = subprocess.run([str(Chosen.program), "top", str(server.port), "--once"], capture_output=True, check=True,
                          stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "160"}).stdout.decode()
    assert "door" in page and not re.search(r"\b\d+d\d\dh", page), page


def fill(server):
    begun = time.monotonic()
    assert server.call("LOCK.ACQUIRE", "door", "ann", "LEASE", str(LEASE_MS), "MINHOLD", "1000", "LABEL", "x")[0] == "*"
    server.call("LIMIT.TAKE", "user", "WINDOW", "1", "600000")
    server.call("LIMIT.TAKE", "user", "WINDOW", "1", "600000")
    server.call("SET", "key", "value", "PX", "600000")
    server.call("CONFIG", "SET", "slowlog-log-slower-than", "0")
    time.sleep(1.1)
    check(server, begun)
    return begun


def test_by_the_log():
    with Paged("--appendfsync", "always") as server:
        begun = fill(server)
        server.again(signal.SIGKILL)
        check(server, begun)
        # A base, and what has been added to it.
        assert server.call("BGREWRITEAOF")[0] == "+"
        until(lambda: b"aof_rewrite_in_progress:0" in server.call("INFO", "persistence")[1], "it is written")
        server.again(signal.SIGKILL)
        check(server, begun)


def test_by_a_snapshot():
    with Paged("--save", "3600 1", keeps=()) as server:
        begun = fill(server)
        for _ in range(2):
            server.again(signal.SIGTERM)
            check(server, begun)


def test_by_a_new_process():
    with Paged() as server:
        begun = fill(server)
        for _ in range(2):
            server.hand_over()
            until(lambda: server.get("/healthz"), "its pages are there")
            check(server, begun)


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
