#!/usr/bin/python3
"""The real binary under a service manager: it tells a socket that it is ready, ends and lives, and serves
sockets that were handed over; and the configuration that it prints.

  managed.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import die_with_parent, free_port  # noqa: E402
from smoke import PATIENCE, Chosen, run_tests, until  # noqa: E402


class Managed:
    """A server in a folder of its own, and the manager's end of its notifications. `sockets`: pairs of a
    listening socket and its name, handed over from descriptor 3 on."""

    def __init__(self, *options, supervised="systemd", abstract=False, watchdog_us=None, sockets=(), pid=None):
        self.folder = tempfile.TemporaryDirectory()
        path = "\0sluice-" + os.path.basename(self.folder.name) if abstract else self.folder.name + "/notify"
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(path)
        self.manager.settimeout(PATIENCE)
        self.environment = {**os.environ, "NOTIFY_SOCKET": path.replace("\0", "@")}
        if watchdog_us:
            self.environment["WATCHDOG_USEC"] = str(watchdog_us)
        self.sockets, self.pid = sockets, pid
        words = [str(Chosen.program), "--port", "0", "--unixsocket", self.folder.name + "/s.sock", "--dir",
                 self.folder.name, "--save", "", "--supervised", supervised, *map(str, options)]
        # LISTEN_PID is known in the child alone: a shell says it, and becomes the server.
        script = 'export LISTEN_PID=${GIVEN_PID:-$$}; exec "$@"'
        if sockets:
            self.environment["LISTEN_FDS"] = str(len(sockets))
            self.environment["LISTEN_FDNAMES"] = ":".join(name for _, name in sockets)
            if pid:
                self.environment["GIVEN_PID"] = str(pid)
            words = ["/bin/sh", "-c", script, "sh", *words]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, close_fds=not sockets,
                                        stderr=subprocess.STDOUT, env=self.environment, preexec_fn=self._in_child)

    def _in_child(self):
        die_with_parent()
        given = [os.dup2(sock.fileno(), 100 + i) for i, (sock, _) in enumerate(self.sockets)]
        for i, descriptor in enumerate(given):
            os.dup2(descriptor, 3 + i, inheritable=True)

    def told(self):
        """The lines of one datagram."""
        return self.manager.recv(4096).decode().split("\n")

    def client(self):
        path = self.folder.name + "/s.sock"
        until(lambda: os.path.exists(path), "it listens")
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        return wire.Connection(sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.manager.close()
        self.folder.cleanup()


def listening(family=socket.AF_INET, address=("127.0.0.1", 0)):
    sock = socket.socket(family)
    sock.bind(address)
    sock.listen(16)
    return sock


def test_ready_and_ending():
    for abstract in (False, True):
        with Managed(abstract=abstract) as it:
            lines = it.told()
            assert lines[0] == "READY=1" and lines[1].startswith("STATUS=Ready to accept connections on "), lines
            assert it.client().call("PING") == ("+", b"PONG")
            assert b"process_supervised:systemd" in it.client().call("INFO", "server")[1]
            it.process.send_signal(signal.SIGTERM)
            assert it.told()[0] == "STOPPING=1"
            assert it.process.wait(PATIENCE) == 0


def test_watchdog_is_answered_twice_in_its_time():
    with Managed(watchdog_us=200_000) as it:
        seen = [it.told() for _ in range(8)]
        assert seen.count(["WATCHDOG=1"]) == 7 and sum(lines[0] == "READY=1" for lines in seen) == 1, seen


def test_watchdog_hears_of_a_loop_that_hangs():
    with Managed("--enable-debug-command", "yes", watchdog_us=100_000) as it:
        until(lambda: it.told() == ["WATCHDOG=1"], "a sign of life")
        it.client().send(b"DEBUG SLEEP 5\r\n")
        it.manager.settimeout(2)
        with contextlib.suppress(TimeoutError):
            for _ in range(40):  # far more than two seconds of them
                it.told()
            raise AssertionError("it goes on telling while it hangs")


def test_nobody_to_tell():
    with Managed() as it:  # as in Redis, whose unit may be of another type
        assert it.told()[0] == "READY=1"
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
        server = subprocess.Popen([str(Chosen.program), "--port", "any", "--port-file", folder + "/port", "--save", "",
                                   "--dir", folder, "--supervised", "systemd"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=die_with_parent)
        until(lambda: os.path.exists(folder + "/port"), "it serves")
        server.terminate()
        log = server.communicate(timeout=PATIENCE)[1]
        assert server.returncode == 0 and "there is no NOTIFY_SOCKET" in log, log
    with Managed(supervised="no") as it:
        until(lambda: os.path.exists(it.folder.name + "/s.sock"), "it serves")
        assert it.client().call("PING") == ("+", b"PONG")
        it.manager.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            raise AssertionError(it.told())
    with Managed(supervised="auto") as it:
        assert it.told()[0] == "READY=1"


def test_sockets_that_were_handed_over():
    """Who connects before the server starts is served by it."""
    plain, unix, pages = listening(), None, listening()
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/handed.sock"
        unix = listening(socket.AF_UNIX, path)
        early = wire.Connection(socket.create_connection(plain.getsockname(), PATIENCE))
        early.send(b"PING\r\n")
        with Managed("--http-hosts", "x", sockets=[(plain, "sluice.socket"), (unix, "unix"), (pages, "http")]) as it:
            assert early.replies(1) == [b"+PONG\r\n"]
            port = plain.getsockname()[1]
            assert f"tcp_port:{port}\r\n".encode() in early.call("INFO", "server")[1]
            over_unix = socket.socket(socket.AF_UNIX)
            over_unix.connect(path)
            assert wire.Connection(over_unix).call("PING") == ("+", b"PONG")
            asking = http.client.HTTPConnection(*pages.getsockname(), timeout=PATIENCE)
            asking.request("GET", "/readyz")
            assert asking.getresponse().status == 200
            it.process.send_signal(signal.SIGTERM)
            assert it.process.wait(PATIENCE) == 0
        assert os.path.exists(path), "the manager's socket is not the server's to remove"
        # The next one serves those who came meanwhile.
        waiting = wire.Connection(socket.create_connection(plain.getsockname(), PATIENCE))
        waiting.send(b"PING\r\n")
        with Managed(sockets=[(plain, "a"), (unix, "b")]):
            assert waiting.replies(1) == [b"+PONG\r\n"]


def test_sockets_of_another_process():
    plain = listening()
    with Managed(sockets=[(plain, "a")], pid=1) as it:
        assert it.told()[0] == "READY=1"
        asking = wire.Connection(socket.create_connection(plain.getsockname(), PATIENCE))
        asking.send(b"PING\r\n")
        assert asking.replies(1, timeout=0.3) == []


def test_what_is_no_socket():
    with tempfile.TemporaryFile() as file, Managed(sockets=[(file, "a")]) as it:
        output = it.process.communicate(timeout=PATIENCE)[0]
        assert it.process.returncode == 1 and b"that was handed over" in output, output


def test_printed_configuration():
    """Every line in it, its comment sign taken away, is an option that the server takes."""
    printed = subprocess.run([str(Chosen.program), "--print-config"], capture_output=True, text=True, check=True).stdout
    lines = printed.splitlines()
    assert all(line == "" or line.startswith("#") for line in lines)
    # Three lines an option at most, behind the opening: what it is for, its range, its default.
    lines = lines[lines.index(""):]
    values, names = [], []
    for line, following in zip(lines, lines[1:] + [""]):
        if following == "" and line.startswith("# ") and not line.startswith("#   "):
            values.append(line[2:])
            names.append(line[2:].split(" ")[0])
    assert {"port", "save", "http-port", "appendfsync", "fence-retention", "supervised"} <= set(names), names
    with tempfile.TemporaryDirectory() as folder:
        taken = [value for value in values if value.split(" ")[0] not in
                 ("port", "dir", "bind", "unixsocket", "supervised", "daemonize")]
        pathlib.Path(folder, "sluice.conf").write_text("\n".join(taken) + "\n")
        process = subprocess.Popen([str(Chosen.program), folder + "/sluice.conf", "--port", "0", "--dir", folder,
                                    "--unixsocket", folder + "/s.sock"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        try:
            until(lambda: os.path.exists(folder + "/s.sock") or process.poll() is not None, "it starts")
            assert process.poll() is None, process.communicate()[0]
        finally:
            process.kill()
            process.communicate()


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
