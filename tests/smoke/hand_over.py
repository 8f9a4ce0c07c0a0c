#!/usr/bin/python3
"""SIGUSR2: a new process takes a server's place, with its sockets and its data. Locks stay held, tokens grow, no
connection is refused; a new process that fails leaves the old one serving.

  hand_over.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import REDIS, die_with_parent, free_port  # noqa: E402
from server import Server as Replica  # noqa: E402
from smoke import PATIENCE, Chosen, client, info, run_tests, until  # noqa: E402

LOG = ("--appendonly", "yes")


def processes_in(folder):
    """Those that were started from the program that lies there, and their program."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.readlink(f"/proc/{name}/exe").startswith(folder):
                found.append(int(name))
    return found


class Server:
    """One that is started from a copy of the program, so that another can lie in its place; in a folder that holds
    everything. The process may be replaced by another, which no test waits for."""

    def __init__(self, *options, keeps=LOG, notify=None, file=None):
        self.folder = tempfile.mkdtemp(prefix="sluice-over-")
        self.program = self.folder + "/sluice"
        shutil.copy(str(Chosen.program), self.program)
        self.port = free_port()
        self.words = [self.program, *([file] if file else []), "--port", self.port, "--dir", self.folder, "--logfile",
                      self.folder + "/log", "--enable-debug-command", "yes", "--pidfile", self.folder + "/pid", *keeps,
                      *options]
        self.environment = {**os.environ, **({"NOTIFY_SOCKET": notify} if notify else {})}
        self.start()

    def start(self):
        self.process = subprocess.Popen(list(map(str, self.words)), stdin=subprocess.DEVNULL, env=self.environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=die_with_parent)
        until(self.answers, f"it serves:\n{self.log()}")

    def answers(self):
        with contextlib.suppress(OSError):
            return self.connect().call("PING") == ("+", b"PONG")
        return False

    def log(self):
        with contextlib.suppress(OSError):
            return pathlib.Path(self.folder, "log").read_text()
        return ""

    def logged(self, text, times=1):
        until(lambda: self.log().count(text) >= times, f"{text!r} in the log:\n{self.log()[-2000:]}")

    def connect(self, timeout=PATIENCE):
        return wire.Connection(socket.create_connection(("127.0.0.1", self.port), timeout))

    def call(self, *words):
        """As a client that connects again where its connection was closed."""
        replies = []

        def is_answered():
            with contextlib.suppress(ConnectionResetError):
                replies.append(self.connect().call(*words))
            return replies and replies[-1] is not None
        until(is_answered, f"{words} is answered")
        return replies[-1]

    def pid(self):
        for line in self.call("INFO", "server")[1].decode().split("\r\n"):
            if line.startswith("process_id:"):
                return int(line.split(":")[1])
        raise AssertionError("no process_id")

    def hand_over(self):
        """The process that serves then."""
        before = self.pid()
        os.kill(before, signal.SIGUSR2)
        until(lambda: self.log().count("has taken over") and self.pid() != before, f"it is taken over:\n{self.log()}")
        return self.pid()

    def stays(self, why, times=1):
        """The same process serves on, and the log says why."""
        before = self.pid()
        os.kill(before, signal.SIGUSR2)
        until(lambda: self.log().count("this one serves on") >= times and why in self.log(), f"it stays: {why}")
        assert self.pid() == before

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.log()[-4000:])
        for _ in range(3):
            for process in processes_in(self.folder):
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def token(reply):
    assert reply[0] == "*", reply
    return int(reply[1][0][1])


# --- what stays

def test_locks_and_data_stay():
    with Server() as server:
        first = token(server.call("LOCK.ACQUIRE", "build", "w1", "LEASE", "60000"))
        held = server.connect()
        token(held.call("LOCK.ACQUIRE", "bound", "w2", "SESSION"))
        server.call("SET", "k", "v")
        server.call("LIMIT.TAKE", "u", "GCRA", "1", "600000")
        old = server.pid()
        new = server.hand_over()
        assert new != old and server.process.wait(PATIENCE) == 0
        # Leases, owners, the locks of sessions, values and limits are what they were.
        assert server.call("LOCK.ACQUIRE", "build", "other", "LEASE", "1000")[0] == "*-1"
        assert token(server.call("LOCK.ACQUIRE", "build", "w1", "LEASE", "60000")) == first
        assert server.call("LOCK.ACQUIRE", "bound", "other", "LEASE", "1000")[0] == "*-1"
        token(server.call("LOCK.ACQUIRE", "bound", "w2", "LEASE", "1000"))
        assert server.call("GET", "k") == ("$", b"v")
        assert server.call("LIMIT.TAKE", "u", "GCRA", "1", "600000")[1][0] == (":", b"0")
        # A name that is new is not held back: all grants are known. Its token is higher.
        assert token(server.call("LOCK.ACQUIRE", "fresh", "w3", "LEASE", "1000")) > first
        assert server.call("FENCED", "build", str(first), "SET", "x", "1") == ("+", b"OK")
        assert int(pathlib.Path(server.folder, "pid").read_text()) == new
        assert held.call("PING") is None  # its connection is gone


def test_again_and_again():
    with Server("--unixsocket", "own.sock", "--port-file", "port", "--http-port", str(free_port())) as server:
        tokens, pids = [], [server.pid()]
        for i in range(4):
            tokens.append(token(server.call("LOCK.ACQUIRE", f"l{i}", "w", "LEASE", "60000")))
            server.logged("has taken over", i)
            before = server.pid()
            os.kill(before, signal.SIGUSR2)
            until(lambda: server.pid() != before, f"it is taken over:\n{server.log()}")  # noqa: B023
            pids.append(server.pid())
            path = server.folder + "/own.sock"
            over_unix = socket.socket(socket.AF_UNIX)
            over_unix.connect(path)
            assert wire.Connection(over_unix).call("LOCK.INFO", "l0")[1][0] == ("$", b"exclusive")
            assert int(pathlib.Path(server.folder, "port").read_text()) == server.port
        assert len(set(pids)) == 5 and tokens == sorted(set(tokens))
        os.kill(pids[-1], signal.SIGTERM)
        until(lambda: not os.path.exists(server.folder + "/own.sock"), "the last one removes its socket")
        until(lambda: not os.path.exists(server.folder + "/port"), "and its files")
        assert not os.path.exists(server.folder + "/pid")


def test_no_connection_is_refused():
    """A crowd connects again and again, sends a request, and is answered, while servers change."""
    with Server("--appendfsync", "always") as server:
        stop, faults, counts = threading.Event(), [], [0] * 4

        def ask(which):
            while not stop.is_set():
                try:
                    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as sock:
                        client = wire.Connection(sock)
                        reply = client.call("INCR", f"count{which}")
                        # One whose server made way before it read the request gets no answer.
                        if reply is not None:
                            assert reply[0] == ":", reply
                            counts[which] = max(counts[which], int(reply[1]))
                except ConnectionResetError:
                    continue
                except (OSError, AssertionError) as fault:
                    faults.append(repr(fault))
        threads = [threading.Thread(target=ask, args=(which,)) for which in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            before = server.pid()
            os.kill(before, signal.SIGUSR2)
            until(lambda: server.pid() != before, f"it is taken over:\n{server.log()}")  # noqa: B023
        until(lambda: min(counts) > 10, f"each has been answered now and then: {counts}")
        stop.set()
        for thread in threads:
            thread.join()
        assert not faults, faults[:3]
        # What was answered is there.
        for which, count in enumerate(counts):
            assert int(server.call("GET", f"count{which}")[1]) >= count


def test_data_that_take_long():
    """Who connects while the new one loads waits, and is not told that it loads."""
    with Server("--save", "") as server:
        server.call("DEBUG", "POPULATE", "200000")
        before = server.pid()
        os.kill(before, signal.SIGUSR2)
        server.logged("is to take over")
        until(lambda: server.call("GET", "key:1")[0] == "$" and server.pid() != before, "it is taken over")
        assert server.call("DBSIZE") == (":", b"200000")


def test_snapshots_alone():
    with Server(keeps=("--save", "3600 1")) as server:
        first = token(server.call("LOCK.ACQUIRE", "build", "w1", "LEASE", "60000"))
        server.hand_over()
        assert server.call("LOCK.ACQUIRE", "build", "other", "LEASE", "1000")[0] == "*-1"
        assert token(server.call("LOCK.ACQUIRE", "build", "w1", "LEASE", "60000")) == first
        assert token(server.call("LOCK.ACQUIRE", "fresh", "w3", "LEASE", "1000")) > first


# --- what does not work

def number(server, section, field):
    for line in server.call("INFO", section)[1].decode().split("\r\n"):
        if line.startswith(field + ":"):
            return int(line.split(":")[1])
    raise AssertionError(f"no {field}")


def test_replicas_that_lag_go_on_where_they_were():
    for keeps in (LOG, ("--save", "3600 1")):
        options = ("--repl-diskless-sync-delay", "0", "--repl-backlog-size", "32mb")
        with Server(*options, keeps=keeps) as server, \
                Replica(REDIS, ("--replicaof", f"127.0.0.1 {server.port}", "--enable-debug-command", "yes"),
                        tcp=True) as behind:
            is_up = lambda: info(client(behind), "replication")[b"master_link_status"] == b"up"
            until(is_up, "it has a full sync")
            server.call("SET", "number", "1")
            for _ in range(3):  # the second one before the replica has heard of the first
                os.kill(behind.process.pid, signal.SIGSTOP)
                connection = server.connect()
                for i in range(120):
                    connection.call("SET", f"text:{i}", str(i) * 30_000)
                connection.call("INCR", "number")
                server.hand_over()
                server.call("INCR", "number")
                os.kill(behind.process.pid, signal.SIGCONT)
            until(lambda: is_up() and client(behind).call("GET", "number")[1] == b"7", "it has all")
            assert number(server, "stats", "sync_full") == 0, server.log()
            assert client(behind).call("DEBUG", "DIGEST") == server.call("DEBUG", "DIGEST")
            assert not pathlib.Path(server.folder, "replication.backlog").exists()


def test_reasons_against_it():
    with Server(keeps=("--save", "")) as server:
        server.stays("no data are kept on disk")
    with Server("--exit-with-parent", "yes") as server:
        server.stays("it would have another parent")


def replace(server, text):
    """Another program in its place, as a package does it."""
    beside = server.program + ".new"
    pathlib.Path(beside).write_text(text)
    os.chmod(beside, 0o755)
    os.rename(beside, server.program)


def test_new_programs_that_fail():
    """Each leaves the old one serving, which can write its log: a restart has it all."""
    with Server("--appendfsync", "always") as server:
        first = token(server.call("LOCK.ACQUIRE", "build", "w1", "LEASE", "600000"))
        kept = server.program + ".kept"
        os.rename(server.program, kept)
        server.stays("No such file or directory", 1)
        replace(server, "#!/bin/sh\nexit 3\n")
        server.stays("could not start (exit status 3)", 2)
        # It says that it can start, and ends when it is to load; or in the midst of that; or is killed.
        says = "#!/usr/bin/python3\nimport os, socket, sys, time\n" \
               "s = socket.socket(fileno=int(os.environ['SLUICE_HAND_OVER']))\ns.send(b'c')\n"
        replace(server, says + "assert s.recv(1) == b'g'\nsys.exit(4)\n")
        server.stays("has ended before it had loaded (exit status 4)", 3)
        replace(server, says + "assert s.recv(1) == b'g'\nfor i in range(5):\n  s.send(b'l')\n  time.sleep(0.02)\n"
                               "os.kill(os.getpid(), 11)\n")
        server.stays("(signal 11)", 4)
        # It changes the log, which is then written anew from what the old one has.
        server.call("SET", "k", "v")
        replace(server, says + "assert s.recv(1) == b'g'\n"
                               "import glob\nopen(glob.glob('appendonlydir/*.incr.aof')[0], 'ab').write(b'# x')\n"
                        .replace("appendonlydir", server.folder + "/appendonlydir") + "sys.exit(5)\n")
        server.stays("written anew", 5)
        until(lambda: b"aof_rewrite_in_progress:0" in server.call("INFO", "persistence")[1], "the base is there")
        server.call("SET", "k2", "v2")
        # What was answered is there, after a hand-over and after a crash.
        os.rename(kept, server.program)
        new = server.hand_over()
        os.kill(new, signal.SIGKILL)
        until(lambda: not processes_in(server.folder), "it is dead")
        server.start()
        assert server.call("MGET", "k", "k2") == ("*", [("$", b"v"), ("$", b"v2")])
        assert token(server.call("LOCK.ACQUIRE", "build", "w1", "LEASE", "600000")) == first


def test_a_configuration_that_has_become_wrong():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "sluice.conf")
        path.write_text("maxclients 100\n")
        with Server(file=path) as server:
            path.write_text("maxclients many\n")
            server.stays("could not start (exit status 1)")
            path.write_text("maxclients 200\n")
            server.hand_over()
            assert server.call("CONFIG", "GET", "maxclients")[1][1] == ("$", b"200")


def test_signalled_twice():
    with Server() as server:
        server.call("SET", "k", "v")
        before = server.pid()
        for _ in range(3):
            os.kill(before, signal.SIGUSR2)
        until(lambda: server.pid() != before, "it is taken over")
        assert server.call("GET", "k") == ("$", b"v")
        until(lambda: len(processes_in(server.folder)) == 1, "one is left")


def test_a_server_that_dies_meanwhile():
    """The new one waits for its data, and takes them when the old one is dead."""
    with Server() as server:
        server.call("SET", "k", "v")
        kept = server.program + ".kept"
        os.rename(server.program, kept)
        replace(server, f"#!/bin/sh\nsleep 1\nexec {kept} \"$@\"\n")
        before = server.pid()
        os.kill(before, signal.SIGUSR2)
        server.logged("is to take over")
        os.kill(before, signal.SIGKILL)
        until(lambda: server.call("GET", "k") == ("$", b"v") and server.pid() != before, "the new one serves")


def test_the_service_manager_is_told():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(folder + "/notify")
        manager.settimeout(PATIENCE)
        with Server("--supervised", "systemd", notify=folder + "/notify") as server:
            new = server.hand_over()
            told = []
            while sum(line == "READY=1" for line in told) < 2:
                told += manager.recv(4096).decode().split("\n")
            main = told.index(f"MAINPID={new}")
            assert told.index("READY=1") < main < len(told) - told[::-1].index("READY=1"), told
            assert "STOPPING=1" not in told


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
