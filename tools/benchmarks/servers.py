"""Starting servers and load generators, and reading from /proc what they cost.

Everything started here dies with the benchmark, however that ends: the `with` block stops it, and
should the benchmark itself be killed, the kernel does (PR_SET_PDEATHSIG).
"""
import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

from .resp import Client, ReplyError

START_SECONDS_MAX = 10
PR_SET_PDEATHSIG = 1
FLAGS = ["--bind", "127.0.0.1", "--save", ""]
NO_LOG = ("--appendonly", "no")

_libc = ctypes.CDLL(None)


class Failure(Exception):
    """A case could not be measured; the message says why."""


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def process(command, nice=0, **options):
    """Runs a command for the length of the block. Ctrl-C reaches it through us alone."""
    if nice:
        command = ["nice", "-n", str(nice), *command]
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=_die_with_parent, **options)
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(timeout=5)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running server: `port`, `client` (our connection); from exec to the first PONG `start_ms` of wall time and
    `start_cpu_ms` of CPU."""

    def __init__(self, running, port, log):
        self.port = port
        self.proc = pathlib.Path("/proc", str(running.pid))
        started = time.perf_counter()  # Popen returns once the exec is done
        forked = self.cpu()[0]  # of the child before its exec
        while True:
            try:
                self.client = Client(port)
                self.client.call("PING")
                break
            except ReplyError:
                break  # it is loading
            except OSError:
                if running.poll() is not None or time.perf_counter() - started > START_SECONDS_MAX:
                    log.seek(0)
                    said = log.read().decode(errors="replace").strip().split("\n")[-1]
                    raise Failure(f"{running.args[0]} did not start: {said or 'no word'}") from None
                time.sleep(0.0001)
        self.start_ms = (time.perf_counter() - started) * 1000
        self.start_cpu_ms = (self.cpu()[0] - forked) / 1000

    def cpu(self):
        """CPU time so far, as (µs exactly, user ticks, system ticks), of all threads."""
        exact = sum(int(task.read_text().split()[0]) for task in self.proc.glob("task/*/schedstat"))
        fields = (self.proc / "stat").read_text().rpartition(")")[2].split()
        return exact / 1000, int(fields[11]), int(fields[12])

    def cpu_since(self, before):
        """µs of CPU since an earlier cpu(), as (total, user): the coarse ticks only split it."""
        total, user, system = (now - then for now, then in zip(self.cpu(), before))
        return total, total * user / max(1, user + system)

    def queued_ns(self):
        """How long the main thread was ready so far but kept off the processor by others."""
        return int((self.proc / "schedstat").read_text().split()[1])

    def used_memory(self):
        """As the server counts it."""
        return int(self.client.info("memory")["used_memory"])

    def resident_bytes(self):
        for line in (self.proc / "smaps_rollup").read_text().split("\n"):
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
        raise Failure("/proc/<pid>/smaps_rollup has no Rss line")


@contextlib.contextmanager
def server(binary, log=NO_LOG, folder=None, environment=None):
    """A server on a port of its own, for the length of the block: fresh and without persistence, unless
    `log` (flags) and `folder`, where it works, say otherwise. environment: what is added to ours."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        folder = folder or stack.enter_context(tempfile.TemporaryDirectory())
        said = stack.enter_context(open(folder + "/log", "w+b"))
        command = [binary, "--port", str(port), "--dir", folder, *FLAGS, *log]
        running = stack.enter_context(process(command, stdout=said, stderr=said,
                                                  env={**os.environ, **(environment or {})}))
        yield Server(running, port, said)
