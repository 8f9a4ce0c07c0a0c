#!/usr/bin/python3
"""Clusters as people make them: fresh servers with cluster-enabled yes and no map, and `redis-cli --cluster create`,
add-node, del-node, check; failovers by hand. There is no bus: servers hand each other their maps.

  cluster_made.py [--server program] [--long] [--jobs n] [test ...]

--long moves more slots, and lets a replica take over in each of the three ways.
"""
import contextlib
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import REDIS, Server, free_port  # noqa: E402
from smoke import Chosen, info, run_tests, until  # noqa: E402

SLOTS = 16384


class Made:
    """So many fresh servers; `create` makes them one cluster."""

    def __init__(self, count, *options):
        self.options = options
        self.servers = []
        for _ in range(count):
            self.add()

    def add(self):
        words = ("--cluster-enabled", "yes", "--repl-diskless-sync-delay", "0", "--cluster-node-timeout", "2000")
        self.servers.append(Server(Chosen.program, words + self.options, tcp=True))
        return self.servers[-1]

    def create(self, replicas=0):
        said = cli("create", *(address(server) for server in self.servers), "--cluster-replicas", replicas,
                   "--cluster-yes")
        assert "[OK] All 16384 slots covered." in said, said
        return said

    def create_two(self):
        """The first one has the first half."""
        ok(self.servers[0], "CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        ok(self.servers[1], "CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        ok(self.servers[0], "CLUSTER", "MEET", "127.0.0.1", self.servers[1].port)
        self.wait()

    def agrees(self):
        """Whether all have the same map, and each knows it of the others."""
        told = [cluster_info(server) for server in self.servers if server.process.poll() is None]
        return len({fields["cluster_map_digest"] for fields in told}) == 1 and all(
            not fields["cluster_map_differs"] and int(fields["cluster_known_nodes"]) >= len(told) for fields in told)

    def wait(self):
        until(self.agrees, "all have the same map")

    def replicas_are_up(self):
        followers = [server for server in self.servers if role(server) == "slave"]
        until(lambda: all(info(connection(server), "replication")[b"master_link_status"] == b"up"
                          for server in followers), "replicas follow their masters")
        return followers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop()


def connection(server):
    return wire.Connection(server.connect())


def address(server):
    return f"127.0.0.1:{server.port}"


def cli(*words, fails=False):
    done = subprocess.run(["redis-cli", "--cluster", *(str(word) for word in words)], capture_output=True, text=True,
                          timeout=120)
    said = done.stdout + done.stderr
    assert fails == (done.returncode != 0), said
    return said


def call(server, *words):
    return connection(server).call(*words)


def ok(server, *words):
    answer = call(server, *words)
    assert answer == ("+", b"OK"), (words, answer)


def cluster_info(server):
    lines = call(server, "CLUSTER", "INFO")[1].decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if line)


def own_id(server):
    return call(server, "CLUSTER", "MYID")[1].decode()


def role(server):
    return call(server, "ROLE")[1][0][1].decode()


def nodes(server):
    """The fields of each server's line, by its port."""
    lines = call(server, "CLUSTER", "NODES")[1].decode().splitlines()
    return {int(re.search(r":(\d+)@", line)[1]): line.split() for line in lines}


def flags(server, other):
    return nodes(server)[other.port][2].replace("myself,", "")


def test_six_servers_from_their_making_to_a_failover():
    """One cluster for all of it, as redis-cli takes seconds to make one."""
    with Made(6) as made:
        made.create(replicas=1)
        made.wait()
        assert len(made.replicas_are_up()) == 3
        for server in made.servers:
            seen = nodes(server)
            assert len(seen) == 6 and sum("master" in fields[2] for fields in seen.values()) == 3, seen
            assert cluster_info(server)["cluster_state"] == "ok"
        fill(made, 50)
        assert "[OK] All nodes agree about slots configuration." in cli("check", address(made.servers[4]))
        assert "150 keys in 3 masters" in cli("info", address(made.servers[2]))
        assert cli("call", address(made.servers[2]), "PING").count("PONG") == 6
        for how in ((), ("FORCE",), ("TAKEOVER",)) if Chosen.long else ((), ("TAKEOVER",)):
            a_replica_takes_over(made, how)
        assert call(made.servers[0], "CLUSTER", "FAILOVER", "NOW") == ("-", b"ERR syntax error")
        a_master_that_comes_back_follows(made)
        assert len(keys(made)) == 150


def check(*addresses):
    return subprocess.run([Chosen.program, "--cluster-check", *addresses], capture_output=True, text=True, timeout=60)


def test_maps_are_compared():
    with Made(3) as made:
        made.create()
        made.wait()
        first, *_, last = (address(server) for server in made.servers)
        done = check(first)  # the others are those of its map
        assert done.returncode == 0 and done.stdout.count(" state ok") == 3 and not done.stderr, done
        # Another cluster, which serves half of the slots.
        with Made(1) as other:
            ok(other.servers[0], "CLUSTER", "ADDSLOTSRANGE", "0", "8191")
            stranger = address(other.servers[0])
            done = check(first, last, stranger)
            assert done.returncode == 1, done
            assert f"{stranger}: it has another map than {first}" in done.stderr, done
            assert f"{stranger}: its map leaves slots to nobody" in done.stderr, done
        done = check(first, stranger)  # it is gone
        assert done.returncode == 1 and "state ok" in done.stdout and stranger in done.stderr, done
        assert check().returncode == 2, check()


def test_a_cluster_outlives_its_servers():
    with Made(3) as made:
        made.create()
        made.wait()
        before = cluster_info(made.servers[0])["cluster_map_digest"]
        for server in made.servers:
            server.restart()
        made.wait()
        assert cluster_info(made.servers[0])["cluster_map_digest"] == before


def test_nodes_come_and_go():
    with Made(3) as made:
        made.create()
        made.wait()
        first = made.servers[0]
        master, replica = made.add(), made.add()
        assert "[OK] New node added correctly." in cli("add-node", address(master), address(first))
        made.servers.remove(replica)
        made.wait()
        made.servers.append(replica)
        said = cli("add-node", address(replica), address(first), "--cluster-slave", "--cluster-master-id",
                   own_id(first))
        assert "[OK] New node added correctly." in said, said
        made.wait()
        assert made.replicas_are_up() == [replica]
        assert nodes(made.servers[1])[replica.port][3] == own_id(first)
        gone = own_id(replica)
        cli("del-node", address(first), gone)
        made.servers.remove(replica)
        made.wait()
        assert role(replica) == "master" and len(nodes(replica)) == 1
        assert all(replica.port not in nodes(server) for server in made.servers)
        # For a minute no map brings it back; it comes back when it is met.
        ok(replica, "CLUSTER", "MEET", "127.0.0.1", first.port)
        until(lambda: replica.port in nodes(first), "it is let in again")
        replica.stop()


def a_replica_takes_over(made, how):
    replica = made.replicas_are_up()[0]
    master = next(server for server in made.servers if own_id(server) == nodes(replica)[replica.port][3])
    slots = nodes(master)[master.port][8:]
    ok(replica, "CLUSTER", "FAILOVER", *how)
    until(lambda: role(replica) == "master" and role(master) == "slave", f"they change places {how}")
    until(lambda: all(flags(server, replica) == "master" and flags(server, master) == "slave"
                      for server in made.servers), "all hear of it")
    made.wait()
    for server in made.servers:
        assert nodes(server)[replica.port][8:] == slots
        assert nodes(server)[master.port][3] == own_id(replica)


def a_master_that_comes_back_follows(made):
    replica = made.replicas_are_up()[0]
    master = next(server for server in made.servers if own_id(server) == nodes(replica)[replica.port][3])
    master.process.send_signal(signal.SIGKILL)
    master.process.wait()
    until(lambda: info(connection(replica), "replication")[b"master_link_status"] == b"down", "the link is lost")
    assert call(replica, "CLUSTER", "FAILOVER")[1].startswith(b"ERR Master is down or failed")
    ok(replica, "REPLICAOF", "NO", "ONE")  # as a Sentinel does
    others = [server for server in made.servers if server not in (master, replica)]
    until(lambda: all(flags(server, replica) == "master" for server in others), "all hear of it")
    assert address(master) in cluster_info(others[0])["cluster_map_differs"]
    master.start()
    made.wait()
    until(lambda: role(master) == "slave", "it follows its heir")
    made.wait()
    assert nodes(others[0])[master.port][3] == own_id(replica)


def fill(made, count):
    """Keys of every slot of the cluster and of several types, our own among them."""
    commands = [words for number in range(count) for words in (
        f"SET key:{number} {number}", f"RPUSH list:{number} a b", f"LIMIT.TAKE limit:{number} WINDOW 10 600000")]
    done = subprocess.run(["redis-cli", "-c", "-p", str(made.servers[0].port)], input="\n".join(commands) + "\n",
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "ERR" not in done.stdout + done.stderr, done


def keys(made):
    return sorted(key[1] for server in made.servers if role(server) == "master"
                  for key in call(server, "KEYS", "*")[1])


def test_slots_move_with_their_keys():
    count = 400 if Chosen.long else 60
    with Made(3) as made:
        made.create()
        made.wait()
        fill(made, 200)
        before = keys(made)
        assert len(before) == 600
        first, second = made.servers[:2]
        said = cli("reshard", address(first), "--cluster-from", own_id(first), "--cluster-to", own_id(second),
                   "--cluster-slots", count, "--cluster-yes")
        assert "Moving slot 0 from" in said, said
        made.wait()
        assert nodes(made.servers[2])[first.port][8:] == [f"{count}-5460"], nodes(made.servers[2])
        assert sorted(nodes(made.servers[2])[second.port][8:]) == [f"0-{count - 1}", "5461-10922"]
        assert keys(made) == before
        assert "[OK] All 16384 slots covered." in cli("check", address(first))
        said = cli("rebalance", address(first), "--cluster-threshold", "1")
        made.wait()
        assert keys(made) == before
        sizes = [sum(int(words.split("-")[-1]) - int(words.split("-")[0]) + 1
                     for words in nodes(server)[server.port][8:]) for server in made.servers]
        assert sum(sizes) == SLOTS and max(sizes) - min(sizes) < 10, sizes


def test_a_master_that_gives_all_away_follows():
    with Made(2) as made:
        ok(made.servers[0], "CLUSTER", "ADDSLOTSRANGE", "0", "20")
        ok(made.servers[1], "CLUSTER", "ADDSLOTSRANGE", "21", "16383")
        ok(made.servers[0], "CLUSTER", "MEET", "127.0.0.1", made.servers[1].port)
        made.wait()
        cli("reshard", address(made.servers[0]), "--cluster-from", own_id(made.servers[0]), "--cluster-to",
            own_id(made.servers[1]), "--cluster-slots", "21", "--cluster-yes")
        until(lambda: role(made.servers[0]) == "slave", "it follows")
        made.wait()


def test_a_slot_on_its_way():
    """-ASK, ASKING, -TRYAGAIN, and what MIGRATE does with locks, while a slot is open; then `fix` closes it."""
    with Made(2, "--appendonly", "yes") as made:
        made.create_two()
        source, target = made.servers
        slot = "3300"  # that of {b}
        ok(source, "SET", "{b}1", "one")
        ok(source, "SET", "{b}2", "two", "PX", "600000")
        assert call(source, "LOCK.ACQUIRE", "{b}lock", "me", "LEASE", "600000")[0] == "*"
        ok(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", own_id(source))
        ok(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", own_id(target))
        assert nodes(source)[source.port][-1] == f"[{slot}->-{own_id(target)}]"
        assert nodes(target)[target.port][-1] == f"[{slot}-<-{own_id(source)}]"
        ask = ("-", f"ASK {slot} 127.0.0.1:{target.port}".encode())
        moved = ("-", f"MOVED {slot} 127.0.0.1:{source.port}".encode())
        again = ("-", b"TRYAGAIN Multiple keys request during rehashing of slot")
        assert call(source, "GET", "{b}1") == ("$", b"one")
        assert call(source, "GET", "{b}new") == ask
        assert call(source, "MGET", "{b}1", "{b}new") == again
        assert call(target, "GET", "{b}1") == moved
        migrate = ("MIGRATE", "127.0.0.1", target.port, "", "0", "5000", "KEYS")
        answer = call(source, *migrate, "{b}1", "{b}lock")
        assert answer == ("-", b"ERR locks are not migrated while they are held: {b}lock"), answer
        assert call(source, *migrate, "{b}nothing") == ("+", b"NOKEY")
        ok(source, *migrate, "{b}1", "{b}2")
        assert call(source, "GET", "{b}1") == ask
        assert call(source, "EVAL", "return redis.call('get', KEYS[1])", "1", "{b}1") == ask
        client = connection(target)
        assert client.call("GET", "{b}1") == moved
        assert client.call("ASKING") == ("+", b"OK") and client.call("GET", "{b}1") == ("$", b"one")
        assert client.call("GET", "{b}1") == moved  # it was for one command
        assert client.call("ASKING") == ("+", b"OK") and client.call("MGET", "{b}1", "{b}x") == again
        assert client.call("ASKING") == ("+", b"OK")
        assert 0 < int(client.call("PTTL", "{b}2")[1]) <= 600000
        assert client.call("ASKING") == ("+", b"OK")
        assert client.call("EVAL", "return redis.call('get', KEYS[1])", "1", "{b}1") == ("$", b"one")
        taken = call(source, "CLUSTER", "SETSLOT", slot, "NODE", own_id(target))
        assert taken[1].startswith(b"ERR Can't assign hashslot 3300 to a different node"), taken
        assert call(source, "LOCK.RELEASE", "{b}lock", "me")[0] != "-"
        for server in (source, target):
            server.restart()
        assert call(source, "GET", "{b}new") == ask  # files have it
        cli("fix", address(source))
        made.wait()
        assert "[OK] All 16384 slots covered." in cli("check", address(source))
        assert [len(call(server, "KEYS", "*")[1]) for server in made.servers] in ([0, 2], [2, 0])


def test_what_hears_of_a_moved_slot():
    """Sharded messages of a slot that is another server's are over; held locks are counted by slots."""
    with Made(2) as made:
        made.create_two()
        source, target = made.servers
        hears = connection(source)
        assert hears.call("SSUBSCRIBE", "{b}news")[0] == "*"
        assert hears.call("SSUBSCRIBE", "{c}news")[0] == "*"  # slot 7365
        for number in range(3):
            assert call(source, "LOCK.ACQUIRE", f"{{b}}{number}", "me", "LEASE", "600000")[0] == "*"
        assert call(source, "CLUSTER", "MAP", "CHECK") == (
            "*", [("$", b"0"), ("*", [("*", [(":", b"3300"), (":", b"3")])])])
        for number in range(3):
            call(source, "LOCK.RELEASE", f"{{b}}{number}", "me")
        ok(target, "CLUSTER", "SETSLOT", "3300", "IMPORTING", own_id(source))
        ok(target, "CLUSTER", "SETSLOT", "3300", "NODE", own_id(target))
        assert wire.reply(hears.replies(1)[0]) == ("*", [("$", b"sunsubscribe"), ("$", b"{b}news"), (":", b"1")])
        assert call(source, "SPUBLISH", "{c}news", "m") == (":", b"1")
        assert call(source, "SPUBLISH", "{b}news", "m")[1].startswith(b"MOVED 3300")


def test_what_migrate_cannot_do():
    with Made(2) as made, socket.create_server(("127.0.0.1", 0)) as mute:
        made.create_two()
        source, target = made.servers
        ok(source, "SET", "{b}1", "one")
        writer = connection(source)
        for port, why in ((free_port(), b"IOERR error or timeout writing to target instance"),
                          (mute.getsockname()[1], b"IOERR error or timeout reading to target instance"),
                          (target.port, b"ERR Target instance replied with error: MOVED 3300")):
            answer = call(source, "MIGRATE", "127.0.0.1", port, "{b}1", "0", "500")
            assert answer[0] == "-" and answer[1].startswith(why), answer
            assert writer.call("GET", "{b}1") == ("$", b"one")
            assert writer.call("SET", "{b}2", "x") == ("+", b"OK")  # writes go on
        for words, why in (([target.port, "{b}1", "0", "x"], b"value is not an integer"),
                           ([target.port, "{b}1", "0", "0", "NOSUCH"], b"syntax error"),
                           ([target.port, "{b}1", "0", "0", "KEYS", "{b}2"], b"When using MIGRATE KEYS option")):
            answer = call(source, "MIGRATE", "127.0.0.1", *words)
            assert answer[0] == "-" and why in answer[1], answer
        # Its client goes away in the middle: the key stays, and writes go on.
        leaver = connection(source)
        leaver.send(wire.encode([b"MIGRATE", b"127.0.0.1", b"%d" % mute.getsockname()[1], b"{b}1", b"0", b"60000"]))
        until(lambda: info(writer, "clients")[b"blocked_clients"] == b"1", "it waits")
        writer.send(wire.encode([b"SET", b"{b}3", b"x"]))
        leaver.sock.close()
        assert wire.reply(writer.replies(1)[0]) == ("+", b"OK")
        assert call(source, "GET", "{b}1") == ("$", b"one")


class Stranger:
    """Takes connections, and says the same to each until it is closed."""

    def __init__(self, says):
        self.says = says
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                threading.Thread(target=self.speak, args=(self.listener.accept()[0],), daemon=True).start()

    def speak(self, sock):
        with sock, contextlib.suppress(OSError):
            for _ in range(1000):
                sock.sendall(self.says)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


NONSENSE = (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"x" * 65536, b"+" + b"x" * 65536, b"*1000000000\r\n",
            b"$1000000000\r\n" + b"x" * 65536, b"*1\r\n" * 10000, b"\0" * 65536, b":\r\n$x\r\n", b"-\r\n")


def test_strangers_that_talk_nonsense():
    """MIGRATE, and MEET, to what is no server of ours: others are served meanwhile, and nothing is lost."""
    with Made(2) as made:
        made.create_two()
        source = made.servers[0]
        ok(source, "SET", "{b}1", "one")
        other = connection(source)
        rss = source.rss_bytes()
        for says in NONSENSE:
            with Stranger(says) as stranger:
                ok(source, "CLUSTER", "MEET", "127.0.0.1", stranger.port)
                answer = call(source, "MIGRATE", "127.0.0.1", stranger.port, "{b}1", "0", "5000")
                assert answer[0] == "-", (says[:20], answer)
                assert other.call("GET", "{b}1") == ("$", b"one")
                assert other.call("SET", "{b}2", "x") == ("+", b"OK")
        assert len(nodes(source)) == 2 and source.rss_bytes() - rss < 64 << 20
        made.wait()


def test_migrate_to_redis_and_to_sluice_alone():
    with Server(Chosen.program, tcp=True) as source, Server(REDIS, tcp=True) as redis, \
            Server(Chosen.program, ("--requirepass", "secret"), tcp=True) as locked:
        for key in ("a", "b", "c", "d"):
            ok(source, "SET", key, "v" + key)
        ok(source, "MIGRATE", "127.0.0.1", redis.port, "a", "3", "5000")
        assert call(source, "EXISTS", "a") == (":", b"0")
        there = connection(redis)
        assert there.call("SELECT", "3") == ("+", b"OK") and there.call("GET", "a") == ("$", b"va")
        ok(source, "MIGRATE", "127.0.0.1", redis.port, "b", "0", "5000", "COPY")
        assert call(source, "GET", "b") == ("$", b"vb") and call(redis, "GET", "b") == ("$", b"vb")
        busy = call(source, "MIGRATE", "127.0.0.1", redis.port, "", "0", "5000", "KEYS", "b", "c")
        assert busy == ("-", b"ERR Target instance replied with error: BUSYKEY Target key name already exists."), busy
        assert call(source, "EXISTS", "b") == (":", b"1") and call(source, "EXISTS", "c") == (":", b"0")
        ok(source, "MIGRATE", "127.0.0.1", redis.port, "b", "0", "5000", "REPLACE")
        answer = call(source, "MIGRATE", "127.0.0.1", locked.port, "d", "0", "5000")
        assert b"NOAUTH" in answer[1], answer
        ok(source, "MIGRATE", "127.0.0.1", locked.port, "d", "0", "5000", "AUTH", "secret")
        there = connection(locked)
        assert there.call("AUTH", "secret") == ("+", b"OK") and there.call("GET", "d") == ("$", b"vd")


def test_strangers():
    """What is met and is no server, or the server itself, or knows nobody here."""
    with Made(2) as made, socket.create_server(("127.0.0.1", 0)) as mute:
        first, other = made.servers
        for port in (mute.getsockname()[1], free_port(), first.port):
            ok(first, "CLUSTER", "MEET", "127.0.0.1", port)
        until(lambda: "it is this server itself" in first.output(), "it does not meet itself")
        until(lambda: "Connection refused" in first.output(), "nobody is there")
        assert len(nodes(first)) == 1
        unknown = call(first, "CLUSTER", "MAP", "PUT", f"me {'a' * 40}\nserver 10.0.0.1:1 {'a' * 40}\n")
        assert unknown == ("-", b"ERR Unknown node " + b"a" * 40), unknown
        for text, why in (("", b"does not say whose"), ("epoch 1", b"does not say whose"), ("0-5", b"line 1"),
                          ("#\n" * 40000, b"lines"), (f"me {own_id(first)}\nserver 10.0.0.1:1 {own_id(first)}\n",
                                                      b"it is this server itself")):
            answer = call(first, "CLUSTER", "MAP", "PUT", text, "MEET")
            assert answer[0] == "-" and why in answer[1], answer
        for words, why in ((("MEET", "host", "1"), b"Invalid node address specified: host:1"),
                           (("MEET", "127.0.0.1", "x"), b"Invalid TCP base port specified: x"),
                           (("FORGET", "x"), b"Unknown node x"), (("FORGET", own_id(first)), b"can't forget myself"),
                           (("REPLICATE", own_id(first)), b"Can't replicate myself"), (("RESET", "x"), b"syntax error"),
                           (("FAILOVER",), b"You should send CLUSTER FAILOVER to a replica")):
            answer = call(first, "CLUSTER", *words)
            assert answer[0] == "-" and why in answer[1], (words, answer)
        ok(other, "CLUSTER", "MEET", "127.0.0.1", first.port)
        made.wait()
        before = own_id(other)
        ok(other, "CLUSTER", "RESET", "HARD")
        assert own_id(other) != before and len(nodes(other)) == 1


def test_a_password():
    with Made(3, "--requirepass", "secret", "--masterauth", "secret") as made:
        said = subprocess.run(["redis-cli", "-a", "secret", "--cluster", "create",
                               *(address(server) for server in made.servers), "--cluster-yes"],
                              capture_output=True, text=True, timeout=120).stdout
        assert "[OK] All 16384 slots covered." in said, said


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
