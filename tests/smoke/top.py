#!/usr/bin/python3
"""`sluice top` at a terminal of its own: locks and waiters that move, scrolling, search, a lock that is broken, other
sizes, keys and signals, names that mean harm, a server that goes away; and the page that it prints where there is no
terminal.

  top.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import REDIS, Server, die_with_parent, free_port  # noqa: E402
from smoke import PATIENCE, Chosen, Skip, run_tests, send_all, until  # noqa: E402

# A picture: from the upper left corner on, each line cleared behind its text, and all below the last.
PICTURE = re.compile(rb"\x1b\[H(.*?)\x1b\[J", re.S)
TONES = re.compile(r"\x1b\[[0-9;]*m")
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """`sluice top` at a terminal of so many columns and rows, and what it has drawn."""

    def __init__(self, address, *words, columns=80, rows=24, **environment):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.data = b""
        self.process = subprocess.Popen(
            [str(Chosen.program), "top", address, "--every", "0.1", *map(str, words)], stdin=self.slave,
            stdout=self.slave, stderr=subprocess.PIPE, preexec_fn=self._in_child,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "", "REDISCLI_AUTH": "",
                 **environment})

    def _in_child(self):
        die_with_parent()
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        if select.select([self.master], [], [], seconds)[0]:
            self.data += os.read(self.master, 65536)

    def lines(self):
        """Of the last whole picture."""
        self.read()
        pictures = PICTURE.findall(self.data)
        if not pictures:
            return []
        return [TONES.sub("", line).rstrip()
                for line in pictures[-1].decode().replace("\x1b[K", "").split("\r\n")]

    def row(self, name):
        """That of a lock, without the mark of the selected one; empty: it is not in view."""
        return next((line[2:] for line in self.lines() if line[2:].startswith(name)), "")

    def selects(self, name):
        until(lambda: any(line.startswith("> " + name) for line in self.lines()), f"it selects {name}")

    def sees(self, *texts):
        until(lambda: all(any(text in line for line in self.lines()) for text in texts), f"it shows {texts}")

    def type(self, keys):
        os.write(self.master, keys)

    def ended(self):
        """Its exit status; the terminal has to be as it was before."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self.read()
        status = self.process.wait(1)
        while select.select([self.master], [], [], 0)[0]:
            self.data += os.read(self.master, 65536)
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was"
        assert self.data.count(ENTER) == self.data.count(LEAVE), self.data[-200:]
        assert ENTER not in self.data or b"\x1b[?25h" in self.data[self.data.rindex(ENTER):]
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        os.close(self.master)
        os.close(self.slave)


class Clients:
    """Connections to a server that may wait in it."""

    def __init__(self, server):
        self.server = server

    def __call__(self, *words):
        return self.open().call(*words)

    def open(self):
        return wire.Connection(self.server.connect_tcp())

    def waits(self, *words):
        connection = self.open()
        connection.send(wire.encode([word.encode() for word in words]))
        return connection


@contextlib.contextmanager
def served(*options):
    with Server(Chosen.program, options, tcp=True) as server:
        yield server, Clients(server), f"127.0.0.1:{server.port}"


def page(address, *words, **environment):
    done = subprocess.run([str(Chosen.program), "top", address, *words], capture_output=True, timeout=PATIENCE,
                          check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80", "REDISCLI_AUTH": "", **environment})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# --- at a terminal

def test_locks_and_waiters_move():
    with served() as (_, client, address), Terminal(address) as top:
        top.sees("sluice 0.", address, "LOCKS    0 held", "q quits")
        client("LOCK.ACQUIRE", "build", "worker-1", "LEASE", "60000")
        top.sees("build ", "exclusive", "worker-1", "LOCKS    1 held, 0 wait")
        second = client.waits("LOCK.ACQUIRE", "build", "worker-2", "LEASE", "60000", "WAIT", "60000")
        top.sees("worker-2", "  waits", "LOCKS    1 held, 1 wait")
        # The lease runs down, and the wait grows.
        shown = top.row("build")
        until(lambda: top.row("build") != shown, "time passes")
        assert client("LOCK.RELEASE", "build", "worker-1")[0] == ":"
        assert second.replies(1)[0].startswith(b"*4")
        until(lambda: "worker-2" in top.row("build") and not any("waits" in line for line in top.lines()),
              "it is handed over")
        client("LIMIT.TAKE", "u", "GCRA", "1", "60000")
        client("LIMIT.TAKE", "u", "GCRA", "1", "60000")
        top.sees("LIMITS ", "gcra ")
        top.type(b"q")
        assert top.ended() == 0


def test_many_locks():
    """More than a look asks for: the one that is waited for comes first, and all can be come by."""
    with served() as (_, client, address), Terminal(address, rows=20) as top:
        connection = client.open()
        send_all(connection, [["LOCK.ACQUIRE", f"lock:{i:05}", f"owner-{i}", "LEASE", "600000"] for i in range(12_000)])
        waiting = client.waits("LOCK.ACQUIRE", "lock:07777", "other", "LEASE", "1000", "WAIT", "60000")
        top.sees("LOCKS    12.0k held, 1 wait", "> lock:07777", "    waits", " 0 above, 12.0k below")
        words = top.row("lock:00000").split()
        assert words[1:3] == ["exclusive", "owner-0"] and words[3].startswith("9m"), top.lines()
        until(lambda: not any("listed so far" in line for line in top.lines()), "all are listed")
        # What comes into view is asked for.
        top.type(b"G")
        top.selects("lock:11999")
        until(lambda: "owner-11999 " in top.row("lock:11999"), "the last are known")
        top.sees("above, 0 below")
        top.type(b"\x1b[5~\x1b[5~\x1b[5~")
        until(lambda: not top.row("lock:11999"), "it has scrolled")
        selected = next(line for line in top.lines() if line.startswith("> "))[2:].split()[0]
        until(lambda: f" owner-{int(selected[5:])} " in top.row(selected), "those above are known")
        # By a part of a name that no look has come by before.
        top.type(b"g/:0913")
        top.sees("10 with :0913", "> lock:09130", "/:0913_")
        until(lambda: "owner-9135 " in top.row("lock:09135"), "what is found is known")
        top.type(b"\x1b")
        top.selects("lock:09130")
        assert not waiting.closed


def test_scrolling_keys():
    with served() as (_, client, address), Terminal(address) as top:
        for i in range(40):
            client("LOCK.ACQUIRE", f"lock:{i:02}", "me", "LEASE", f"{600000 + i * 60000}")
        top.sees("LOCKS    40 held", "> lock:00")
        for keys, name in ((b"j", "lock:01"), (b"\x1b[B", "lock:02"), (b"\x1bOB", "lock:03"), (b"k", "lock:02"),
                           (b"\x1b[A", "lock:01"), (b"G", "lock:39"), (b"g", "lock:00"), (b"\x1b[F", "lock:39"),
                           (b"\x1b[H", "lock:00")):
            top.type(keys)
            top.selects(name)
        top.type(b"\x1b[6~")
        until(lambda: not top.row("lock:00"), "a page further down")
        top.type(b"\x1b[5~")
        top.selects("lock:00")
        # A lock stays selected where others come before it.
        top.type(b"jj")
        client("LOCK.ACQUIRE", "first", "me", "LEASE", "60000")
        top.sees("  first")
        top.selects("lock:02")
        top.type(b"?")
        top.sees("any key goes back", "breaks the selected lock")
        top.type(b"x")
        top.selects("lock:02")
        top.type(b"q")
        assert top.ended() == 0


def test_a_lock_is_broken():
    with served() as (server, client, address), Terminal(address) as top:
        client("LOCK.ACQUIRE", "build", "worker-1", "LEASE", "600000", "LABEL", "nightly")
        client("LOCK.ACQUIRE", "deploy", "worker-2", "LEASE", "900000")
        top.selects("build")
        top.sees("build, held by worker-1 (nightly)")
        top.type(b"b")
        top.sees("break build held by worker-1 (nightly)? y/n")
        top.type(b"n")
        top.sees("build was not broken")
        assert client("LOCK.INFO", "build")[1]
        top.type(b"by")
        top.sees("build was broken, held by worker-1 (nightly)", "LOCKS    1 held", "> deploy")
        assert client("LOCK.INFO", "build") == ("*", [])
        # A holder that came while the question stood is not the one that was asked about.
        top.type(b"b")
        top.sees("break deploy held by worker-2? y/n")
        client("LOCK.RELEASE", "deploy", "worker-2")
        client("LOCK.ACQUIRE", "deploy", "worker-3", "LEASE", "600000")
        top.type(b"y")
        top.sees("deploy was not held by worker-2 any more")
        assert client("LOCK.RELEASE", "deploy", "worker-3")[0] == ":"
        # All holders of a shared one.
        client("LOCK.ACQUIRE", "pool", "a", "LEASE", "600000", "SHARED")
        client("LOCK.ACQUIRE", "pool", "b", "LEASE", "600000", "SHARED")
        top.sees("> pool", "a and 1 other")
        top.type(b"by")
        top.sees("pool was broken, held by a and 1 other", "LOCKS    0 held")
        top.type(b"b")
        top.sees("no lock is selected")
        client("LOCK.ACQUIRE", "late", "a", "LEASE", "600000")
        top.sees("> late")
        server.kill()
        top.sees("; trying again")
        top.type(b"by")
        top.sees("late was not broken: " + address)
        top.type(b"q")
        assert top.ended() == 0


def test_what_is_refused_is_said():
    with served() as (_, client, address):
        admin = client.open()
        admin.call("ACL", "SETUSER", "reader", "on", ">r", "+@all", "-lock.break", "~*")
        admin.call("ACL", "SETUSER", "narrow", "on", ">n", "+@all", "~other:*")
        client("LOCK.ACQUIRE", "build", "worker-1", "LEASE", "600000")
        client("LOCK.ACQUIRE", "other:1", "worker-1", "LEASE", "900000")
        with Terminal(address, "--user", "reader", "--pass", "r") as top:
            top.selects("build")
            top.type(b"by")
            top.sees("build was not broken: NOPERM", "lock.break")
            top.type(b"q")
            assert top.ended() == 0
        # Of the other lock no more than its name may be known.
        with Terminal(address, "--user", "narrow", "--pass", "n") as top:
            top.sees("NOPERM", "other:1")
            top.type(b"g" + b"j" * 2 + b"b")
            top.sees("build cannot be broken from here: NOPERM")
            top.type(b"q")
            assert top.ended() == 0
        assert client("LOCK.INFO", "build")[1]


def test_sizes():
    with served() as (_, client, address), Terminal(address, columns=132, rows=50) as top:
        for i in range(60):
            client("LOCK.ACQUIRE", f"a-lock-with-a-name-{i}", "owner", "LEASE", "60000")
        top.sees("LONGEST")
        until(lambda: len(top.lines()) == 50, "all rows are used")
        for columns, rows in ((80, 24), (40, 10), (200, 60), (5, 2), (1, 1), (80, 24)):
            top.resize(columns, rows)
            os.kill(top.process.pid, signal.SIGWINCH)
            fits = max(rows, 6)
            until(lambda: len(top.lines()) == fits and all(len(line) <= max(columns, 20) for line in top.lines()),
                  f"it fits {columns}x{rows}")
        top.type(b"q")
        assert top.ended() == 0


def test_keys_and_signals():
    with served() as (_, _, address):
        for keys in (b"q", b"Q", b"\x03", b"xq"):
            with Terminal(address) as top:
                top.sees("LOCKS")
                top.type(keys)
                assert top.ended() == 0, keys
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Terminal(address) as top:
                top.sees("LOCKS")
                top.process.send_signal(number)
                assert top.ended() == 0, number
        with Terminal(address, "--every", "600") as top:
            top.sees("LOCKS")
            top.type(b"\x1b[Z\x1bOq\x1b[3;5q")  # keys that mean nothing
            seen = len(PICTURE.findall(top.data))
            top.type(b" ")
            until(lambda: top.lines() and len(PICTURE.findall(top.data)) > seen, "space looks again")
            top.type(b"q")
            assert top.ended() == 0


def test_ctrl_z_gives_the_terminal_back():
    with served() as (_, _, address), Terminal(address) as top:
        top.sees("LOCKS")
        top.type(b"\x1a")
        # A group without a parent in its session is not stopped by the system: it goes on at once.
        until(lambda: top.read() or top.data.count(ENTER) == 2, "it goes on")
        assert top.data.count(LEAVE) == 1
        top.sees("LOCKS")
        top.process.send_signal(signal.SIGTSTP)
        until(lambda: top.read() or top.data.count(ENTER) == 3, "it goes on again")
        assert top.data.count(LEAVE) == 2
        top.sees("LOCKS")
        top.type(b"q")
        assert top.ended() == 0


def test_colours():
    with served() as (_, _, address):
        with Terminal(address) as top:
            top.sees("LOCKS")
            assert b"\x1b[7m" in top.data
        with Terminal(address, NO_COLOR="1") as top:
            top.sees("LOCKS")
            assert not re.search(rb"\x1b\[[0-9;]*m", top.data.split(LEAVE)[0]), top.data
        with Terminal(address, TERM="dumb") as top:
            assert top.ended() == 0 and ENTER not in top.data and b"LOCKS" in top.data


def test_hostile_names():
    names = [b"evil\x1b[2J\x1b]0;title\x07", "\u202egnol \u05d0".encode(), b"\xff\xfe\x00\xc3(", b"a\r\nb", b"n" * 6000,
             "\u0065\u0301\u200b\U000e0001".encode()]
    with served() as (_, client, address):
        for name in names:
            client("LOCK.ACQUIRE", name, name[:1024], "LEASE", "60000", "LABEL", name[:60])
        client("CONFIG", "SET", "slowlog-log-slower-than", "0")
        client("SET", b"slow\x1b[31m", b"\x9b\xe2\x80\xae")
        client("CONFIG", "SET", "slowlog-log-slower-than", "10000000")
        with Terminal(address, rows=40, columns=200) as top:
            top.sees("LOCKS    6 held", "evil\\x1b[2J\\x1b]0;title\\x07", "\\u{202e}gnol \\u{5d0}", "\\xff\\xfe\\x00\\xc3(",
                     "a\\r\\nb", "nnnn…nnnn", "6000 bytes long", "e\\u{301}\\u{200b}\\u{e0001}", "SLOW",
                     "SET slow\\x1b[31m \\x9b\\u{202e}")
            drawn = top.data.decode()
            for text in ("\x07", "\u202e", "\u05d0", "\u0301", "\u200b", "\U000e0001", "\x1b]", "\x1b[31m"):
                assert text not in drawn, repr(text)
            top.type(b"q")
            assert top.ended() == 0


def test_names_of_a_megabyte():
    """Beyond what an answer may have in all: fewer are asked for, and it goes on."""
    with served() as (_, client, address), Terminal(address) as top:
        connection = client.open()
        for i in range(40):
            connection.call("LOCK.ACQUIRE", b"%02d" % i + b"n" * (1 << 20), "me", "LEASE", "600000")
        connection.call("LOCK.ACQUIRE", "small", "me", "LEASE", "600000")
        top.sees("41 held", "1.0M bytes long")
        top.type(b"q")
        assert top.ended() == 0


def test_a_server_that_goes_away():
    with served() as (server, client, address), Terminal(address) as top:
        client("LOCK.ACQUIRE", "build", "me", "LEASE", "60000")
        top.sees("build")
        server.kill()
        top.sees(f"{address}: ", "; trying again", "build")  # what was known stays
        server.start()
        top.sees("LOCKS    ", "q quits")
        assert not any("trying again" in line for line in top.lines())
        server.kill()
        top.sees("cannot be connected to: Connection refused; trying again")
        top.type(b"q")
        assert top.ended() == 0


def test_a_server_that_hangs_is_left_at_once():
    """It has been connected to, and never answers."""
    with socket.socket() as hanging:
        hanging.bind(("127.0.0.1", 0))
        hanging.listen()
        for keys in (b"q", b"\x03"):
            with Terminal("127.0.0.1:%d" % hanging.getsockname()[1]) as top:
                until(lambda: b"sluice top" in top.data or top.read(), "it has begun")
                began = time.monotonic()
                top.type(keys)
                assert top.ended() == 0 and time.monotonic() - began < 3


def test_what_is_no_server():
    def answer(listening, words):
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            with sock, contextlib.suppress(OSError):
                sock.recv(4096)
                sock.sendall(words)
    for words, told in ((b"HTTP/1.1 400 Bad Request\r\n\r\n", "not Redis's protocol"), (b"", "closed the connection"),
                        (b"$99999999\r\n" + b"x" * (20 << 20), "too large"),
                        (b"*1\r\n" * 1000, "not Redis's protocol")):
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            threading.Thread(target=answer, args=(listening, words), daemon=True).start()
            code, out, errors = page("127.0.0.1:%d" % listening.getsockname()[1])
            assert code == 1 and not out and told in errors, (words[:20], code, out, errors)
            listening.shutdown(socket.SHUT_RDWR)


# --- rights

def test_passwords_and_rights():
    with served("--requirepass", "secret") as (server, _, address):
        with Terminal(address) as top:
            assert top.ended() == 1
            assert b"NOAUTH" in top.process.stderr.read()
        assert page(address, "--pass", "wrong")[0] == 1
        code, out, _ = page(address, "--pass", "secret")
        assert code == 0 and "LOCKS" in out
        assert page(address, REDISCLI_AUTH="secret")[0] == 0
        admin = wire.Connection(server.connect_tcp())
        admin.call("AUTH", "secret")
        admin.call("ACL", "SETUSER", "watcher", "on", ">w", "+info", "~*")
        code, out, errors = page(address, "--user", "watcher", "--pass", "w")
        assert code == 0 and "SLOWLOG: NOPERM" in out and "LOCK.LIST: NOPERM" in out, (code, out, errors)
        admin.call("ACL", "SETUSER", "blind", "on", ">b")
        code, out, errors = page(address, "--user", "blind", "--pass", "b")
        assert code == 1 and not out and "NOPERM" in errors, (out, errors)
        # One whose right goes while it is shown.
        with Terminal(address, "--user", "watcher", "--pass", "w") as top:
            top.sees("NOPERM")
            admin.call("ACL", "SETUSER", "watcher", "-info")
            assert top.ended() == 1 and b"NOPERM" in top.process.stderr.read()


# --- where there is no terminal

def test_a_page():
    with served() as (server, client, address):
        for i in range(40):
            client("LOCK.ACQUIRE", f"lock:{i}", "me", "LEASE", "60000")
        code, out, errors = page(address)
        lines = out.split("\n")
        assert code == 0 and not errors and "\x1b" not in out
        assert lines[0].startswith("sluice 0.") and sum(line.startswith("lock:") for line in lines) == 40
        assert all(len(line) <= 80 and line == line.rstrip() for line in lines), out
        assert page(address, COLUMNS="50")[1].split("\n")[1] != lines[1]
        assert "\nlock:" not in page(address, "--db", "3")[1]
        code, out, _ = page("unix:" + server.socket_path)
        assert code == 0 and "LOCKS    40 held" in out
        with Terminal(address, "--once") as top:
            assert top.ended() == 0 and ENTER not in top.data and b"LOCKS" in top.data
        assert page(f"127.0.0.1:{free_port()}")[0] == 1
        for words in ([":nowhere"], [address, "--every", "0"], [address, "--every"], [address, "--db", "-1"],
                      [address, "more"]):
            assert page(*words)[0] == 2, words


def test_addresses():
    with served() as (server, client, _):
        admin = client.open()
        admin.call("ACL", "SETUSER", "me", "on", ">w@rd", "+@all", "~*")
        admin.call("SELECT", "3")
        admin.call("LOCK.ACQUIRE", "in-three", "me", "LEASE", "60000")
        port = server.port
        for address in (str(port), f"localhost:{port}", f"127.0.0.1:{port}", f"redis://127.0.0.1:{port}",
                        "unix:" + server.socket_path):
            code, out, errors = page(address)
            assert code == 0 and "LOCKS    1 held" in out and "\nin-three" not in out, (address, code, out, errors)
        code, out, errors = page(f"redis://me:w%40rd@localhost:{port}/3")
        assert code == 0 and "\nin-three" in out and "w@rd" not in out, (code, out, errors)
        assert page(f"redis://me:wrong@localhost:{port}/3")[0] == 1
        assert page("redis://localhost:no")[0] == 2
        with Terminal(f"redis://me:w%40rd@localhost:{port}/3") as top:
            top.selects("in-three")
            assert b"w@rd" not in top.data and b"w%40rd" not in top.data
            top.type(b"q")
            assert top.ended() == 0


def test_redis():
    if not REDIS.exists():
        raise Skip("no redis-server")
    port = free_port()
    process = subprocess.Popen([str(REDIS), "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL,
                               preexec_fn=die_with_parent)
    try:
        until(lambda: page(f"127.0.0.1:{port}")[0] == 0, "it serves")
        assert "redis 7" in page(f"127.0.0.1:{port}")[1]
        with Terminal(f"127.0.0.1:{port}") as top:
            top.sees("redis 7", "no locks and limiters of its own", "commands/s")
            top.type(b"q")
            assert top.ended() == 0
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
