#!/usr/bin/python3
"""Replicas that are made up, on the real binary: what they may do, and what they cost. None of them, however rude,
takes more than its bound or keeps clients waiting for more than a turn.

  replica_bounds.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import pathlib
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import REDIS, Server  # noqa: E402
from smoke import MIB, Checked, Chosen, client, info, run_tests, until  # noqa: E402

AT_ONCE = ("--repl-diskless-sync-delay", "0")
BACKLOG = MIB  # the default of repl-backlog-size
# What waits for a replica at rest, by the bar; and what the allocator and the kernel's accounting make of a test.
A_REPLICA = 64 * 1024
SLACK = 4 * MIB


class Replica:
    """Says what a replica says. It reads when it is told to."""

    def __init__(self, server, receive_bytes=None):
        self.link = wire.Connection(server.connect_tcp())
        if receive_bytes:
            self.link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.link.call("REPLCONF", "listening-port", "6380")
        self.link.call("REPLCONF", "capa", "eof", "capa", "psync2")

    def ask(self, history="?", offset="-1"):
        self.link.send(wire.encode([b"PSYNC", history.encode(), offset.encode()]))

    def follow(self):
        """Has a full sync, and says so."""
        self.ask()
        until(lambda: self.read() and b"$EOF:" in self.link.data, "an image comes")
        at = self.link.data.index(b"$EOF:") + 5
        mark = self.link.data[at:at + 40]
        until(lambda: self.link.data.endswith(mark) or not self.read(), "it has an end")
        offset = int(self.link.data.split(b"\r\n")[0].split(b" ")[2])
        self.link.data = b""
        self.acknowledge(offset)
        return offset

    def read(self):
        self.link.sock.settimeout(0.2)
        return self.link.fill() or not self.link.closed

    def acknowledge(self, offset):
        self.link.send(wire.encode([b"REPLCONF", b"ACK", str(offset).encode()]))


def number(connection, section, field):
    return int(info(connection, section)[field.encode()])


def offset_of(owner):
    return number(owner, "replication", "master_repl_offset")


def check_turns(owner):
    """No client has waited for long: of the CPU time of turns 100 ms is many times what one takes, with sanitizers too."""
    longest_us = number(owner, "turns", "turn_cpu_us_max")
    assert longest_us < 100_000, f"a turn took {longest_us} us"


def server_of(*options, **more):
    return Checked(*AT_ONCE, *options, tcp=True, **more)


# --- who may follow


def test_a_user_needs_three_commands():
    with server_of() as server:
        owner = client(server)
        owner.call("ACL", "SETUSER", "replica", "on", ">secret", "+psync", "+replconf", "+ping")
        options = ("--replicaof", f"127.0.0.1 {server.port}", "--masteruser", "replica", "--masterauth", "secret")
        with Server(REDIS, options, tcp=True) as follower:
            behind = client(follower)
            owner.call("SET", "key", "value")
            until(lambda: behind.call("GET", "key") == ("$", b"value"), "it follows")
        for missing, refusal in (("psync", b"PSYNC"), ("replconf", b"REPLCONF")):
            owner.call("ACL", "SETUSER", "replica", f"-{missing}")
            stranger = client(server)
            stranger.call("AUTH", "replica", "secret")
            assert stranger.call(refusal, "?", "-1")[1].startswith(b"NOPERM"), missing


def test_before_login_there_is_no_sync():
    with server_of() as server:
        owner = client(server)
        owner.call("CONFIG", "SET", "requirepass", "secret")
        stranger = client(server)
        for request in (("PSYNC", "?", "-1"), ("SYNC",), ("REPLCONF", "capa", "eof")):
            assert stranger.call(*request)[1].startswith(b"NOAUTH"), request
        fields = info(owner, "replication")
        assert fields[b"connected_slaves"] == b"0" and fields[b"repl_backlog_active"] == b"0", fields
        assert number(owner, "stats", "sync_full") == 0
        owner.call("CONFIG", "SET", "requirepass", "")


def test_a_connection_has_one_full_sync():
    with server_of() as server:
        owner = client(server)
        replica = Replica(server)
        replica.follow()
        for _ in range(1000):
            replica.ask()
        owner.call("SET", "key", "value")
        until(lambda: replica.read() and b"value" in replica.link.data, "the stream goes on")
        assert b"FULLRESYNC" not in replica.link.data
        assert number(owner, "stats", "sync_full") == 1


# --- bad input


def test_it_acknowledges_what_was_not_sent():
    with server_of() as server:
        owner = client(server)
        replica = Replica(server)
        replica.follow()
        owner.call("SET", "key", "before")
        for offset in (-(2**63), -1, 2**63):
            replica.acknowledge(offset)
        assert b"offset=0," in info(owner, "replication")[b"slave0"], "none of these is an offset"
        liar = Replica(server)
        liar.follow()
        liar.acknowledge(2**63 - 1)
        until(lambda: info(owner, "replication")[b"connected_slaves"] == b"1", "its word is worth nothing")
        until(lambda: "and was sent the stream up to" in server.output(), "the log says so")
        owner.call("SET", "key", "value")
        assert int(owner.call("WAIT", "1", "50")[1]) == 0
        replica.acknowledge(offset_of(owner))
        assert int(owner.call("WAIT", "1", "20000")[1]) == 1
        others = [Replica(server) for _ in range(30)]
        for other in others:
            other.follow()
        flood = wire.encode([b"REPLCONF", b"ACK", str(2**63 - 1).encode()]) * 1000
        for _ in range(10):
            for other in others:
                with contextlib.suppress(OSError):  # the first of them has ended it
                    other.link.send(flood)
        assert owner.call("PING") == ("+", b"PONG")
        check_turns(owner)


def test_it_sends_commands_on_the_link():
    with server_of() as server:
        owner = client(server)
        for words in (("SET", "key", "value"), ("GET", "key"), ("PING",), ("NO-COMMAND",)):
            replica = Replica(server)
            replica.follow()
            replica.link.send(wire.encode([word.encode() for word in words]))
            until(lambda: not replica.read(), "it is closed")  # noqa: B023
        assert owner.call("EXISTS", "key")[1] == b"0"
        log = server.output()
        for name in ("set", "get", "ping"):
            assert f"Replica generated a reply to command '{name}', disconnecting it: " in log, log


def test_words_of_any_size():
    with server_of() as server:
        owner = client(server)
        stranger = client(server)
        for name, value in ((b"rdb-filter-only", b"functions " * MIB), (b"ip-address", b"x" * 10 * MIB)):
            refused = stranger.call("REPLCONF", name.decode(), value.decode())
            assert refused[0] == "-" and refused[1].endswith(b"is too long: %d bytes" % len(value)), refused
        assert stranger.call("REPLCONF", "capa", "x" * 10 * MIB) == ("+", b"OK")
        check_turns(owner)


def test_it_asks_for_a_full_sync_again_and_again():
    with server_of() as server:
        owner = client(server)
        for part in range(100):
            owner.call("MSET", *[word for key in range(100) for word in (f"key{part}:{key}", "x" * 1000)])
        until_time = time.monotonic() + 3
        asked = 0
        while time.monotonic() < until_time:
            asked += 1
            replica = Replica(server)
            replica.ask("f" * 40, "1")
            if asked % 2:
                replica.read()
            replica.link.close()
            assert owner.call("PING") == ("+", b"PONG")
        until(lambda: info(owner, "replication")[b"connected_slaves"] == b"0", "all are gone")
        assert number(owner, "memory", "mem_total_replication_buffers") < 2 * BACKLOG
        check_turns(owner)
        Replica(server).follow()


def test_ids_and_offsets_of_any_size():
    with server_of() as server:
        owner = client(server)
        Replica(server).follow()
        for history, offset in (("x" * 10 * MIB, "1"), ("f" * 40, str(2**63 - 1)), ("", "1"), ("?", str(-(2**63)))):
            replica = Replica(server)
            replica.ask(history, offset)
            until(lambda: replica.read() and b"+FULLRESYNC " in replica.link.data, "a full sync")  # noqa: B023
        replica = Replica(server)
        assert replica.link.call("PSYNC", "f" * 40, str(2**63)) == ("-", b"ERR value is not an integer or out of range")
        own = info(owner, "replication")[b"master_replid"].decode()
        replica.ask(own, str(2**63 - 1))
        until(lambda: replica.read() and b"+FULLRESYNC " in replica.link.data, "a full sync")
        check_turns(owner)


# --- memory


def test_ten_at_rest():
    """One backlog, and 64 KiB for each, once they have read all."""
    with server_of(grow=BACKLOG + 10 * A_REPLICA + 16 * MIB) as server:
        owner = client(server)
        replicas = [Replica(server) for _ in range(10)]
        for replica in replicas:
            replica.follow()
        for _ in range(200):
            owner.call("SET", "key", "x" * 100_000)
            for replica in replicas:
                replica.link.sock.setblocking(False)
                replica.link.fill()
                replica.link.data = b""
        end = offset_of(owner)
        for replica in replicas:
            until(lambda: replica.read() and not replica.link.data.endswith(b"?"), "read")  # noqa: B023
            replica.acknowledge(end)
        until(lambda: number(owner, "memory", "mem_clients_slaves") <= 10 * A_REPLICA, "a replica at rest keeps little")
        memory = info(owner, "memory")
        kept = int(memory[b"mem_total_replication_buffers"]) + int(memory[b"mem_clients_slaves"])
        assert kept <= BACKLOG + 10 * A_REPLICA, kept
        sent = info(owner, "stats")
        assert int(sent[b"total_net_output_bytes"]) > int(sent[b"total_net_repl_output_bytes"]) > 200_000_000, sent


def test_ten_that_never_read():
    """client-output-buffer-limit replica ends them, and nothing else grows."""
    limit = 8 * MIB
    bound = limit + BACKLOG + 10 * 256 * 1024
    with server_of("--client-output-buffer-limit", f"replica {limit} 0 0", grow=bound + SLACK) as server:
        owner = client(server)
        replicas = [Replica(server, receive_bytes=4096) for _ in range(10)]
        for replica in replicas:
            replica.follow()
        begun = server.rss_bytes()
        most = 0
        for _ in range(400):
            owner.call("SET", "key", "x" * 100_000)
            most = max(most, number(owner, "memory", "mem_total_replication_buffers"))
            assert server.rss_bytes() - begun < bound + SLACK
        assert most < limit + BACKLOG, most
        until(lambda: info(owner, "replication")[b"connected_slaves"] == b"0", "they are closed")
        until(lambda: number(owner, "memory", "mem_total_replication_buffers") <= BACKLOG + 512 * 1024, "it is freed")
        check_turns(owner)


def files_of(server):
    """Bytes on disk of the files without names that the server has open."""
    folder = pathlib.Path(f"/proc/{server.process.pid}/fd")
    return sum(f.stat().st_blocks * 512 for f in folder.iterdir() if str(f.readlink()).endswith("(deleted)"))


def test_forty_never_take_their_images():
    """So many images are read at a time: the others wait, and the disk holds no more."""
    image = 20 * MIB
    with server_of("--snapshot-memory-max", "4mb", "--rdbcompression", "no") as server:
        owner = client(server)
        for part in range(20):
            owner.call("MSET", *[word for key in range(10) for word in (f"key{part}:{key}", "x" * (image // 200))])
        replicas = []
        for _ in range(40):
            replicas.append(Replica(server, receive_bytes=4096))
            replicas[-1].ask()
            assert owner.call("PING") == ("+", b"PONG")
        until(lambda: info(owner, "replication")[b"connected_slaves"] == b"40", "all have come")
        until(lambda: info(owner, "persistence")[b"rdb_bgsave_in_progress"] == b"0", "no image is made")
        assert files_of(server) <= 4 * 1.1 * image, files_of(server)
        check_turns(owner)


def test_one_reads_a_byte_a_time():
    """A full sync of 20 MB costs what snapshot-memory-max lets it, and clients do not feel it."""
    with server_of("--snapshot-memory-max", "4mb") as server:
        owner = client(server)
        for part in range(20):
            owner.call("MSET", *[word for key in range(10) for word in (f"key{part}:{key}", "x" * 100_000)])
        begun = server.rss_bytes()
        replica = Replica(server, receive_bytes=4096)
        replica.ask()
        until_time = time.monotonic() + 2
        while time.monotonic() < until_time:
            replica.link.sock.settimeout(0.05)
            try:
                replica.link.sock.recv(1)
            except TimeoutError:
                pass
            assert owner.call("PING") == ("+", b"PONG")
        assert server.rss_bytes() - begun < 12 * MIB, server.rss_bytes() - begun
        check_turns(owner)
        assert info(owner, "replication")[b"connected_slaves"] == b"1"


if __name__ == "__main__":
    # The sanitized build keeps freed memory, and says so itself.
    sys.exit(run_tests(__doc__, globals()))
