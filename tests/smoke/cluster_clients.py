#!/usr/bin/python3
"""A cluster of three Sluices with a replica each, by one map, and the clients that people have for clusters.

  cluster_clients.py [--server program] [test ...]
"""
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import ROOT, Server, free_port  # noqa: E402
from smoke import Chosen, info, run_tests, until  # noqa: E402

PAIRS = 3
SLOTS = 16384
SKIPPED = 77


class Cluster:
    """pairs[n]: a master and its replica, which follows it."""

    def __init__(self, *options, pairs=PAIRS):
        self.options = options
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        self.map = pathlib.Path(self.folder.name) / "cluster.map"
        self.servers = []
        self.ports = [(free_port(), free_port()) for _ in range(pairs)]
        self.write_map(epoch=1)
        self.pairs = [self.pair(*ports) for ports in self.ports]
        until(lambda: all(info(connection(replica), "replication")[b"master_link_status"] == b"up"
                          for _, replica in self.pairs),
              "replicas follow their masters")

    def write_map(self, epoch):
        lines = [f"epoch {epoch}"]
        for number, (master, replica) in enumerate(self.ports):
            first, last = number * SLOTS // len(self.ports), (number + 1) * SLOTS // len(self.ports) - 1
            lines += [f"{first}-{last} 127.0.0.1:{master}", f"replica-of 127.0.0.1:{master} 127.0.0.1:{replica}"]
        self.map.write_text("\n".join(lines) + "\n", encoding="ascii")

    def pair(self, master, replica):
        return self.server(master), self.server(replica, "--replicaof", f"127.0.0.1 {master}")

    def server(self, port, *options):
        words = ("--cluster-enabled", "yes", "--cluster-map", self.map, "--cluster-me", f"127.0.0.1:{port}",
                 "--port", port, "--repl-diskless-sync-delay", "0")
        server = Server(Chosen.program, words + self.options + options)
        server.port = port
        self.servers.append(server)
        return server

    @staticmethod
    def leader(server, pair):
        """The port of the one who leads, by what a server says."""
        return int(connection(server).call("CLUSTER", "SLOTS")[1][pair][1][2][1][1][1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop()
        self.folder.cleanup()


def connection(server):
    return wire.Connection(server.connect())


def shell(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, **options)
    return done.returncode, done.stdout + done.stderr


def test_redis_cli_is_redirected():
    with Cluster() as cluster:
        port = cluster.ports[0][0]
        for number in range(50):
            assert shell("redis-cli", "-c", "-p", port, "SET", f"key:{number}", "v")[1].strip() == "OK"
            assert shell("redis-cli", "-c", "-p", port, "GET", f"key:{number}")[1].strip() == "v"


def test_redis_cli_checks_a_cluster():
    with Cluster() as cluster:
        code, said = shell("redis-cli", "--cluster", "check", f"127.0.0.1:{cluster.ports[1][0]}")
        assert code == 0 and "All nodes agree about slots configuration" in said, said
        assert "All 16384 slots covered" in said and said.count("1 additional replica(s)") == PAIRS, said
        code, said = shell("redis-cli", "--cluster", "info", f"127.0.0.1:{cluster.ports[0][0]}")
        assert code == 0 and f"0 keys in {PAIRS} masters" in said, said
        code, said = shell("redis-cli", "--cluster", "call", f"127.0.0.1:{cluster.ports[0][0]}", "PING")
        assert code == 0 and said.count("PONG") == 2 * PAIRS, said


NODE = ("node", ROOT / "tests/clients/cluster_node.js")
CLIENTS = {"redis-py": ("/usr/bin/python3", ROOT / "tests/clients/cluster_redis_py.py"),
           "redis-rb": ("ruby", ROOT / "tests/clients/cluster_ruby.rb"),
           **{name: (*NODE, name) for name in ("ioredis", "ioredis-5", "redis", "redis-5")}}


def test_clients():
    for name, words in CLIENTS.items():
        with Cluster() as cluster:
            code, said = shell(*words, cluster.ports[0][0])
            assert code in (0, SKIPPED), f"{name}: {said}"


class Running:
    """A client that goes on until its input ends, and says a line now and then."""

    def __init__(self, name, words, port):
        self.name, self.lines = name, []
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(word) for word in (*words, port, "through")], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said)
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self.reader.start()

    def goes_on(self, what):
        """Two lines more: what is behind the last of them began after now."""
        seen = len(self.lines)
        until(lambda: self.process.poll() is not None or len(self.lines) >= seen + 2, f"{self.name} goes on {what}")
        assert self.process.poll() in (None, SKIPPED), f"{self.name}, {what}: {self.errors()}"

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        assert code in (0, SKIPPED), f"{self.name}: {self.errors()}"

    def errors(self):
        self.said.seek(0)
        return self.said.read()[-3000:]


def test_clients_live_through_failovers():
    """Masters hand over to their replicas, and then two servers die. No client may read what it has not written."""
    bull = {"bullmq": ("node", ROOT / "tests/clients/cluster_bullmq.js", "bullmq")}
    with Cluster("--cluster-map-follow", "yes") as cluster:
        clients = [Running(name, words, cluster.ports[1][0]) for name, words in {**CLIENTS, **bull}.items()]

        def all_go_on(what):
            for client in clients:
                client.goes_on(what)

        all_go_on("at first")
        for pair, (master, replica) in enumerate(cluster.pairs):
            assert connection(master).call("FAILOVER") == ("+", b"OK")
            all_go_on("during a hand-over")
            # node-redis waits for ever for a server that is gone and led at its last look.
            until(lambda: all(cluster.leader(server, pair) == replica.port for server in cluster.servers),
                  "all know who leads")
            all_go_on("behind a hand-over")
        for master, _ in cluster.pairs[:2]:
            master.process.send_signal(signal.SIGKILL)
            all_go_on("while one is gone")
        for client in clients:
            client.end()


def test_a_replica_is_read_by_those_who_ask_for_it():
    with Cluster() as cluster:
        master, replica = cluster.pairs[0]
        leader, follower = connection(master), connection(replica)
        assert leader.call("SET", "{b}x", "1") == ("+", b"OK")  # slot 3300
        assert leader.call("WAIT", "1", "5000") == (":", b"1")
        moved = ("-", b"MOVED 3300 127.0.0.1:%d" % cluster.ports[0][0])
        assert follower.call("GET", "{b}x") == moved
        assert follower.call("READONLY") == ("+", b"OK")
        assert follower.call("GET", "{b}x") == ("$", b"1")
        assert follower.call("SET", "{b}x", "2") == moved
        for words in (["MULTI"], ["GET", "{b}x"], ["EXEC"]):
            answer = follower.call(*words)
        assert answer == ("*", [("$", b"1")]), answer
        assert follower.call("GET", "{a}x")[1].startswith(b"MOVED 15495 ")
        for name in ("EVAL", "EVAL_RO"):
            assert follower.call(name, "return redis.call('get', KEYS[1])", "1", "{b}x") == ("$", b"1")
        assert follower.call("EVAL", "#!lua\nreturn redis.call('get', KEYS[1])", "1", "{b}x") == moved
        assert follower.call("READWRITE") == ("+", b"OK")
        assert follower.call("GET", "{b}x") == moved


def test_a_promoted_replica_leads_its_line():
    with Cluster() as cluster:
        master, replica = cluster.pairs[0]
        master.process.send_signal(signal.SIGKILL)
        follower = connection(replica)
        assert follower.call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
        assert follower.call("SET", "{b}x", "1") == ("+", b"OK")
        nodes = follower.call("CLUSTER", "NODES")[1].decode().splitlines()
        own = next(line for line in nodes if "myself" in line).split()
        assert own[2] == "myself,master" and own[8] == f"0-{SLOTS // PAIRS - 1}", own
        old = next(line for line in nodes if f":{cluster.ports[0][0]}@" in line).split()
        assert old[2] == "slave" and old[3] == own[0], old


def test_others_learn_who_leads():
    """A Sentinel's part is played by hand: the master dies, and the replica is promoted."""
    with Cluster("--cluster-map-follow", "yes") as cluster:
        (master, replica), other = cluster.pairs[0], connection(cluster.pairs[1][0])
        moved = "MOVED 3300 127.0.0.1:%d"
        assert other.call("GET", "{b}x")[1].decode() == moved % cluster.ports[0][0]
        master.process.send_signal(signal.SIGKILL)
        master.process.wait()
        assert connection(replica).call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
        until(lambda: other.call("GET", "{b}x")[1].decode() == moved % cluster.ports[0][1], "the other pair knows")
        first = other.call("CLUSTER", "SLOTS")[1][0][1]
        assert first[2][1][1] == (":", b"%d" % cluster.ports[0][1]), first
        # It comes back, and thinks that it leads: until it is told otherwise nobody believes it.
        master.start()
        assert other.call("GET", "{b}x")[1].decode() == moved % cluster.ports[0][1]
        assert connection(master).call("REPLICAOF", "127.0.0.1", cluster.ports[0][1]) == ("+", b"OK")
        until(lambda: info(connection(master), "replication")[b"master_link_status"] == b"up", "it follows")
        assert connection(master).call("FAILOVER") == ("-", b"ERR FAILOVER is not valid when server is a replica.")
        assert connection(replica).call("FAILOVER") == ("+", b"OK")
        until(lambda: other.call("GET", "{b}x")[1].decode() == moved % cluster.ports[0][0], "it is handed back")


def test_a_new_map_is_read():
    with Cluster(pairs=2) as cluster:
        server = connection(cluster.pairs[0][0])
        assert server.call("GET", "{a}")[1].startswith(b"MOVED 15495 ")
        cluster.map.write_text(f"epoch 2\n0-16383 127.0.0.1:{cluster.ports[0][0]}\n", encoding="ascii")
        assert server.call("CLUSTER", "MAP", "LOAD") == ("+", b"OK")
        assert server.call("GET", "{a}") == ("$-1", None)
        for text, why in (("epoch 1\n0-16383 127.0.0.1:1\n", b"is below that of the map in use, 2"),
                          ("epoch 3\n0-5 127.0.0.1:1\n", b"slot 6 is of no server"),
                          ("epoch 3\n0-16384 127.0.0.1:1\n", b"line 2: it begins with none of"),
                          ("epoch 3\n0-16383 127.0.0.1:1\n", b"no line is of cluster-me")):
            cluster.map.write_text(text, encoding="ascii")
            answer = server.call("CLUSTER", "MAP", "LOAD")
            assert answer[0] == "-" and why in answer[1], answer
            assert server.call("GET", "{a}") == ("$-1", None)  # the old one stays


def test_waiters_for_keys_that_move_are_sent_there():
    with Cluster(pairs=2) as cluster:
        server, waiter = (connection(cluster.pairs[0][0]) for _ in range(2))
        waiter.send(wire.encode([b"BLPOP", b"{b}list", b"0"]))
        until(lambda: info(server, "clients")[b"blocked_clients"] == b"1", "it waits")
        assert server.call("LOCK.ACQUIRE", "{b}lock", "me", "LEASE", "60000")[0] == "*"
        cluster.map.write_text(f"epoch 2\n0-16382 127.0.0.1:{cluster.ports[1][0]}\n"
                               f"16383 127.0.0.1:{cluster.ports[0][0]}\n", encoding="ascii")
        cluster.pairs[0][0].process.send_signal(signal.SIGHUP)
        assert wire.reply(waiter.replies(1)[0]) == ("-", b"MOVED 3300 127.0.0.1:%d" % cluster.ports[1][0])
        assert server.call("LOCK.RELEASE", "{b}lock", "me")[1].startswith(b"MOVED 3300 ")


def test_one_server_is_enough():
    with Server(Chosen.program, ("--cluster-enabled", "yes")) as server:
        client = connection(server)
        assert client.call("GET", "a") == ("-", b"CLUSTERDOWN Hash slot not served")
        assert client.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383") == ("+", b"OK")
        assert client.call("GET", "a") == ("$-1", None)
        own_id = client.call("CLUSTER", "MYID")
        server.restart()
        client = connection(server)
        assert client.call("CLUSTER", "MYID") == own_id
        assert client.call("SET", "a", "1") == ("+", b"OK")
        assert client.call("CLUSTER", "COUNTKEYSINSLOT", "15495") == (":", b"1")
        assert client.call("CLUSTER", "GETKEYSINSLOT", "15495", "10") == ("*", [("$", b"a")])


def test_maps_that_make_no_sense_end_the_start():
    with tempfile.TemporaryDirectory(prefix="sluice-test-") as folder:
        path = pathlib.Path(folder) / "map"
        for text, why in (("0-5 a:1\n", "slot 6 is of no server"), ("0-16383 a:1\n5 b:1\n", "line 2: slot 5 is of a:1"),
                          ("0-16383 a:1\n", "no line is of this server")):
            path.write_text(text, encoding="ascii")
            code, said = shell(Chosen.program, "--port", free_port(), "--dir", folder, "--cluster-enabled", "yes",
                               "--cluster-map", path)
            assert code != 0 and why in said, said
        code, said = shell(Chosen.program, "--port", free_port(), "--dir", folder, "--cluster-enabled", "yes",
                           "--cluster-map", folder)
        assert code != 0 and "cluster-map" in said, said
        code, said = shell(Chosen.program, "--port", free_port(), "--dir", folder, "--cluster-map", path)
        assert code != 0 and "cluster-map needs cluster-enabled yes" in said, said


def digest(client):
    text = client.call("CLUSTER", "INFO")[1].decode()
    return next(line for line in text.split("\r\n") if line.startswith("cluster_map_digest:"))


def test_a_map_that_changes_while_it_is_read():
    """Two maps with a line for each slot take turns in the file, written in pieces: one of them is in use, always."""
    with Cluster(pairs=2) as cluster:
        client, ports = connection(cluster.pairs[0][0]), [master for master, _ in cluster.ports]
        maps = ["epoch 2\n" + "".join(f"{slot} 127.0.0.1:{ports[(slot + turn) % 2]}\n" for slot in range(SLOTS))
                for turn in range(2)]
        known = set()
        for text in maps:
            cluster.map.write_text(text, encoding="ascii")
            assert client.call("CLUSTER", "MAP", "LOAD") == ("+", b"OK")
            known.add(digest(client))
        assert len(known) == 2
        stop = threading.Event()

        def write():
            while not stop.is_set():
                for text in maps:
                    with open(cluster.map, "w", encoding="ascii", buffering=1 << 14) as file:
                        file.write(text)

        writer = threading.Thread(target=write)
        writer.start()
        answers = []
        try:
            while len(answers) < 50 or {kind for kind, _ in answers} != {"+", "-"}:
                assert len(answers) < 5000, "no load has met a file that was half written"
                answers.append(client.call("CLUSTER", "MAP", "LOAD"))
                assert digest(client) in known, answers[-1]
        finally:
            stop.set()
            writer.join()
        assert all(kind == "+" or b"cluster-map" in why for kind, why in answers), answers


def test_names_that_do_not_resolve():
    """Servers of a map whose names nobody knows: they are asked for in vain, and this one serves all the same."""
    with tempfile.TemporaryDirectory(prefix="sluice-test-") as folder:
        port = free_port()
        path = pathlib.Path(folder) / "map"
        path.write_text(f"0-8191 127.0.0.1:{port}\n8192-16383 nowhere.invalid:7\n"
                        "replica-of nowhere.invalid:7 nobody.invalid:8\n", encoding="ascii")
        words = ("--cluster-enabled", "yes", "--cluster-map", path, "--cluster-me", f"127.0.0.1:{port}", "--port", port,
                 "--cluster-map-follow", "yes")
        with Server(Chosen.program, words) as server:
            client = connection(server)
            assert client.call("SET", "{b}x", "1") == ("+", b"OK")
            assert client.call("GET", "{a}x")[1].startswith(b"MOVED 15495 ")
            answer = client.call("MIGRATE", "nowhere.invalid", "7", "{b}x", "0", "2000")
            assert answer[0] == "-" and answer[1].startswith(b"IOERR "), answer
            slowest = 0
            for _ in range(200):  # two rounds of asking
                asked = time.monotonic()
                assert client.call("GET", "{b}x") == ("$", b"1")
                slowest = max(slowest, time.monotonic() - asked)
                time.sleep(0.01)
            assert slowest < 1, slowest


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
