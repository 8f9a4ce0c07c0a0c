"""Crowds of connections at locks, over sockets. No Redis beside it: a bar is of Sluice's own value.

    CrowdTurn       the CPU time of the longest turn, by the server's own figure, while something is
                    done with a crowd of locks or of connections
    CrowdHandOver   how long it takes from a release until the next of a long line has its answer

Crowds that sockets do not reach are measured inside one process: tools/microbench/crowds.cc.
"""
import resource
import selectors
import statistics
import time
from dataclasses import dataclass

from .report import Row
from .resp import Client, encode
from .servers import server

AT_ONCE = 1000
FILES_BESIDE = 500  # that client and server need for themselves
SETTLED_SECONDS = 0.5
CHANGED_SECONDS_MAX = 60


def fill_locks(target, count):
    for start in range(0, count, AT_ONCE):
        target.client.send([encode(["LOCK.ACQUIRE", f"lock:{i}", "me", "LEASE", "900000"])
                            for i in range(start, start + AT_ONCE)])
        for _ in range(AT_ONCE):
            target.client.read()


def connect_all(target, count, request):
    """So many connections, or as many as the system allows, each with its request."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY:
        count = min(count, hard - FILES_BESIDE)
    target.client.call("CONFIG", "SET", "maxclients", count + FILES_BESIDE // 2)
    clients = []
    for i in range(count):
        clients.append(Client(target.port))
        clients[-1].socket.sendall(encode(request(i)))
    target.client.call("PING")
    return clients


def until_settled(target, done):
    deadline = time.monotonic() + CHANGED_SECONDS_MAX
    while not done(target.client.info("locks")) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(SETTLED_SECONDS)


@dataclass(frozen=True)
class CrowdTurn:
    name: str
    prepare: object  # (target, scaled) -> what act is given
    act: object      # (target, prepared): returns when all is done
    bar: float = 2000

    def run(self, bench):
        longest = []
        for round_number in bench.rounds():
            bench.progress(f"{self.name}: round {round_number}")
            with server(bench.binary("sluice")) as target:
                prepared = self.prepare(target, bench.scaled)
                time.sleep(SETTLED_SECONDS)
                target.client.call("CONFIG", "RESETSTAT")
                self.act(target, prepared)
                longest.append(float(target.client.info("turns")["turn_cpu_us_max"]))
        yield Row(self.name, "µs", statistics.median(longest), bar=self.bar, absolute=True,
                  note="longest turns: " + " ".join(f"{value:.0f}" for value in longest))


def flush(command):
    def act(target, _):
        target.client.call(*command.split())
        until_settled(target, lambda info: int(info["locks_held"]) == 0)
        time.sleep(2)
    return act


def close_all(target, clients):
    for client in clients:
        client.close()
    until_settled(target, lambda info: int(info["locks_held"]) + int(info["locks_waiting"]) == 0)


CROWD_TURNS = [
    CrowdTurn("crowd-flushall", lambda target, scaled: fill_locks(target, scaled(1_000_000)),
              flush("FLUSHALL")),
    CrowdTurn("crowd-flushall-async", lambda target, scaled: fill_locks(target, scaled(500_000)),
              flush("FLUSHALL ASYNC")),
    CrowdTurn("crowd-waiters-close", lambda target, scaled: connect_all(
        target, scaled(20_000),
        lambda i: ["LOCK.ACQUIRE", "door", f"w{i}", "SESSION", "WAIT", "600000"]), close_all),
    CrowdTurn("crowd-holders-close", lambda target, scaled: connect_all(
        target, scaled(20_000), lambda i: ["LOCK.ACQUIRE", f"lock:{i}", f"h{i}", "SESSION"]),
        close_all),
]


@dataclass(frozen=True)
class CrowdHandOver:
    """Each waiter gives the lock back as soon as it has it. The p99 of the times in between."""
    name: str
    waiters: int
    bar: float

    def run(self, bench):
        p99 = []
        for round_number in bench.rounds():
            bench.progress(f"{self.name}: round {round_number}")
            with server(bench.binary("sluice")) as target:
                p99.append(self._round(target))
        yield Row(self.name, "ms", statistics.median(p99), bar=self.bar, absolute=True,
                  note="p99 of hand-overs: " + " ".join(f"{value:.2f}" for value in p99))

    def _round(self, target):
        target.client.call("LOCK.ACQUIRE", "door", "keeper", "LEASE", "600000")
        clients = connect_all(target, self.waiters, lambda i: [
            "LOCK.ACQUIRE", "door", f"w{i}", "LEASE", "600000", "WAIT", "600000"])
        selector = selectors.EpollSelector()
        for i, client in enumerate(clients):
            selector.register(client.socket, selectors.EVENT_READ, i)
        times = []
        released = time.perf_counter()
        target.client.call("LOCK.RELEASE", "door", "keeper")
        while len(times) < self.waiters:
            for key, _ in selector.select():
                granted = time.perf_counter()
                clients[key.data].read()
                times.append((granted - released) * 1000)
                selector.unregister(key.fileobj)
                released = time.perf_counter()
                clients[key.data].socket.sendall(
                    encode(["LOCK.RELEASE", "door", f"w{key.data}"]))
        for client in clients:
            client.close()
        return statistics.quantiles(times, n=100)[98]


CROWDS = [*CROWD_TURNS, CrowdHandOver("crowd-hand-over", 1_000, bar=1.0)]
