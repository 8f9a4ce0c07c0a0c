#!/usr/bin/python3
"""`sluice --import` makes what a server starts from out of files of Redis and of Sluice, and changes none of
them, or out of what a running one sends; `sluice --backup` copies a snapshot of a running server of either kind. Each says in a sentence what is
wrong, and the exit status says of which kind it is.

  import_backup.py --server program [--oracle program]
"""
import argparse
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from log_redis import client_of, digest, wire, write_all_types
from server import REDIS, SLUICE, Server


def run(program, *words, password=None):
    environment = dict(os.environ)
    environment.pop("REDISCLI_AUTH", None)
    if password:
        environment["REDISCLI_AUTH"] = password
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=60, check=False,
                          env=environment)
    return done.returncode, done.stdout, done.stderr


def told(program, code, sentence, *words):
    got, _, errors = run(program, *words)
    assert got == code and sentence in errors, (words, got, errors)
    assert errors.count("\n") == 1, errors


def digest_of(program, folder, *options):
    server = Server(program, [*options, "--dir", str(folder)])
    try:
        return digest(client_of(server))
    finally:
        server.stop()


def import_from(program, oracle, into):
    """What Redis has, as a snapshot and as a log; the second time to a log of ours."""
    theirs = Server(oracle, ["--appendonly", "yes"])
    try:
        client = client_of(theirs)
        write_all_types(client)
        client.call("BGREWRITEAOF")
        client.call("SET", "after", "1", "PX", "3600000")
        assert client.call("SAVE") == ("+", b"OK")
        wanted = digest(client)
        dump = pathlib.Path(theirs.folder, "dump.rdb")
        log = pathlib.Path(theirs.folder, "appendonlydir")
        theirs.kill()
        code, _, errors = run(program, "--import", dump, "--into", into / "a")
        assert code == 0, errors
        assert digest_of(program, into / "a") == wanted
        last = sorted(log.glob("*.incr.aof"))[-1]
        with last.open("ab") as file:
            file.write(b"*3\r\n$3\r\nSET\r\n$5\r\naf")
        before = last.read_bytes()
        code, _, errors = run(program, "--import", log, "--into", into / "b", "--appendonly", "yes")
        assert code == 0 and "ends in the middle of a turn" in errors, errors
        assert last.read_bytes() == before, "a file of another server was changed"
        assert digest_of(program, into / "b", "--appendonly", "yes") == wanted
        told(program, 1, "name the one that counts", "--import", theirs.folder, "--into", into / "c")
        told(program, 1, "is there already", "--import", dump, "--into", into / "a")
        shutil.copytree(into / "b", into / "d")
        code, _, errors = run(program, "--import", into / "d", "--into", into / "e")
        assert code == 0, errors
        assert digest_of(program, into / "e") == wanted
        damaged = into / "damaged.rdb"
        whole = dump.read_bytes()
        damaged.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
        told(program, 1, f"{damaged}: offset {len(whole) - 9}: the checksum is wrong", "--import", damaged, "--into",
             into / "f")
        assert not (into / "f" / "dump.rdb").exists()
    finally:
        theirs.stop()


KEPT_KEYS = {"a": b"1", "b": b"2", "stays": b"3", "later": b"4"}


def imported(program, source, into, *words):
    """A server that starts from an import, and the line that says what was over; empty: there is none."""
    code, out, errors = run(program, "--import", source, "--into", into, *words)
    assert code == 0, errors
    over = [line for line in out.splitlines() if "time was over" in line]
    options = words[words.index("--appendonly"):] if "--appendonly" in words else ()
    return Server(program, [*options, "--dir", str(into)]), over[0] if over else ""


def what_is_over(program, oracle, into):
    """Keys whose time was over when the import came: left out and counted, or kept without a deadline."""
    theirs = Server(oracle, ["--appendonly", "yes"])
    try:
        client = client_of(theirs)
        for request in (("DEBUG", "SET-ACTIVE-EXPIRE", "0"), ("SET", "a", "1", "PX", "50"), ("SET", "stays", "3"),
                        ("SET", "b", "2"), ("PEXPIRE", "b", "50"), ("SET", "later", "4", "PX", "3600000"),
                        ("SELECT", "3"), ("RPUSH", "list", "x", "y"), ("PEXPIRE", "list", "50")):
            assert client.call(*request)[0] != "-", request
        time.sleep(0.1)
        assert client.call("SAVE") == ("+", b"OK")
        theirs.kill()
        folder = pathlib.Path(theirs.folder)
        targets = iter(range(100))
        for source in (folder / "dump.rdb", folder / "appendonlydir"):
            for options in ((), ("--appendonly", "yes")):
                server, said = imported(program, source, into / f"over-{next(targets)}", *options)
                with server:
                    assert said == ("sluice: left out, as the time was over: 3 keys (--keep-expired keeps them, without "
                                    "a deadline)"), said
                    client = client_of(server)
                    assert client.call("MGET", *sorted(KEPT_KEYS))[1] == [("$-1", None), ("$-1", None), ("$", b"4"),
                                                                         ("$", b"3")]
                    client.call("SELECT", "3")
                    assert client.call("DBSIZE") == (":", b"0")
                server, said = imported(program, source, into / f"over-{next(targets)}", "--keep-expired", *options)
                with server:
                    assert said == "sluice: kept, without a deadline, although the time was over: 3 keys", said
                    client = client_of(server)
                    values = [value for _, value in client.call("MGET", *sorted(KEPT_KEYS))[1]]
                    assert dict(zip(sorted(KEPT_KEYS), values)) == KEPT_KEYS, values
                    assert client.call("PTTL", "a") == client.call("PTTL", "b") == (":", b"-1")
                    assert 3_000_000 < int(client.call("PTTL", "later")[1]) <= 3_600_000
                    client.call("SELECT", "3")
                    assert client.call("LRANGE", "list", "0", "-1")[1] == [("$", b"x"), ("$", b"y")]
                    assert client.call("PTTL", "list") == (":", b"-1")
    finally:
        theirs.stop()


def fields_that_are_over(program, into):
    ours = Server(program, ["--appendonly", "yes"])
    try:
        client = client_of(ours)
        for request in (("HSET", "some", "a", "1", "b", "2", "c", "3"), ("HPEXPIRE", "some", "200", "FIELDS", "1", "a"),
                        ("HPEXPIRE", "some", "3600000", "FIELDS", "1", "b"), ("HSET", "all", "a", "1"),
                        ("HPEXPIRE", "all", "200", "FIELDS", "1", "a"), ("LOCK.ACQUIRE", "door", "me", "LEASE", "200"),
                        ("SAVE",)):
            assert client.call(*request)[0] != "-", request
        ours.kill()
        time.sleep(0.3)
        for name in ("dump.rdb", "appendonlydir"):
            source = pathlib.Path(ours.folder, name)
            server, said = imported(program, source, into / f"fields-{name}")
            with server:
                assert "over: 1 key and 1 field of a hash (" in said, said
                client = client_of(server)
                assert client.call("HKEYS", "some")[1] in ([("$", b"b"), ("$", b"c")], [("$", b"c"), ("$", b"b")])
                assert client.call("EXISTS", "all") == (":", b"0")
            server, said = imported(program, source, into / f"fields-kept-{name}", "--keep-expired")
            with server:
                assert said.endswith("over: 2 fields of hashes"), said
                client = client_of(server)
                ends = [int(end) for _, end in client.call("HPTTL", "some", "FIELDS", "3", "a", "b", "c")[1]]
                assert ends[0] == ends[2] == -1 and 3_000_000 < ends[1] <= 3_600_000, ends
                assert client.call("HGETALL", "all")[1] == [("$", b"a"), ("$", b"1")]
                assert client.call("EXISTS", "door") == (":", b"0")
    finally:
        ours.stop()


def refused_imports(program, into):
    for name, content, sentence in (("text", b"hello\n", "is neither an RDB file nor a log"), ("empty", b"", "it is empty"),
                                    ("wrong.aof", b"*1\r\n$4\r\nPING\r\n", "does not belong in a log"),
                                    ("endless", b"REDIS0010\xfe\0\0\1k\x81\0\0\x10\0\0\0\0\0", "offset ")):
        path = into / name
        path.write_bytes(content)
        told(program, 1, f"{path}", "--import", path, "--into", into / "g")
        told(program, 1, sentence, "--import", path, "--into", into / "g")
    os.mkfifo(into / "pipe")
    told(program, 1, "it is a pipe or a device, not a file", "--import", into / "pipe", "--into", into / "g")
    (into / "nothing").mkdir()
    told(program, 1, "has neither the manifest of a log nor dump.rdb", "--import", into / "nothing", "--into", into / "g")
    told(program, 1, "No such file or directory", "--import", into / "missing", "--into", into / "g")
    told(program, 2, "--import takes a file, a folder, or HOST:PORT", "--import")
    told(program, 2, "--into takes a folder", "--import", into / "text", "--into")
    told(program, 2, "keep-expird", "--import", into / "text", "--keep-expird")


def backups(program, kind, server_program, into):
    server = Server(server_program, ["--requirepass", "secret"], tcp=True)
    try:
        client = wire.Connection(server.connect())
        assert client.call("AUTH", "secret") == ("+", b"OK")
        write_all_types(client)
        where = f"localhost:{server.port}"
        file = into / f"backup-{kind}.rdb"
        told(program, 1, "NOAUTH", "--backup", where, file)
        told(program, 1, "WRONGPASS", "--backup", where, file, "--pass", "wrong")
        assert not file.exists()
        code, out, errors = run(program, "--backup", where, file, password="secret")
        assert code == 0 and f"{file}: {file.stat().st_size} bytes" in out, errors
        wanted = digest(client)
        client.call("SET", "more", "1")
        code, _, errors = run(program, "--backup", where, file, "--user", "default", "--pass", "secret")
        assert code == 0, errors
        told(program, 1, "cannot be made", "--backup", where, into / "missing" / "file", "--pass", "secret")
        assert not list(into.glob("*.temp-*"))
        assert digest(client) != wanted
        wanted = digest(client)
        code, _, errors = run(program, "--import", file, "--into", into / kind)
        assert code == 0, errors
        assert digest_of(program, into / kind) == wanted
    finally:
        server.stop()
    told(program, 1, "cannot be connected to", "--backup", where, into / "file")
    told(program, 2, "is no HOST:PORT", "--backup", "::1", into / "file")
    told(program, 2, "--backup takes HOST:PORT and a file", "--backup", where)


def import_of_running(program, kind, server_program, into):
    """The data of a server that goes on: it sends them as to a replica, with their length in front or a mark behind."""
    options = ["--requirepass", "secret", "--repl-diskless-sync-delay", "0"]
    for diskless in ("yes", "no"):
        server = Server(server_program, [*options, "--repl-diskless-sync", diskless], tcp=True)
        try:
            client = wire.Connection(server.connect())
            assert client.call("AUTH", "secret") == ("+", b"OK")
            write_all_types(client)
            assert client.call("SET", "over", "1", "PX", "1")[0] == "+"
            if kind == "ours":
                assert client.call("LOCK.ACQUIRE", "door", "me", "LEASE", "3600000")[0] == "*"
                assert client.call("LIMIT.POLICY", "SET", "plan", "WINDOW", "5", "1000") == ("+", b"OK")
            time.sleep(0.01)
            assert client.call("EXISTS", "over") == (":", b"0")
            wanted = digest(client)
            where = f"localhost:{server.port}"
            target = into / f"running-{kind}-{diskless}"
            told(program, 1, "NOAUTH", "--import", where, "--into", target)
            code, out, errors = run(program, "--import", where, "--into", target, "--appendonly", "yes", password="secret")
            assert code == 0 and f"{where} has sent " in out, (out, errors)
            assert not list(target.glob("temp-*")), "what was received is still there"
            told(program, 1, "is there already", "--import", where, "--pass", "secret", "--into", target, "--appendonly", "yes")
            assert digest(client) == wanted, "the server goes on as it was"
            with Server(program, ["--appendonly", "yes", "--dir", str(target)]) as made:
                again = client_of(made)
                if kind == "ours":
                    assert again.call("EXISTS", "door") == (":", b"1")
                    assert again.call("LIMIT.POLICY", "GET", "plan")[1]
                assert digest(again) == wanted
        finally:
            server.stop()
    told(program, 1, "cannot be connected to", "--import", where, "--into", into / "refused")
    told(program, 2, "--pass takes a password", "--import", where, "--pass")


def bad_masters(program, into):
    """Peers that answer a request for all data with something else."""
    head = b"+OK\r\n+OK\r\n+FULLRESYNC " + b"a" * 40 + b" 0\r\n"
    for answer, sentence in ((head + b"$5\r\nREDIS", "this is no RDB file"), (head + b"$500\r\nREDIS", "have ended behind 5 bytes"),
                             (head + b"$-1\r\n", "its data have no length"), (head + b"$EOF:short\r\n", "no mark of an end"),
                             (head + b"-LOADING not now\r\n", "LOADING not now"), (head + b"hello\r\n", "no data come"),
                             (b"+OK\r\n+OK\r\n+CONTINUE\r\n", "it does not send its data"),
                             (b"+OK\r\n+OK\r\n" + b"x" * 100_000, "is no line")):
        door = socket.create_server(("127.0.0.1", 0))

        def serve(door=door, answer=answer):
            with door.accept()[0] as peer:
                peer.sendall(answer)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(4096):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        told(program, 1, sentence, "--import", f"127.0.0.1:{door.getsockname()[1]}", "--into", into / "bad")
        door.close()
        assert not list((into / "bad").iterdir())


class Afar:
    """A server as it is seen from another machine: the folder that it names is not here. `before` is called with
    the number of each piece of a snapshot that is asked for."""

    def __init__(self, server, away):
        self.server, self.away = server, away
        self.before = lambda piece: None
        self.door = socket.create_server(("127.0.0.1", 0))
        self.where = f"127.0.0.1:{self.door.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near = self.door.accept()[0]
            except OSError:
                return
            with near, self.server.connect() as far:
                self.carry(near, far)

    def carry(self, near, far):
        pieces = 0
        while True:
            for end in select.select([near, far], [], [])[0]:
                data = end.recv(1 << 16)
                if not data:
                    return
                if end is near and b"SLUICE.SNAPSHOT" in data:
                    pieces += 1
                    self.before(pieces)
                named, away = self.server.folder.encode(), self.away.encode()
                (far if end is near else near).sendall(data.replace(named, away) if end is far else data)

    def close(self):
        self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()


def from_afar(program, into):
    """From another machine the file comes over the connection."""
    server = Server(program, ["--requirepass", "secret"])
    away = pathlib.Path(server.folder.replace("-test-", "-away-"))  # as long as the name that it stands for
    away.mkdir()
    afar = Afar(server, str(away))
    try:
        client = wire.Connection(server.connect())
        assert client.call("AUTH", "secret") == ("+", b"OK")
        write_all_types(client)
        fill = "for i = 1, 20000 do redis.call('SET', i, (redis.sha1hex(i) .. redis.sha1hex(-i)):rep(2)) end"
        assert client.call("EVAL", fill, "0")[0] != "-"
        file = into / "afar.rdb"

        def fetch(*words):
            code, out, errors = run(program, "--backup", afar.where, file, *words)
            assert code == 0 and f"{file}: {file.stat().st_size} bytes" in out, errors
            assert file.read_bytes() == pathlib.Path(server.folder, "dump.rdb").read_bytes()

        def save(*at):
            def before(piece):
                if piece in at:
                    client.call("INCR", "saved")
                    assert client.call("SAVE") == ("+", b"OK")
            return before

        fetch("--pass", "secret")
        assert file.stat().st_size > 2 << 20, "it is more than two pieces"
        afar.before = save(3)
        fetch("--pass", "secret")
        assert client.call("GET", "saved") == ("$", b"1")
        afar.before = save(*range(100))
        told(program, 1, "its snapshot was replaced while it was read", "--backup", afar.where, into / "none", "--pass",
             "secret")
        afar.before = save()
        wanted = digest(client)
        fetch("--pass", "secret")
        code, _, errors = run(program, "--import", file, "--into", into / "afar")
        assert code == 0, errors
        assert digest_of(program, into / "afar") == wanted
        # Another file of that name here, which does not change with the save.
        (away / "dump.rdb").write_bytes(b"another's")
        rights = ("on", ">word", "+bgsave", "+info", "+config|get")
        assert client.call("ACL", "SETUSER", "saver", *rights) == ("+", b"OK")
        saver = ("--user", "saver", "--pass", "word")
        told(program, 1, "it does not hand it out", "--backup", afar.where, into / "none", *saver)
        assert client.call("ACL", "SETUSER", "saver", "+sluice.snapshot") == ("+", b"OK")
        fetch(*saver)
        assert client.call("ACL", "SETUSER", "saver", "-sluice.snapshot", "+psync", "+replconf") == ("+", b"OK")
        code, _, errors = run(program, "--backup", afar.where, into / "synced.rdb", *saver)
        assert code == 0, errors
        code, _, errors = run(program, "--import", into / "synced.rdb", "--into", into / "synced")
        assert code == 0, errors
        assert digest_of(program, into / "synced") == wanted
        assert client.call("ACL", "SETUSER", "saver", "+sluice.snapshot") == ("+", b"OK")
        code, out, errors = run(program, "--export-redis", afar.where, into / "afar-redis.rdb", *saver)
        assert code == 0 and "left out" not in out, (out, errors)
        assert not (into / "none").exists() and not list(into.glob("*.temp-*")) and not list(into.glob("*.sync-*"))
    finally:
        afar.close()
        server.stop()
        shutil.rmtree(away)


def redis_from_afar(program, oracle, into):
    server = Server(oracle, ["--repl-diskless-sync-delay", "0"])
    afar = Afar(server, server.folder.replace("-test-", "-away-"))
    try:
        client = client_of(server)
        write_all_types(client)
        wanted = digest(client)
        code, _, errors = run(program, "--backup", afar.where, into / "afar-redis-synced.rdb")
        assert code == 0, errors
        code, _, errors = run(program, "--import", into / "afar-redis-synced.rdb", "--into", into / "afar-redis")
        assert code == 0, errors
        assert digest_of(program, into / "afar-redis") == wanted
    finally:
        afar.close()
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        into = pathlib.Path(folder)
        import_from(options.server, options.oracle, into)
        what_is_over(options.server, options.oracle, into)
        fields_that_are_over(options.server, into)
        refused_imports(options.server, into)
        backups(options.server, "ours", options.server, into)
        backups(options.server, "theirs", options.oracle, into)
        import_of_running(options.server, "ours", options.server, into)
        import_of_running(options.server, "theirs", options.oracle, into)
        bad_masters(options.server, into)
        from_afar(options.server, into)
        redis_from_afar(options.server, options.oracle, into)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
