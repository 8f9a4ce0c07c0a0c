"""TLS 1.3 beside redis-server's: CPU of a request and of a full handshake, and what an idle connection costs.
The authority, certificate and key are made by openssl for the run; clients need no certificate."""
import contextlib
import pathlib
import resource
import socket
import ssl
import statistics
import subprocess
import tempfile
from dataclasses import dataclass

from .load import CLIENTS, KEYS, Work, redis_benchmark_command
from .report import number, paired
from .rounds import alternate
from .servers import NO_LOG, Failure, free_port, process, server

SELF_SIGNED = ("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext"
               " subjectAltName=IP:127.0.0.1 -keyout key -out certificate")


@contextlib.contextmanager
def secured(bench, *sides):
    """A server with a TLS port for each of `sides`; they get `tls_port` and `certificate`."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        subprocess.run(SELF_SIGNED.split(), cwd=folder, check=True, capture_output=True)
        targets = []
        for side in sides:
            port = free_port()
            flags = ("--tls-port", str(port), "--tls-cert-file", str(folder / "certificate"),
                     "--tls-key-file", str(folder / "key"), "--tls-auth-clients", "no",
                     "--tls-protocols", "TLSv1.3")
            target = stack.enter_context(server(bench.binary(side), (*NO_LOG, *flags)))
            target.tls_port, target.certificate = port, str(folder / "certificate")
            targets.append(target)
        yield targets


def connect(target, context):
    plain = socket.create_connection(("127.0.0.1", target.tls_port))
    connection = context.wrap_socket(plain, server_hostname="127.0.0.1")
    connection.sendall(b"PING\r\n")
    if connection.recv(100) != b"+PONG\r\n":
        raise Failure("no PONG")
    return connection


def client_context(target):
    return ssl.create_default_context(cafile=target.certificate)


@dataclass(frozen=True)
class TlsLoad:
    """The same command on both, as `Load` has it."""
    name: str
    work: Work
    requests: int
    pipeline: int
    bar: float

    def run(self, bench):
        with secured(bench, "sluice", "redis") as targets:
            ours, theirs = alternate(bench, self.name,
                                     *(lambda target=target: self._round(bench, target) for target in targets))
        note = " / ".join(f"{number(statistics.median(cost[1] for cost in side))} req/s" for side in (ours, theirs))
        yield paired(self.name, "µs/req", [cost[0] for cost in ours], [cost[0] for cost in theirs],
                     bar=self.bar, note=note)

    def _round(self, bench, target):
        requests = bench.scaled(self.requests)
        command = redis_benchmark_command(target, self.work.command, requests, CLIENTS, self.pipeline, KEYS)
        command[2] = str(target.tls_port)
        command[1:1] = ["--tls", "--cacert", target.certificate]
        before = target.cpu()
        with process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            output, errors = running.communicate()
        if running.returncode:
            raise Failure(f"redis-benchmark: {(errors or output).strip().splitlines()[-1]}")
        return target.cpu_since(before)[0] / requests, float(output.splitlines()[-1].split('","')[1])


@dataclass(frozen=True)
class TlsHandshakes:
    """Full handshakes, each with a PING behind it, and the end of the connection."""
    name: str
    handshakes: int
    bar: float

    def run(self, bench):
        with secured(bench, "sluice", "redis") as targets:
            ours, theirs = alternate(bench, self.name,
                                     *(lambda target=target: self._round(bench, target) for target in targets))
        yield paired(self.name, "µs/handshake", ours, theirs, bar=self.bar)

    def _round(self, bench, target):
        count = bench.scaled(self.handshakes)
        context = client_context(target)
        before = target.cpu()
        for _ in range(count):
            connect(target, context).close()
        return target.cpu_since(before)[0] / count


@dataclass(frozen=True)
class BytesPerTlsConnection:
    """Connections that each sent one PING, measured at once: in 5 s Redis begins to shrink buffers of theirs."""
    name: str
    connections: int
    bar: float

    def run(self, bench):
        count = bench.scaled(self.connections)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        cost = []
        for side in ("sluice", "redis"):
            bench.progress(f"{self.name}: {count:,} connections to {side}")
            with secured(bench, side) as (target,):
                context = client_context(target)
                connect(target, context).close()  # what the first one loads is everybody's
                before = target.resident_bytes()
                clients = [connect(target, context) for _ in range(count)]
                cost.append([(target.resident_bytes() - before) / count])
                for client in clients:
                    client.close()
        yield paired(self.name, "bytes", *cost, bar=self.bar)
