#!/usr/bin/python3
"""Sluice follows redis-server and Sluice, and others follow it: what Redis can hold is on all, offsets are equal at rest,
and links that are cut cost no full sync.

  following.py [--server program] [--sender program] [--seconds 2] [test ...]   --seconds 600: as long as a campaign

--sender: the program request_sender of the same build, for the requests of command_fuzz.
"""
import contextlib
import hashlib
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from authority import Authority  # noqa: E402
from replicas import compare as compare_all, compare_all as compare_everything, cut  # noqa: E402
from replicas import SENDER, is_up, number, offset, requests  # noqa: E402
from server import REDIS, Server, first_seed, free_port  # noqa: E402
from smoke import Chosen, Skip, client, info, run_tests, until  # noqa: E402

SECONDS = 2
OPTIONS = ("--repl-diskless-sync-delay", "0", "--repl-backlog-size", "64mb", "--repl-timeout", "20")
READ_ONLY = ("-", b"READONLY You can't write against a read only replica.")


def server(kind, leader=None, *options):
    """kind: S or R; it follows the leader, if there is one."""
    if leader:
        options += ("--replicaof", f"127.0.0.1 {leader.port}")
    return Server(Chosen.program if kind == "S" else REDIS, OPTIONS + options, tcp=True)


def known(kinds, batch):
    """Of a batch of requests those that a server of that kind knows."""
    if kinds[0] == "S":
        return batch
    own = ("LIMIT", "LOCK", "MSETEX", "HPEXPIRE")
    return [request for request in batch if not request[0].startswith(own)]


def work(kinds, connection, chance, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for request in known(kinds, requests(chance)):
            connection.call(*request)
    connection.call("SELECT", "0")


class Chain:
    """Servers of these kinds, each follows the one before it."""

    def __init__(self, kinds, *options):
        self.kinds, self.options, self.servers = kinds, options, []

    def __enter__(self):
        for kind in self.kinds:
            self.servers.append(server(kind, self.servers[-1] if self.servers else None, *self.options))
        self.clients = [client(one) for one in self.servers]
        for follower in self.clients[1:]:
            until(lambda: is_up(follower), "its link is up")  # noqa: B023
        return self

    def __exit__(self, *_):
        for one in self.servers:
            one.__exit__(*_)

    def full_syncs(self):
        return sum(number(one, "stats", "sync_full") for one in self.clients)


def id_of(connection):
    return info(connection, "replication")[b"master_replid"]


def compare(chain):
    leader, *followers = chain.clients
    for follower in followers:
        until(lambda: is_up(follower) and offset(follower) == offset(leader), "it has caught up")  # noqa: B023
    if "R" in chain.kinds:
        compare_all(leader, *followers)
        return
    for follower in followers:
        assert number(follower, "stats", "unexpected_error_replies") == 0, "a command was refused"
        until(lambda: follower.call("DEBUG", "DIGEST") == leader.call("DEBUG", "DIGEST"), "equal")  # noqa: B023


def play(kinds):
    chance = random.Random(first_seed())
    with Chain(kinds) as chain:
        syncs = chain.full_syncs()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            work(kinds, chain.clients[0], chance, 0.3)
            if chance.randrange(2) == 0:
                chance.choice(chain.clients).call("CLIENT", "KILL", "TYPE", chance.choice(("master", "replica")))
            if chance.randrange(3) == 0:
                compare(chain)
        compare(chain)
        assert chain.full_syncs() == syncs, "a cut has cost a full sync"


def test_sluice_follows_redis():
    play("RS")


def test_sluice_follows_sluice():
    play("SS")


def test_a_chain_of_sluice_redis_sluice():
    play("SRS")


def test_a_chain_of_redis_sluice_redis():
    play("RSR")


def test_a_chain_of_redis_sluice_sluice():
    play("RSS")


def test_a_chain_of_sluices():
    play("SSS")


def play_what_command_fuzz_asks_for(kinds):
    """Every command of the table, with words of all kinds, while links are cut."""
    if not pathlib.Path(SENDER).exists():
        raise Skip(f"{SENDER} is not built")
    seed = first_seed() + 3
    chance = random.Random(seed)
    with Chain(kinds, "--proto-max-bulk-len", "1mb", "--repl-backlog-size", "256mb") as chain:
        syncs = chain.full_syncs()
        end = time.monotonic() + SECONDS
        part = 0
        while (seconds := min(10, end - time.monotonic())) > 0:
            words = (SENDER, chain.servers[0].socket_path, f"{seconds:.1f}", str(seed + part * 1000003))
            part += 1
            print("  request_sender", *words[2:], flush=True)
            sender = subprocess.Popen(words, stdout=subprocess.DEVNULL)
            while sender.poll() is None:
                time.sleep(0.2)
                cut(chance, client(chain.servers[0]), *chain.clients[1:])
            assert sender.returncode == 0, f"the server has gone:\n{chain.servers[0].output()}"
            chain.clients[0] = client(chain.servers[0])  # CLIENT KILL is among what it asks for
            if "R" in kinds:
                compare_everything(chain.clients[0], *chain.servers[1:])
            else:
                compare(chain)
        assert chain.full_syncs() == syncs, "a cut has cost a full sync"


def test_sluices_have_what_command_fuzz_asks_for():
    play_what_command_fuzz_asks_for("SSS")


def test_a_sluice_behind_redis_has_what_command_fuzz_asks_for():
    play_what_command_fuzz_asks_for("SRS")


def test_each_of_a_chain_is_promoted_in_turn():
    chance = random.Random(first_seed() + 1)
    for kinds in ("SSS", "SRS", "RSR", "RSS"):
        # A Sluice that has its data through a redis-server lacks our own types: they are no part of such a chain.
        words = "R" if "R" in kinds else "S"
        with Chain(kinds) as chain:
            work(words, chain.clients[0], chance, 0.2)
            compare(chain)
            syncs = chain.full_syncs()
            for _ in range(2):
                leader, follower = chain.clients[:2]
                # A key that ends on it between the two would be told to those that lose it again.
                assert leader.call("CLIENT", "PAUSE", "20000", "WRITE") == ("+", b"OK")
                compare(chain)
                assert follower.call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
                assert leader.call("REPLICAOF", "127.0.0.1", chain.servers[1].port) == ("+", b"OK")
                assert leader.call("CLIENT", "UNPAUSE") == ("+", b"OK")
                chain.clients.append(chain.clients.pop(0))
                chain.servers.append(chain.servers.pop(0))
                kinds = kinds[1:] + kinds[:1]
                chain.kinds = kinds
                # One after the other: who follows a server that does not know the new id yet begins anew.
                for one, behind in zip(chain.servers, chain.clients[1:]):
                    behind.call("REPLICAOF", "127.0.0.1", one.port)
                    until(lambda: is_up(behind) and id_of(behind) == id_of(follower), "it goes on")  # noqa: B023
                work(words, chain.clients[0], chance, 0.2)
                compare(chain)
            assert chain.full_syncs() == syncs, (kinds, chain.full_syncs(), syncs)


def test_what_redis_cannot_hold_goes_when_one_is_followed():
    """It would never be told of its end, and its name may be used."""
    with Chain("SR") as chain:
        leader, follower = chain.clients
        leader.call("SET", "key", "value")
        leader.call("LOCK.ACQUIRE", "lock", "me", "LEASE", "1000000")
        leader.call("LIMIT.TAKE", "limit", "WINDOW", "5", "1000000")
        assert leader.call("CLIENT", "PAUSE", "20000", "WRITE") == ("+", b"OK")
        compare(chain)
        syncs = chain.full_syncs()
        assert follower.call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
        assert leader.call("REPLICAOF", "127.0.0.1", chain.servers[1].port) == ("+", b"OK")
        assert leader.call("CLIENT", "UNPAUSE") == ("+", b"OK")
        assert follower.call("RPUSH", "lock", "element") == (":", b"1")
        until(lambda: leader.call("LRANGE", "lock", "0", "-1") == ("*", [("$", b"element")]), "it is a list")
        assert leader.call("EXISTS", "key", "limit") == (":", b"1")
        assert number(leader, "stats", "unexpected_error_replies") == 0
        assert chain.full_syncs() == syncs, "it has cost a full sync"


def test_clients_of_a_replica_read_and_do_not_write():
    with Chain("SS") as chain:
        leader, follower = chain.clients
        leader.call("SET", "key", "value")
        compare(chain)
        assert follower.call("GET", "key") == ("$", b"value")
        for request in (("SET", "key", "other"), ("LOCK.ACQUIRE", "lock", "me", "LEASE", "1000"),
                        ("LIMIT.TAKE", "limit", "WINDOW", "5", "1000"), ("DEL", "key")):
            assert follower.call(*request) == READ_ONLY, request
        assert follower.call("EVAL", "return redis.call('set', 'key', '1')", "0")[1].startswith(READ_ONLY[1])
        assert follower.call("EVAL", "return redis.call('get', 'key')", "0") == ("$", b"value")
        follower.call("MULTI")
        assert follower.call("SET", "key", "other") == READ_ONLY
        assert follower.call("EXEC")[0] == "-"
        assert follower.call("WAIT", "1", "0")[0] == "-"
        role = follower.call("ROLE")[1]
        assert role[0] == ("$", b"slave") and role[3] == ("$", b"connected"), role


def restart(chain, meanwhile):
    """The last one, by its log. meanwhile: a request for the first one."""
    leader, follower = chain.clients[0], chain.clients[-1]
    until(lambda: info(follower, "persistence")[b"aof_rewrite_in_progress"] == b"0", "its base stands")
    with contextlib.suppress(OSError, EOFError):
        follower.call("SHUTDOWN")
    chain.servers[-1].process.wait()
    leader.call(*meanwhile)
    chain.servers[-1].start()
    chain.clients[-1] = follower = client(chain.servers[-1])
    until(lambda: is_up(follower) and offset(follower) == offset(leader), "it is back")


def test_a_restart_goes_on_where_it_was():
    for kinds in ("RS", "SS"):
        with Chain(kinds, "--appendonly", "yes") as chain:
            leader, follower = chain.clients
            for number_of in range(100):
                leader.call("SET", f"key{number_of % 40}", number_of)
            leader.call("SELECT", "1")
            leader.call("SET", "key1", "in 1")
            compare(chain)
            syncs = number(leader, "stats", "sync_full")
            restart(chain, ("SET", "key2", "in 1, too"))
            compare(chain)
            assert number(leader, "stats", "sync_full") == syncs, "the restart has cost a full sync"


def test_a_restart_that_loads_for_long_goes_on_where_it_was():
    """The link would be there before its files are loaded, which say where it may go on."""
    with Chain("SS", "--appendonly", "yes") as chain:
        leader = chain.clients[0]
        leader.call("DEBUG", "POPULATE", 1_000_000)
        until(lambda: offset(chain.clients[1]) == offset(leader), "it has caught up")
        syncs = number(leader, "stats", "sync_full")
        restart(chain, ("SET", "behind", "v"))
        assert number(leader, "stats", "sync_full") == syncs, "the restart has cost a full sync"
        assert chain.clients[1].call("DBSIZE") == leader.call("DBSIZE")


def test_a_master_that_is_away_is_found_again():
    with Chain("SS", "--replica-serve-stale-data", "no") as chain:
        leader, follower = chain.clients
        leader.call("SET", "key", "value")
        compare(chain)
        chain.servers[0].process.kill()
        chain.servers[0].process.wait()
        until(lambda: not is_up(follower), "it knows")
        assert follower.call("GET", "key")[1].startswith(b"MASTERDOWN")
        chain.servers[0].start()
        chain.clients[0] = leader = client(chain.servers[0])
        leader.call("SET", "key", "new")
        until(lambda: is_up(follower), "it is back")
        compare(chain)
        assert follower.call("GET", "key") == ("$", b"new")


def test_a_failover_loses_nothing():
    chance = random.Random(first_seed() + 2)
    for kinds in ("SS", "RS", "SR"):
        with Chain(kinds) as chain:
            leader, follower = chain.clients
            work(kinds, leader, chance, 0.2)
            syncs = chain.full_syncs()
            assert leader.call("FAILOVER", "TO", "127.0.0.1", chain.servers[1].port, "TIMEOUT", "20000") == ("+", b"OK")
            until(lambda: follower.call("ROLE")[1][0] == ("$", b"master"), "it is the master")  # noqa: B023
            until(lambda: is_up(leader), "the old one follows")  # noqa: B023
            assert info(leader, "replication")[b"master_failover_state"] == b"no-failover"
            follower.call("SET", "key1", "behind it")
            chain.clients.reverse()
            chain.kinds = kinds[::-1]
            compare(chain)
            assert chain.full_syncs() == syncs, "it has cost a full sync"
    with Chain("SS") as chain:
        leader, follower = chain.clients
        chain.servers[1].process.send_signal(signal.SIGSTOP)
        leader.call("SET", "key", "value")
        assert leader.call("FAILOVER", "TIMEOUT", "300") == ("+", b"OK")
        writer = client(chain.servers[0])
        assert writer.call("SET", "key", "behind the pause") == ("+", b"OK")
        assert info(leader, "replication")[b"master_failover_state"] == b"no-failover"
        chain.servers[1].process.send_signal(signal.SIGCONT)
        for words in (("FORCE",), ("TO", "127.0.0.1", "1"), ("TIMEOUT", "0"), ("ABORT",), ("WHAT",)):
            assert leader.call("FAILOVER", *words)[0] == "-", words
        assert follower.call("FAILOVER")[0] == "-"


def test_over_tls_with_a_password():
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(folder)
        certificate, key = authority.issue("server")
        options = ("--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority.certificate,
                   "--tls-replication", "yes")
        tls_port = free_port()
        with server("S", None, *options, "--tls-port", tls_port, "--requirepass", "secret") as leader:
            writer = client(leader)
            writer.call("AUTH", "secret")
            writer.call("SET", "key", "value")
            with server("S", None, *options, "--masterauth", "secret") as replica:
                connection = client(replica)
                connection.call("REPLICAOF", "127.0.0.1", tls_port)
                until(lambda: connection.call("GET", "key") == ("$", b"value"), "it follows")
                connection.call("REPLICAOF", "NO", "ONE")
                connection.call("CONFIG", "SET", "masterauth", "wrong")
                connection.call("REPLICAOF", "127.0.0.1", tls_port)
                until(lambda: "Unable to AUTH to MASTER" in replica.output(), "a wrong password is said")
                assert connection.call("GET", "key") == ("$", b"value")


# --- masters that lie

class MadeUpMaster:
    """Answers a replica's handshake up to PSYNC, and then says what a test gives it, each time that one comes."""

    def __init__(self, *answers):
        self.answers, self.taken = answers, 0
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(4)
        self.port = self.listener.getsockname()[1]
        self.connections = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            try:
                self.answer(connection)
            except OSError:
                pass

    def answer(self, connection):
        pending = b""
        while True:
            got = connection.recv(65536)
            if not got:
                return
            pending += got
            if b"PSYNC" in pending:
                break
            said = pending.count(b"PING") * b"+PONG\r\n" + pending.count(b"REPLCONF") * b"+OK\r\n"
            said += pending.count(b"INFO") * b"$13\r\nrole:master\r\n\r\n"
            pending = b""
            connection.sendall(said)
        self.taken += 1
        connection.sendall(self.answers[(self.taken - 1) % len(self.answers)])

    def close(self):
        for one in [self.listener, *self.connections]:
            one.close()


EMPTY_FILE = b"REDIS0010\xff" + bytes(8)
ID = b"a" * 40
FULL = b"+FULLRESYNC " + ID + b" 0\r\n"
STREAM = FULL + b"$%d\r\n" % len(EMPTY_FILE) + EMPTY_FILE


def request(*words):
    return wire.encode([word if isinstance(word, bytes) else word.encode() for word in words])


def test_a_master_that_lies_changes_nothing():
    """Each is a line in the log and a closed link, and the data are as they were."""
    lies = (
        (b"+FULLRESYNC short 0\r\n", b"wrong +FULLRESYNC"),
        (b"+CONTINUE " + ID + b"\r\n", b"+CONTINUE"),
        (b"x" * 5000, b"longer than any"),
        (FULL + b"$4611686018427387904\r\n", b"a length that no file has"),
        (FULL + b"$-5\r\n", b"a length that no file has"),
        (FULL + b"$EOF:short\r\n", b"not 40 bytes"),
        (FULL + b"-ERR no\r\n", b"MASTER aborted replication"),
        (b"+FULLRESYNC " + ID + b" 9223372036854775807\r\n", b"wrong +FULLRESYNC"),
        (FULL + b"HELLO\r\n", b"the first byte is not '$'"),
        (FULL + b"$18\r\nREDIS0010\xfe\x00\x00aaaaaa", b"Failed trying to load"),
        (FULL + b"$9\r\nnot a RDB", b"Failed trying to load"),
    )
    for answer, words in lies:
        master = MadeUpMaster(answer)
        with server("S") as replica:
            connection = client(replica)
            connection.call("SET", "key", "value")
            connection.call("REPLICAOF", "127.0.0.1", master.port)
            until(lambda: words in replica.output().encode(), words)  # noqa: B023
            assert connection.call("GET", "key") == ("$", b"value"), answer
            assert connection.call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
            assert connection.call("SET", "key", "other") == ("+", b"OK")
        master.close()


def test_a_stream_that_lies_is_given_up():
    nested = b"SLUICE1 E *2\r\n$4\r\nPING\r\n$9\r\nSLUICE1 A\r\n"
    lies = (
        (b"*1\r\n$4611686018427387904\r\n", b"makes no sense"),
        (b"*4611686018427387904\r\n", b"makes no sense"),
        (request("SELECT", "99999"), b"a database that is not there"),
        (request("EXEC"), b"an EXEC has no MULTI"),
        (request("MULTI") + request("MULTI"), b"inside of another one"),
        (request("PING", "SLUICE2 X"), b"of a version that this Sluice does not know"),
        (request("PING", nested), b"an effect is a PING"),
        (request("PING", "SLUICE1 M 9007199254740993 0"), b"what is reserved is not a token"),
        (request("CONFIG", "SET", "maxmemory", "1"), b"does not belong in a stream"),
        (request("SHUTDOWN"), b"does not belong in a stream"),
        (request("NOSUCH", "a"), b"== CRITICAL =="),
        (request("INCR", "key", "x"), b"== CRITICAL =="),
    )
    for stream, words in lies:
        master = MadeUpMaster(STREAM + request("SET", "key", "value") + stream)
        with server("S") as replica:
            connection = client(replica)
            connection.call("REPLICAOF", "127.0.0.1", master.port)
            until(lambda: words in replica.output().encode(), words)  # noqa: B023
            assert connection.call("GET", "key") == ("$", b"value"), stream
            assert replica.alive()
        master.close()


def test_a_master_that_lies_for_ever_does_not_fill_the_log():
    """Some lines a second tell what there is to know."""
    master = MadeUpMaster(STREAM + 5000 * request("NOSUCH", "a\x1b[2J\nb"))
    with server("S") as replica:
        connection = client(replica)
        connection.call("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: number(connection, "stats", "unexpected_error_replies") == 5000, "all were refused")
        time.sleep(1)
        master.connections[0].sendall(request("NOSUCH"))
        until(lambda: "more such errors were not logged" in replica.output(), "what was left out is counted")
        lines = replica.output(10 ** 6)
        assert lines.count("== CRITICAL ==") < 50, lines.count("== CRITICAL ==")
        assert "\x1b" not in lines
    master.close()


def test_an_open_transaction_takes_no_more_memory_than_its_bytes():
    one = request("INCR", "counter")
    times = (32 << 20) // len(one)
    master = MadeUpMaster(STREAM + request("MULTI") + times * one)
    with server("S") as replica:
        connection = client(replica)
        before = replica.rss_bytes()
        connection.call("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: number(connection, "stats", "total_net_repl_input_bytes") > times * len(one), "it has come")
        assert replica.rss_bytes() - before < 3 * times * len(one), (replica.rss_bytes() - before) / len(one) / times
        assert connection.call("GET", "counter") == ("$-1", None)
        master.connections[0].sendall(request("EXEC"))
        until(lambda: connection.call("GET", "counter") == ("$", b"%d" % times), "it has run")
        assert offset(connection) == len(request("MULTI") + request("EXEC")) + times * len(one)
    master.close()


def test_a_replica_without_data_answers_nothing():
    """Its full sync has failed behind the point of no return: a library does not run."""
    code = b"#!lua name=bad\nerror('no')"
    image = b"REDIS0010\xf5" + bytes([len(code)]) + code + b"\xff" + bytes(8)
    master = MadeUpMaster(FULL + b"$%d\r\n" % len(image) + image)
    with server("S") as replica:
        connection = client(replica)
        connection.call("SET", "key", "value")
        connection.call("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: "Failed trying to load" in replica.output(), "it has failed")
        for words in (("GET", "key"), ("EVAL", "return redis.call('get', 'key')", "0"), ("DBSIZE",)):
            until(lambda: connection.call(*words)[1].startswith(b"MASTERDOWN The data"), words)  # noqa: B023
        assert connection.call("ROLE")[1][0] == ("$", b"slave")
        assert connection.call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
        assert connection.call("GET", "key") == ("$-1", None)
    master.close()


def test_half_a_request_holds_nobody_up():
    master = MadeUpMaster(STREAM + b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$1000000000\r\nabc")
    with server("S") as replica:
        connection = client(replica)
        before = replica.rss_bytes()
        connection.call("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: is_up(connection), "it follows")
        assert connection.call("GET", "key") == ("$-1", None)
        assert replica.rss_bytes() - before < 64 << 20, "memory follows what comes, not what is announced"
        assert offset(connection) == 0
    master.close()


def test_an_old_master_knows_no_psync():
    class Old(MadeUpMaster):
        def answer(self, connection):
            super().answer(connection)
            connection.recv(100)  # SYNC
            connection.sendall(b"$%d\r\n" % len(EMPTY_FILE) + EMPTY_FILE + request("SET", "key", "value"))
    master = Old(b"-ERR unknown command\r\n")
    with server("S") as replica:
        connection = client(replica)
        connection.call("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: connection.call("GET", "key") == ("$", b"value"), "its stream comes")
    master.close()


def test_scripts_of_old_masters_are_played():
    """A redis-server before 7 may send EVAL, EVALSHA and SCRIPT LOAD as they are."""
    script = "return redis.call('set', KEYS[1], ARGV[1])"
    digest = hashlib.sha1(script.encode()).hexdigest()
    stream = request("EVAL", script, "1", "a", "1") + request("SCRIPT", "LOAD", script)
    stream += request("EVALSHA", digest, "1", "b", "2")
    master = MadeUpMaster(STREAM + stream)
    with server("S") as replica:
        connection = client(replica)
        connection.call("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: connection.call("MGET", "a", "b")[1] == [("$", b"1"), ("$", b"2")], "both have run")
        assert number(connection, "stats", "unexpected_error_replies") == 0
    master.close()


if __name__ == "__main__":
    for name in "--seconds", "--sender":
        if name in sys.argv:
            at = sys.argv.index(name)
            globals()[name[2:].upper()] = float(sys.argv[at + 1]) if name == "--seconds" else sys.argv[at + 1]
            del sys.argv[at:at + 2]
    sys.exit(run_tests(__doc__, globals()))
