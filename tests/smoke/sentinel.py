#!/usr/bin/python3
"""Three stock redis-sentinels over one Sluice and two that follow it: a master that is killed, stopped, cut off or out
of disk is replaced, nothing that was acknowledged is lost, and all servers end up in their roles.

  sentinel.py [--server program] [--failovers 4] [test ...]      --failovers 200: as long as a campaign

Of the kinds of harm a full disk needs a mount namespace of its own, and is left out without the rights for one.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from sentinels import Group, Member, cut_off, kill, pause, seconds_since  # noqa: E402
from server import REDIS, Server, first_seed, free_port  # noqa: E402
from smoke import Chosen, client, info, run_tests, until  # noqa: E402

FAILOVERS = 4
LOG_BYTES_MAX = 1 << 24
INSIDE = "SLUICE_SMALL_DISKS"  # set in the namespace
# As Redis's documentation of Sentinel names the rights that it needs, and that of replication those of a replica.
SENTINEL_USER = ("--user watcher on >word allchannels +multi +slaveof +ping +exec +subscribe +config|rewrite +role "
                 "+publish +info +client|setname +client|kill +script|kill")
FOLLOWER_USER = "--user follower on >word +psync +replconf +ping"


def sluices(count=3):
    return [Chosen.program] * count


# --- failovers

class Writer:
    """Counts up on whoever the Sentinels name. What all replicas have is acknowledged."""

    def __init__(self, group):
        self.group, self.stopping = group, False
        self.asked = self.had = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping:
            leader = self.group.leader()
            if leader is None:
                time.sleep(0.02)
                continue
            try:
                self.write(wire.Connection(leader.server.connect(2)), leader)
            except (OSError, EOFError, TypeError):
                time.sleep(0.02)

    def write(self, connection, leader):
        for _ in range(50):
            if self.stopping or self.group.leader() is not leader:
                break
            self.asked += 1
            asked = self.asked
            if connection.call("SET", "count", asked, timeout=2)[0] != "+":
                break
            replicas = len(self.group.members) - 1
            if int(connection.call("WAIT", replicas, 300, timeout=2)[1]) == replicas:
                self.had = asked
            time.sleep(0.005)
        connection.close()

    def stop(self):
        self.stopping = True
        self.thread.join()


def fill_disk(member):
    folder = pathlib.Path(member.ask("CONFIG", "GET", "dir")[1][1][1].decode())
    ballast = folder / "ballast"
    try:
        with open(ballast, "ab", buffering=0) as file:
            while file.write(bytes(16 * 1024)):
                pass
    except OSError:
        pass
    return ballast.unlink


def small_disks():
    """The options of a member whose folder is a file system of its own; none without the rights for one."""
    if INSIDE not in os.environ:
        return lambda number: ("--appendonly", "yes")
    root = tempfile.mkdtemp(prefix="sluice-disks-")

    def options(number):
        folder = os.path.join(root, str(number))
        os.mkdir(folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder], check=True)
        return ("--appendonly", "yes", "--dir", folder)
    return options


def test_failovers():
    chance = random.Random(first_seed())
    harms = [kill, pause, cut_off] + ([fill_disk] if INSIDE in os.environ else [])
    with Group(*sluices(), options=small_disks()) as group:
        writer = Writer(group)
        for number in range(FAILOVERS):
            harm = harms[number] if number < len(harms) else chance.choice(harms)
            fail_over(group, writer, harm)
            if harm is fill_disk or number % 20 == 19:
                print(f"  {number + 1} failovers, {writer.had} writes acknowledged", flush=True)
        writer.stop()
        assert writer.had > 0, "nothing was acknowledged"


def said(member, words):
    """How often its log has these words."""
    return member.server.output(LOG_BYTES_MAX).count(words)


def fail_over(group, writer, harm):
    until(lambda: group.is_settled() and writer.had > 0, "all are well, and writes go")
    before, had = group.leader(), writer.had
    until(lambda: writer.had > had, "writes go on")
    had = writer.had
    syncs = {member.port: said(member, "Full resync from master") for member in group.members}
    ahead = {member.port: said(member, "but I can reply up to") for member in group.members}
    mend = harm(before)
    leader = group.failed_over(before)
    value = int(leader.ask("GET", "count")[1])
    assert value >= had, (harm.__name__, value, had)
    # The replica that only had to change its master.
    for other in group.followers(leader):
        if other is before:
            continue
        until(lambda: other.follows(leader), "it follows the new one")  # noqa: B023
        # A master without disk lives, and goes on telling it of hellos: it may have more of that than the new one.
        is_ahead = harm is fill_disk and said(leader, "but I can reply up to") > ahead[leader.port]
        has_synced = said(other, "Full resync from master") > syncs[other.port]
        assert is_ahead or not has_synced, f"{harm.__name__}: it has cost a full sync"
    mend()
    group.settle()


# --- what a Sentinel says

def as_sentinel(member):
    connection = wire.Connection(member.server.connect())
    assert connection.call("CLIENT", "SETNAME", "sentinel-0123abcd-cmd") == ("+", b"OK")
    return connection


def change_role(connection, *words):
    """Sentinel's transaction, and what follows in the same packet."""
    requests = [("MULTI",), ("SLAVEOF", *words), ("CONFIG", "REWRITE"), ("CLIENT", "KILL", "TYPE", "normal"),
                ("CLIENT", "KILL", "TYPE", "pubsub"), ("EXEC",), ("SET", "behind", "1")]
    connection.send(b"".join(wire.encode([str(word).encode() for word in request]) for request in requests))
    replies = [wire.reply(raw) for raw in connection.replies(len(requests))]
    assert [value for _, value in replies[:5]] == [b"OK"] + [b"QUEUED"] * 4, replies
    return replies[5][1], replies[6]


def is_closed(connection):
    connection.sock.settimeout(5)
    while connection.fill():
        pass
    return connection.closed


def test_the_transaction_of_a_promotion_and_of_a_demotion():
    leader, follower = (Member(Chosen.program, Group.OPTIONS) for _ in range(2))
    try:
        follower.ask("REPLICAOF", "127.0.0.1", leader.port)
        until(lambda: follower.follows(leader), "it follows")
        assert f"replicaof 127.0.0.1 {leader.port}" not in follower.config_lines()
        reader, listener = client(follower.server), client(follower.server)
        assert reader.call("GET", "key") == ("$-1", None)
        listener.call("SUBSCRIBE", "news")
        answers, behind = change_role(as_sentinel(follower), "NO", "ONE")
        assert answers[:2] == [("+", b"OK")] * 2 and [kind for kind, _ in answers[2:]] == [":", ":"], answers
        assert int(answers[2][1]) >= 1 and answers[3] == (":", b"1"), answers
        assert behind == ("+", b"OK"), behind
        assert is_closed(reader) and is_closed(listener)
        assert not any(line.startswith("replicaof") for line in follower.config_lines())
        assert "MASTER MODE enabled (user request from 'id=" in follower.server.output()
        assert "name=sentinel-0123abcd-cmd" in follower.server.output()

        # The other one is demoted: who waits there, listens or asks finds the connection closed.
        blocked, listener, asker = (client(leader.server) for _ in range(3))
        blocked.send(wire.encode([b"BLPOP", b"queue", b"0"]))
        until(lambda: info(client(leader.server), "clients")[b"blocked_clients"] == b"1", "it waits")
        listener.call("SUBSCRIBE", "news")
        assert asker.call("PING") == ("+", b"PONG")
        answers, behind = change_role(as_sentinel(leader), "127.0.0.1", follower.port)
        assert answers[:2] == [("+", b"OK")] * 2, answers
        assert behind[0] == "-" and behind[1].startswith(b"READONLY"), behind
        assert is_closed(blocked) and is_closed(listener) and is_closed(asker)
        assert f"replicaof 127.0.0.1 {follower.port}" in leader.config_lines()
        until(lambda: leader.follows(follower), "it follows")
        assert leader.ask("GET", "behind") == ("$", b"1")
        assert f"REPLICAOF 127.0.0.1:{follower.port} enabled (user request from 'id=" in leader.server.output()
        # A start finds the role in the file.
        leader.server.restart()
        until(lambda: leader.follows(follower), "it follows after a start")
    finally:
        leader.stop()
        follower.stop()


def test_a_role_changes_without_a_file_too():
    with Server(Chosen.program) as other, Server(Chosen.program, tcp=True) as leader:
        connection = client(other)
        answers, behind = change_role(connection, "127.0.0.1", leader.port)
        assert answers[0] == ("+", b"OK") and answers[2][0] == ":", answers
        assert answers[1] == ("-", b"ERR The server is running without a config file"), answers
        assert behind[1].startswith(b"READONLY"), behind
    member = Member(Chosen.program, ())
    try:
        shutil.move(member.server.file, member.server.file + ".old")
        os.mkdir(member.server.file)  # cannot be written, whoever asks
        answers, behind = change_role(client(member.server), "127.0.0.1", 1)
        assert answers[0] == ("+", b"OK") and answers[1][1].startswith(b"ERR Rewriting config file: "), answers
        assert behind[1].startswith(b"READONLY"), behind
        os.rmdir(member.server.file)
    finally:
        member.stop()


def test_sentinels_with_the_least_rights():
    lines = ("sentinel auth-user mymaster watcher", "sentinel auth-pass mymaster word")
    users = (*SENTINEL_USER.split(), *FOLLOWER_USER.split(), "--masteruser", "follower", "--masterauth", "word")
    with Group(*sluices(), options=users, sentinel_lines=lines) as group:
        old = group.leader()
        assert b"user=watcher" in old.ask("CLIENT", "LIST")[1] and b"user=follower" in old.ask("CLIENT", "LIST")[1]
        kill(old)
        leader = group.failed_over(old)
        old.server.start()
        group.settle()
        assert f"replicaof 127.0.0.1 {leader.port}" in old.config_lines(), "its file was written"
        for member in group.members:
            denied = member.ask("ACL", "LOG")[1]
            assert not denied, denied


# --- what a Sentinel hears

def test_info_tells_within_a_second():
    leader, follower = (Member(Chosen.program, Group.OPTIONS) for _ in range(2))
    try:
        runs = leader.info("server")[b"run_id"]
        follower.ask("REPLICAOF", "127.0.0.1", leader.port)
        assert follower.info()[b"role"] == b"slave", "it is one at once"
        until(lambda: follower.follows(leader), "it follows")
        leader.ask("SET", "key", "value")
        end = int(leader.info()[b"master_repl_offset"])
        until(lambda: int(follower.info()[b"slave_repl_offset"]) >= end, "it tells what it has")
        until(lambda: b"port=%d,state=online,offset=" % follower.port in leader.info()[b"slave0"], "so does its master")
        for option, field, value in (("replica-priority", b"slave_priority", b"7"),
                                     ("replica-announced", b"replica_announced", b"no")):
            assert follower.ask("CONFIG", "SET", option, value) == ("+", b"OK")
            assert follower.info()[field] == {b"no": b"0"}.get(value, value)
        leader.server.kill()
        began = time.monotonic()
        until(lambda: follower.info()[b"master_link_status"] == b"down", "it notices")
        assert seconds_since(began) < 1
        until(lambda: int(follower.info()[b"master_link_down_since_seconds"]) >= 1, "it counts")
        assert seconds_since(began) < 3
        leader.server.start()
        assert leader.info("server")[b"run_id"] != runs
        until(lambda: follower.follows(leader), "it follows again")
    finally:
        leader.stop()
        follower.stop()


def test_what_a_server_in_trouble_says_to_ping():
    with Server(Chosen.program, ("--replica-serve-stale-data", "no", "--busy-reply-threshold", "20")) as server:
        connection = client(server)
        assert connection.call("REPLICAOF", "127.0.0.1", free_port()) == ("+", b"OK")
        assert connection.call("PING")[1].startswith(b"MASTERDOWN Link with MASTER is down")
        assert connection.call("INFO", "replication")[0] == "$"
        connection.call("REPLICAOF", "NO", "ONE")
        assert connection.call("PING") == ("+", b"PONG")
        connection.send(wire.encode([b"EVAL", b"while true do end", b"0"]))
        other = client(server)
        until(lambda: other.call("PING")[1].startswith(b"BUSY "), "it is busy")
        assert other.call("SCRIPT", "KILL") == ("+", b"OK")
        until(lambda: other.call("PING") == ("+", b"PONG"), "it is not")


def test_a_slow_load_is_slow_and_answers():
    keys = 2000
    with Server(Chosen.program, file=True) as server:
        connection = client(server)
        assert connection.call("DEBUG", "POPULATE", keys) == ("+", b"OK")
        assert connection.call("SAVE") == ("+", b"OK")
        for option, value in (("key-load-delay", "500"), ("loading-process-events-interval-bytes", "1024")):
            assert connection.call("CONFIG", "SET", option, value) == ("+", b"OK")
        assert connection.call("CONFIG", "REWRITE") == ("+", b"OK")
        server.kill()
        server.start(wait=False)
        seen = set()
        began = time.monotonic()
        until(lambda: server_up(server), "it is there")
        while (answer := client(server).call("PING")) != ("+", b"PONG"):
            assert answer[1].startswith(b"LOADING "), answer
            loaded = info(client(server), "persistence").get(b"loading_loaded_bytes")
            if loaded is not None:  # else it ended between the two
                seen.add(loaded)
            time.sleep(0.005)
        took = seconds_since(began)
        assert keys * 500e-6 * 0.9 < took < 20, took
        assert len(seen) > 10, f"others saw the load go on {len(seen)} times"
        assert client(server).call("DBSIZE") == (":", str(keys).encode())


def server_up(server):
    try:
        return client(server).call("PING") is not None
    except OSError:
        return False


def test_a_busy_master_is_helped_by_the_sentinels():
    """They end its script, and it stays the master."""
    with Group(*sluices(2), options=("--busy-reply-threshold", "50"), down_after_ms=4000) as group:
        leader = group.leader()
        connection = client(leader.server)
        answer = connection.call("EVAL", "while true do end", "0", timeout=20)
        assert answer[0] == "-" and b"Script killed by user" in answer[1], answer
        assert group.leader() is leader


# --- bad input

def test_forged_hellos_harm_no_server():
    with Group(*sluices(2)) as group:
        leader = group.leader()
        leader.ask("SET", "key", "value")
        hellos = (b"", b",,,,,,,", b"x" * 100000, b"\0\xff" * 100,
                  b"127.0.0.1,99999999999999999999," + b"a" * 40 + b",18446744073709551615,other,1,1,1")
        for hello in hellos:
            assert leader.ask("PUBLISH", "__sentinel__:hello", hello) is not None
        leader.ask("ACL", "SETUSER", "guest", "on", "nopass", "+@all", "-@admin", "~*", "resetchannels", "&news")
        guest = client(leader.server)
        assert guest.call("AUTH", "guest", "any") == ("+", b"OK")
        for request in (("PUBLISH", "__sentinel__:hello", "x"), ("REPLICAOF", "NO", "ONE"),
                        ("SLAVEOF", "127.0.0.1", "1"), ("CONFIG", "REWRITE"), ("CLIENT", "KILL", "TYPE", "normal")):
            answer = guest.call(*request)
            assert answer[0] == "-" and answer[1].startswith(b"NOPERM"), (request, answer)
        time.sleep(1)
        assert group.is_known() and group.leader() is leader
        group.settle()
        # One that fits leads the Sentinels astray, and with them their clients, until they find that nobody is there and
        # promote one of those that they know.
        nobody = free_port()
        leader.ask("PUBLISH", "__sentinel__:hello", f"127.0.0.1,1,{'b' * 40},9,mymaster,127.0.0.1,{nobody},9")
        until(lambda: any(f"127.0.0.1 {nobody}" in sentinel.output() for sentinel in group.sentinels), "they believe it")
        group.settle()
        assert all(member.ask("GET", "key") == ("$", b"value") for member in group.members)


def test_who_follows_itself_stays_as_it_is():
    member = Member(Chosen.program, ())
    try:
        member.ask("SET", "key", "value")
        for port in member.server.port, member.port:
            member.ask("REPLICAOF", "127.0.0.1", port)
            time.sleep(2.5)
            facts = member.info("stats")
            assert facts[b"sync_full"] == b"0", facts[b"sync_full"]
            assert member.ask("GET", "key") == ("$", b"value")
            assert member.info()[b"master_link_status"] == b"down"
        assert member.server.output(1 << 20).count("the MASTER is this server itself") >= 2, member.server.output()
        member.ask("REPLICAOF", "NO", "ONE")
        assert member.ask("SET", "key", "other") == ("+", b"OK")
    finally:
        member.stop()


def test_a_circle_is_found():
    members = [Member(Chosen.program, Group.OPTIONS) for _ in range(3)]
    try:
        first, second, third = members
        first.ask("SET", "key", "value")
        second.ask("REPLICAOF", "127.0.0.1", first.port)
        until(lambda: second.follows(first), "it follows")
        third.ask("REPLICAOF", "127.0.0.1", second.port)
        until(lambda: third.follows(second), "it follows")
        syncs = sum(int(one.info("stats")[b"sync_full"]) for one in members)
        first.ask("REPLICAOF", "127.0.0.1", third.port)
        time.sleep(4)
        after = sum(int(one.info("stats")[b"sync_full"]) for one in members)
        assert after == syncs, f"{after - syncs} full syncs in a circle"
        assert f"a circle: the MASTER 127.0.0.1:{third.port}" in first.server.output(), first.server.output()
        assert all(one.ask("GET", "key") == ("$", b"value") for one in members)
        first.ask("REPLICAOF", "NO", "ONE")
        until(lambda: second.follows(first) and third.follows(second), "it is a line again")
        first.ask("SET", "key", "other")
        until(lambda: third.ask("GET", "key") == ("$", b"other"), "and has all")
        assert sum(int(one.info("stats")[b"sync_full"]) for one in members) - after <= 1, "it was cut in two"
    finally:
        for one in members:
            one.stop()


def test_a_flapping_promotion_loses_nothing():
    """Twice a second one that follows is told to be the master, and to follow again."""
    leader, follower = (Member(Chosen.program, Group.OPTIONS) for _ in range(2))
    try:
        leader.ask("SET", "key", "value")
        follower.ask("REPLICAOF", "127.0.0.1", leader.port)
        until(lambda: follower.follows(leader), "it follows")
        syncs = int(leader.info("stats")[b"sync_full"])
        changes = as_sentinel(follower)
        for number in range(8):
            leader.ask("SET", "number", number)
            assert changes.call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
            assert changes.call("REPLICAOF", "127.0.0.1", leader.port) == ("+", b"OK")
            time.sleep(0.25)
        until(lambda: follower.follows(leader), "it follows")
        until(lambda: follower.ask("GET", "number") == ("$", b"7"), "it has all")
        assert follower.ask("GET", "key") == ("$", b"value")
        assert int(leader.info("stats")[b"sync_full"]) - syncs <= 8
        lines = follower.server.output(1 << 20)
        assert lines.count("MASTER MODE enabled (user request from") == 8
        assert lines.count("enabled (user request from") == 17, "each change names who asked for it"
    finally:
        leader.stop()
        follower.stop()


def test_no_server_there():
    with Server(Chosen.program, ("--replica-serve-stale-data", "yes")) as server:
        connection = client(server)
        connection.call("SET", "key", "value")
        for host, port in (("127.0.0.1", free_port()), ("no-such-name.invalid", 1), ("127.0.0.1", 0), ("", 1)):
            connection.call("REPLICAOF", host, port)
            time.sleep(0.3)
            assert connection.call("GET", "key") == ("$", b"value"), host
        assert server.output().count("Error condition on socket for SYNC") >= 2, server.output()
        connection.call("REPLICAOF", "NO", "ONE")
        assert connection.call("SET", "key", "other") == ("+", b"OK")


# --- redis-servers that could be promoted

def test_a_redis_server_that_could_be_promoted_is_told_of():
    with Server(Chosen.program, Group.OPTIONS, tcp=True) as leader:
        connection = client(leader)
        promotable = lambda: info(connection, "replication")[b"redis_replicas_promotable"]  # noqa: E731
        with Server(REDIS, ("--replicaof", f"127.0.0.1 {leader.port}"), tcp=True) as follower:
            until(lambda: info(client(follower), "replication").get(b"master_link_status") == b"up", "it follows")
            connection.call("SET", "key", "value")
            assert promotable() == b"0", "it has all"
            connection.call("LOCK.ACQUIRE", "door", "me", "LEASE", "60000")
            until(lambda: promotable() == b"1", "it lacks a lock")
            until(lambda: "Set replica-priority 0" in leader.output(), "the log says so")
            time.sleep(2.2)
            assert leader.output().count("Set replica-priority 0") == 1, "once a minute"
        until(lambda: promotable() == b"0", "it has gone")
        with Server(Chosen.program, ("--replicaof", f"127.0.0.1 {leader.port}"), tcp=True) as follower:
            until(lambda: info(client(follower), "replication").get(b"master_link_status") == b"up", "it follows")
            assert promotable() == b"0", "a Sluice lacks nothing"


def in_namespace():
    """Runs all again where file systems can be mounted; null: that cannot be."""
    able = shutil.which("unshare") and subprocess.run(["unshare", "-m", "true"], check=False,
                                                      stderr=subprocess.DEVNULL).returncode == 0
    if INSIDE in os.environ or not able:
        return None
    return subprocess.run(["unshare", "-m", sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"},
                          check=False).returncode


if __name__ == "__main__":
    ended = in_namespace()
    if ended is not None:
        sys.exit(ended)
    if "--failovers" in sys.argv:
        at = sys.argv.index("--failovers")
        FAILOVERS = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    sys.exit(run_tests(__doc__, globals()))
