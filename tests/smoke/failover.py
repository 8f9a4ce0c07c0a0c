#!/usr/bin/python3
"""Locks while their master is killed, stopped and cut off under fifty clients, with three stock redis-sentinels.

  failover.py [--server program] [--kills number] [test ...]      --kills 500: as long as a campaign

Each client judges by its own clock and answers: it has held a lock from the answer of its grant until it gave it back,
or until its lease, counted from its call, was over. Two clients that held one lock at the same time are a double grant.
Where all replicas acknowledge grants (lock-min-replicas) there is none, and tokens grow. Where grants wait for none, or
for some of the replicas, every double grant is one of a split: the master before lived on, and could not be told.
"""
import pathlib
import random
import sys
import threading
import time
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from sentinels import Group, cut_off, kill, pause  # noqa: E402
from server import first_seed  # noqa: E402
from smoke import Chosen, run_tests, until  # noqa: E402

KILLS = None  # in each column; None: so many as its test says
CLIENTS = 50
LOCKS = 6
LEASE_MS = 1500
HELD_S = (0.0, 0.2)
UNDER_WAY_S = 0.2  # a grant so long before a cut may be lost in it


@dataclass
class Hold:
    name: str
    token: int
    called: float  # monotonic seconds, as all here
    granted: float
    until: float
    port: int


class Owner(threading.Thread):
    """Takes locks and gives them back, at the master that the watcher names. A stubborn one stays with its connection
    as long as that answers."""

    def __init__(self, number, watcher):
        super().__init__(daemon=True)
        self.number, self.watcher = number, watcher
        self.is_stubborn = number % 2 == 0
        self.chance = random.Random(first_seed() + number)
        self.holds = []
        self.start()

    def run(self):
        while not self.watcher.is_over:
            member = self.watcher.leader
            if member is None:
                time.sleep(0.05)
                continue
            try:
                self.work(wire.Connection(member.server.connect(2)), member)
            except (OSError, EOFError, TypeError, ValueError):
                time.sleep(0.05)

    def work(self, connection, member):
        try:
            while not self.watcher.is_over and (self.is_stubborn or self.watcher.leader is member):
                if not self.take(connection, member):
                    time.sleep(self.chance.uniform(0.02, 0.1))
        finally:
            connection.close()

    def take(self, connection, member):
        name = f"lock{self.chance.randrange(LOCKS)}"
        owner = f"owner{self.number}.{len(self.holds)}"  # another one each time: a second grant to one is no other
        called = time.monotonic()
        kind, answer = connection.call("LOCK.ACQUIRE", name, owner, "LEASE", LEASE_MS, timeout=4)
        if kind != "*" or answer is None:
            return False
        hold = Hold(name, int(answer[0][1]), called, time.monotonic(), called + LEASE_MS / 1000, member.port)
        self.holds.append(hold)
        time.sleep(self.chance.uniform(*HELD_S))
        if self.chance.random() < 0.9:
            hold.until = min(hold.until, time.monotonic())
            connection.call("LOCK.RELEASE", name, owner, timeout=4)
        return True


class Watcher(threading.Thread):
    """Knows whom the Sentinels name."""

    def __init__(self, group):
        super().__init__(daemon=True)
        self.group, self.leader, self.is_over = group, group.leader(), False
        self.owners = [Owner(number, self) for number in range(CLIENTS)]
        self.start()

    def run(self):
        while not self.is_over:
            self.leader = self.group.leader() or self.leader
            time.sleep(0.1)

    def end(self):
        self.is_over = True
        for owner in self.owners:
            owner.join()
        return sorted((hold for owner in self.owners for hold in owner.holds), key=lambda hold: hold.granted)


def by_name(holds):
    names = {}
    for hold in holds:
        names.setdefault(hold.name, []).append(hold)
    return names.values()


def double_grants(holds):
    """Pairs that overlap for sure. In order of their grants."""
    doubles = []
    for line in by_name(holds):
        last = None
        for hold in line:
            if last is not None and hold.granted < last.until:
                doubles.append((last, hold))
            if last is None or hold.until > last.until:
                last = hold
    return doubles


def tokens_out_of_order(holds):
    """Pairs of which the second was asked for when the first was granted, and has no higher token."""
    found = []
    for line in by_name(holds):
        highest = None
        ended = []  # by the end of the grant
        for hold in sorted(line, key=lambda one: one.called):
            while ended and ended[0].granted < hold.called:
                first = ended.pop(0)
                highest = first if highest is None or first.token > highest.token else highest
            if highest is not None and hold.token <= highest.token:
                found.append((highest, hold))
            ended.append(hold)
            ended.sort(key=lambda one: one.granted)
    return found


# --- harm

@dataclass
class Harm:
    kind: str
    port: int
    begin: float
    end: float = 0.0  # all have their roles again


def granted(watcher, port=None):
    return sum(port in (None, hold.port) for owner in watcher.owners for hold in owner.holds)


def harm_all(group, watcher, kinds, kills, lasts_until_granted):
    chance = random.Random(first_seed())
    harms = []
    for number in range(KILLS or kills):
        until(lambda: group.is_settled() and group.leader() is watcher.leader, "all are well")
        had = granted(watcher)
        until(lambda: granted(watcher) > had + CLIENTS // 2, "locks are granted")  # noqa: B023
        leader = group.leader()
        kind = kinds[number] if number < len(kinds) else chance.choice(kinds)
        harms.append(Harm(kind.__name__, leader.port, time.monotonic()))
        mend = kind(leader)
        promoted = group.failed_over(leader)
        if lasts_until_granted:
            had = granted(watcher, promoted.port)
            until(lambda: granted(watcher, promoted.port) > had + LOCKS, "the new one grants")  # noqa: B023
        time.sleep(chance.uniform(0, 0.5))
        mend()
        group.settle()
        harms[-1].end = time.monotonic()
        if number % 20 == 19:
            print(f"  {number + 1} failovers", flush=True)
    return harms


def split(group):
    """Cuts the master off together with one replica, which is told to follow it past the proxy: so it has a replica on
    its side."""
    def harm(leader):
        beside = group.followers(leader)[0]
        beside.ask("REPLICAOF", "127.0.0.1", leader.server.port)
        beside.proxy.cut()
        until(lambda: beside.info().get(b"master_link_status") == b"up", "it follows past the proxy")
        leader.proxy.cut()

        def mend():
            leader.proxy.mend()
            beside.proxy.mend()
        return mend
    harm.__name__ = "split"
    return harm


def play(members, options, kinds_of, kills, lasts_until_granted=False):
    with Group(*[Chosen.program] * members, options=("--appendonly", "yes", *options)) as group:
        watcher = Watcher(group)
        try:
            harms = harm_all(group, watcher, kinds_of(group), kills, lasts_until_granted)
        finally:
            holds = watcher.end()
        print(f"  {len(holds)} grants in {len(harms)} failovers", flush=True)
        return holds, harms


# --- the columns of the table in docs/locks-and-limits.md

def check_splits(holds, harms, kind):
    """There are double grants, and each has one that the master of a split gave, behind its cut or just before."""
    doubles = double_grants(holds)
    splits = [harm for harm in harms if harm.kind == kind]
    for one, other in doubles:
        told = [harm for harm in splits for hold in (one, other)
                if harm.port == hold.port and harm.begin - UNDER_WAY_S < hold.granted < harm.end]
        assert told, (one, other, harms)
    print(f"  {len(doubles)} double grants in {len(splits)} splits")
    assert doubles, "two masters granted at the same time: nobody has looked"


def test_where_all_replicas_acknowledge_no_lock_is_granted_twice():
    holds, _ = play(2, ("--lock-min-replicas", "1"), lambda _: [kill, pause, cut_off], kills=3)
    assert not double_grants(holds), double_grants(holds)[:3]
    assert not tokens_out_of_order(holds), tokens_out_of_order(holds)[:3]


def test_where_some_acknowledge_a_double_grant_is_one_of_a_split_with_them():
    # Of four, so that each side of a split has a master and a replica.
    holds, harms = play(4, ("--lock-min-replicas", "1"), lambda group: [split(group), kill, cut_off], kills=1,
                        lasts_until_granted=True)
    check_splits(holds, harms, "split")


def test_where_grants_wait_for_none_a_double_grant_is_one_of_a_split():
    holds, harms = play(3, (), lambda _: [cut_off, kill], kills=1, lasts_until_granted=True)
    check_splits(holds, harms, "cut_off")


if __name__ == "__main__":
    if "--kills" in sys.argv:
        at = sys.argv.index("--kills")
        KILLS = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    sys.exit(run_tests(__doc__, globals()))
