"""A server process for tests: started in a temporary folder on a Unix socket or a free port, and gone at
the end, whatever happens. Knows nothing of what is tested; works for sluice and redis-server alike."""
import contextlib
import ctypes
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLUICE = ROOT / "build" / "sluice"
REDIS = pathlib.Path("/usr/bin/redis-server")

START_SECONDS = 300 if "SLUICE_EMULATED" in os.environ else 30
LOWEST_PORT = 10000
CLAIMS = []  # the sockets whose names keep ports that free_port() gave out from other callers
PR_SET_PDEATHSIG = 1


def first_seed():
    """As tests/support/seed.h: a new one each run, unless SLUICE_SEED_FROM says which."""
    return int(os.environ.get("SLUICE_SEED_FROM", random.randrange(1 << 30)))


def free_port():
    """A port below those that the system gives to outgoing connections: one of these, a follower that tries its master
    again for example, would take it before the server that it is for listens. It is this process's until it ends: a
    test takes many before their servers listen, and other tests run beside it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as numbers:
        outgoing = int(numbers.read().split()[0])
    above = outgoing if outgoing > LOWEST_PORT + 1000 else 65536
    while True:
        port = random.SystemRandom().randrange(LOWEST_PORT, above)  # whatever a test's seed is
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            claim = socket.socket(socket.AF_UNIX)
            claim.bind(f"\0sluice-test-port-{port}")  # a name that the kernel forgets with the process
            CLAIMS.append(claim)
            return port


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """program: a path. options: as on the command line. tcp: also listen on a free port of 127.0.0.1. file: all of it
    stands in a file, which CONFIG REWRITE changes and a later start reads. environment: beside this process's."""

    def __init__(self, program=SLUICE, options=(), tcp=False, wait=True, file=False, environment=None):
        self.program = str(program)
        self.options = [str(option) for option in options]
        self.port = free_port() if tcp else 0
        self.folder = tempfile.mkdtemp(prefix="sluice-test-")
        self.socket_path = os.path.join(self.folder, "s.sock")
        self.environment = {**os.environ, **(environment or {})}
        self.process = None
        self.file = os.path.join(self.folder, "server.conf") if file else None
        if file:
            self.write_file()
        self.start(wait)

    def words(self):
        return ["--port", str(self.port), "--unixsocket", self.socket_path, "--dir", self.folder, "--save", "",
                "--enable-debug-command", "yes", *self.options]

    def write_file(self):
        lines = []
        for word in self.words():
            if word.startswith("--"):
                lines.append(word[2:])
            else:
                lines[-1] += f' "{word}"'
        with open(self.file, "w", encoding="utf-8") as conf:
            conf.write("\n".join(lines) + "\n")

    def start(self, wait=True):
        command = [self.program, self.file] if self.file else [self.program, *self.words()]
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                preexec_fn=die_with_parent, env=self.environment)
        if wait:
            self.wait_until_up()

    def wait_until_up(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.program} ended at once:\n{self.output()}")
            try:
                with self.connect(2) as probe:
                    probe.sendall(b"PING\r\n")
                    answer = probe.recv(64)
                    if answer and not answer.startswith(b"-LOADING"):
                        return
            except OSError:
                pass
            time.sleep(0.002)
        raise RuntimeError(f"{self.program} does not answer:\n{self.output()}")

    def connect(self, timeout=20, path=None):
        """A blocking socket to the Unix socket."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path or self.socket_path)  # waits while the backlog is full
        except OSError:
            connection.close()
            raise
        connection.settimeout(timeout)
        return connection

    def connect_tcp(self, timeout=20, host="127.0.0.1"):
        return socket.create_connection((host, self.port), timeout)

    def alive(self):
        return self.process.poll() is None

    def output(self, bytes_max=4000):
        try:
            with open(os.path.join(self.folder, "output"), "rb") as output:
                return output.read()[-bytes_max:].decode(errors="replace")
        except OSError:
            return ""

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def restart(self):
        self.kill()
        self.start()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
