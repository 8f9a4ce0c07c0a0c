#!/usr/bin/python3
"""Clusters as people make them: fresh servers with cluster-enabled yes and no map, and `redis-cli --cluster create`,
add-node, del-node, check; failovers by hand. There is no bus: servers hand each other their maps.

  cluster_made.py [--server program] [test ...]
"""
import pathlib
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import Server, free_port  # noqa: E402
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

    def agrees(self):
        """Whether all have the same map, and each knows it of the others."""
        told = [cluster_info(server) for server in self.servers if server.process.poll() is None]
        return len({fields["cluster_map_digest"] for fields in told}) == 1 and not any(
            fields["cluster_map_differs"] for fields in told)

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


def test_create_with_replicas():
    with Made(6) as made:
        made.create(replicas=1)
        made.wait()
        assert len(made.replicas_are_up()) == 3
        for server in made.servers:
            seen = nodes(server)
            assert len(seen) == 6 and sum("master" in fields[2] for fields in seen.values()) == 3, seen
            assert cluster_info(server)["cluster_state"] == "ok"
        for number in range(50):
            done = subprocess.run(["redis-cli", "-c", "-p", str(made.servers[0].port), "SET", f"key:{number}", "v"],
                                  capture_output=True, text=True, timeout=60)
            assert done.stdout.strip() == "OK", done
        assert "[OK] All nodes agree about slots configuration." in cli("check", address(made.servers[4]))
        assert "50 keys in 3 masters" in cli("info", address(made.servers[2]))
        assert cli("call", address(made.servers[2]), "PING").count("PONG") == 6


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


def test_a_replica_takes_over():
    with Made(6) as made:
        made.create(replicas=1)
        made.wait()
        for how in ((), ("FORCE",), ("TAKEOVER",)):
            replica = made.replicas_are_up()[0]
            master = next(server for server in made.servers
                          if own_id(server) == nodes(replica)[replica.port][3])
            slots = nodes(master)[master.port][8:]
            ok(replica, "CLUSTER", "FAILOVER", *how)
            until(lambda: role(replica) == "master" and role(master) == "slave", f"they change places {how}")
            until(lambda: all(flags(server, replica) == "master" and flags(server, master) == "slave"
                              for server in made.servers), "all hear of it")
            made.wait()
            for server in made.servers:
                assert nodes(server)[replica.port][8:] == slots
                assert nodes(server)[master.port][3] == own_id(replica)
        assert call(made.servers[0], "CLUSTER", "FAILOVER", "NOW") == ("-", b"ERR syntax error")


def test_a_master_that_comes_back_follows():
    with Made(6) as made:
        made.create(replicas=1)
        made.wait()
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
