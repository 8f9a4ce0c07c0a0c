"""Everything that hostile clients can do at once, and what it costs a client that only pings.

While all places that `maxclients` allows are taken, strangers who have not logged in send and never
read, one client sends scripts that it never sends again, and one fills sets and keys with names that
differ in a few bits. Measured are the pinging client's wait (as in stall.py, 99 in 100 are shorter)
and the server's memory, less what the keys take and what it had before.
"""
import contextlib
import resource
import socket
import threading
import time
from dataclasses import dataclass

from .report import Row
from .resp import Client, encode
from .servers import Failure, server
from .stall import SO_TIMESTAMPNS, _wait_ns

STRANGERS = 6
PINGS_A_SECOND = 1000
SCRIPTS = 50_000  # of 1 KB: more than are kept
MEMBERS = 200_000
PASSWORD = "open sesame"
DESCRIPTORS_TO_SPARE = 64


@dataclass(frozen=True)
class Flood:
    name: str
    clients: int
    seconds: int
    bar_ms: float | None = None
    bar_mb: float | None = None

    def run(self, bench):
        bench.progress(f"{self.name}: {self.seconds} s")
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        clients = min(self.clients, most - DESCRIPTORS_TO_SPARE)
        with server(bench.binary("sluice")) as target, contextlib.ExitStack() as open_ones:
            target.client.call("CONFIG", "SET", "maxclients", str(clients))
            for _ in range(clients - STRANGERS - 3):
                open_ones.enter_context(contextlib.closing(Client(target.port)))
            resident = target.resident_bytes()
            target.client.call("CONFIG", "SET", "requirepass", PASSWORD)
            waits = self._pings_under_attack(target)
            told = target.client.info("clients")["connected_clients"]
            grown = target.resident_bytes() - resident - self._data_bytes(target)
            _check_it_happened(target)
        waits.sort()
        yield Row(f"{self.name}-ping-p99", "ms", waits[len(waits) * 99 // 100] / 1e6,
                  bar=self.bar_ms, absolute=True,
                  note=f"{len(waits)} pings, the longest {waits[-1] / 1e6:.2f}")
        yield Row(f"{self.name}-memory", "MB", grown / 1e6, bar=self.bar_mb, absolute=True,
                  note=f"{told} clients")

    def _pings_under_attack(self, target):
        over = threading.Event()
        port = target.port
        attacks = [threading.Thread(target=_never_read, args=(port, over)) for _ in range(STRANGERS)]
        attacks += [threading.Thread(target=_send_again, args=(port, over, requests))
                    for requests in (_scripts, _names)]
        for attack in attacks:
            attack.start()
        connection = target.client.socket
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        waits = []
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            waits.append(_wait_ns(target, connection))
            time.sleep(1 / PINGS_A_SECOND)
        over.set()
        for attack in attacks:
            attack.join()
        return waits

    @staticmethod
    def _data_bytes(target):
        keys = ("near", *(f"near:{i:032b}" for i in range(0, MEMBERS, MEMBERS // 100)))
        sizes = [target.client.call("MEMORY", "USAGE", key, "SAMPLES", "0") or 0 for key in keys]
        return sizes[0] + sum(sizes[1:]) / 100 * MEMBERS


def _check_it_happened(target):
    """An attack that failed would look like one that was withstood."""
    happened = {"scripts have been thrown out": int(target.client.info("stats")["evicted_scripts"]) > 0,
                "the set has been filled": target.client.call("SCARD", "near") == MEMBERS,
                "the keys have been set": target.client.call("DBSIZE") > MEMBERS,
                "strangers were closed": int(target.client.info("stats")["total_connections_received"])
                > int(target.client.info("clients")["connected_clients"])}
    missing = [what for what, is_so in happened.items() if not is_so]
    if missing:
        raise Failure(f"the attack did not come off: not so that {', '.join(missing)}")


def _never_read(port, over):
    """A stranger, who comes back whenever the server has closed the connection."""
    pings = encode(["PING"]) * 1000
    while not over.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.settimeout(0.5)
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    stranger.sendall(pings)
        time.sleep(0.01)


def _send_again(port, over, requests):
    """A client who has logged in, and reads its replies. `requests` is a function of the round."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(encode(["AUTH", PASSWORD]))
        reader = threading.Thread(target=_read_all, args=(client,))
        reader.start()
        with contextlib.suppress(OSError):
            for turn in range(1 << 30):
                for piece in requests(turn):
                    if over.is_set():
                        break
                    client.sendall(piece)
                if over.is_set():
                    break
            client.shutdown(socket.SHUT_WR)
        reader.join()


def _read_all(client):
    room = bytearray(1 << 20)
    with contextlib.suppress(OSError):
        while client.recv_into(room):
            pass


def _scripts(turn):
    filler = "-" * 1000
    for first in range(0, SCRIPTS, 100):
        yield b"".join(encode(["EVAL", f"return {turn * SCRIPTS + first + i} --{filler}", "0"])
                       for i in range(100))


def _names(_turn):
    for first in range(0, MEMBERS, 100):
        names = [f"{first + i:032b}" for i in range(100)]
        yield encode(["SADD", "near", *names])
        yield b"".join(encode(["SET", f"near:{name}", "x"]) for name in names)
