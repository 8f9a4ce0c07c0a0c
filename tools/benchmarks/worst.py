"""What the worst input of one client costs all others, beside the same on Redis.

One client sends a row's attack at once. A second one pings all the while: the longest that it waits
is the first line of a case, the CPU time of the server until the attack is answered the second. The
CPU time is what to trust on a busy machine. Waits are measured as in stall.py.

Both sides count at least UNNOTICED_MS, so that a fault too short to be felt is none.
"""
import socket
import threading
import time
from dataclasses import dataclass

from .report import paired
from .resp import Client, encode
from .servers import Failure, server
from .stall import SO_TIMESTAMPNS, _wait_ns

UNNOTICED_MS = 3.0
BAR = 1.2
LAST = b"$4\r\ndone\r\n"  # the answer to the ECHO behind each attack
RECEIVED_AT_ONCE = 1 << 20
ATTACK_SECONDS_MAX = 300


@dataclass(frozen=True)
class Worst:
    """`setup` and `attack` are sequences of commands, each a sequence of words, or functions that
    give such a sequence: large ones are made when they are needed. Errors are answers, too. `crowd` is
    how many others have sent `waiting`, a command that is not answered, before the attack."""
    name: str
    setup: object
    attack: object
    bar: float = BAR
    crowd: int = 0
    waiting: tuple = ()

    def run(self, bench):
        attack = b"".join(map(encode_words, _made(self.attack))) + encode_words(["ECHO", "done"])
        waits = {"sluice": [], "redis": []}
        costs = {"sluice": [], "redis": []}
        for round_number in bench.rounds():
            for side in waits:
                bench.progress(f"{self.name}: round {round_number}, {side}")
                with server(bench.binary(side)) as target:
                    wait_ms, cpu_ms = self._measure(target, attack)
                    waits[side].append(max(wait_ms, UNNOTICED_MS))
                    costs[side].append(max(cpu_ms, UNNOTICED_MS))
        yield paired(self.name, "ms", waits["sluice"], waits["redis"], bar=self.bar)
        yield paired(f"{self.name}-cpu", "ms CPU", costs["sluice"], costs["redis"], bar=self.bar)

    def _measure(self, target, attack):
        for words in _made(self.setup):
            target.client.send([encode_words(words)])
            target.client.read()
        crowd = [Client(target.port) for _ in range(self.crowd)]
        for client in crowd:
            client.send([encode_words(self.waiting)])
        attacker = Client(target.port)
        connection = target.client.socket
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        # What the setup left to be freed in slices; and the crowd's requests.
        time.sleep(1 if crowd else 0.05)
        before = target.cpu()
        longest_ns = 0
        with Attack(attacker, attack) as going:
            deadline = time.monotonic() + ATTACK_SECONDS_MAX
            while not going.over.wait(0.0005):
                longest_ns = max(longest_ns, _wait_ns(target, connection))
                if time.monotonic() > deadline:
                    raise Failure("the attack was not answered in time")
        cpu_ms = target.cpu_since(before)[0] / 1e3
        for client in crowd:
            client.socket.close()
        return longest_ns / 1e6, cpu_ms


class Attack:
    """A thread that sends bytes and reads until the last answer, or the end of the connection."""

    def __init__(self, client, request):
        self.client = client
        self.over = threading.Event()
        self.sender = threading.Thread(target=self._send, args=(request,), daemon=True)
        self.reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self):
        self.sender.start()
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.client.socket.close()

    def _send(self, request):
        try:
            self.client.socket.sendall(request)
        except OSError:
            pass  # closed: the reader sees it too

    def _read(self):
        tail = b""
        room = bytearray(RECEIVED_AT_ONCE)
        try:
            while not tail.endswith(LAST):
                count = self.client.socket.recv_into(room)
                if count == 0:
                    break
                tail = (tail + bytes(room[max(0, count - len(LAST)):count]))[-len(LAST):]
        except OSError:
            pass
        self.over.set()


def encode_words(words):
    """As resp.encode, of bytes or text."""
    if all(isinstance(word, str) for word in words):
        return encode(words)
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts += [b"$%d\r\n" % len(data), data, b"\r\n"]
    return b"".join(parts)


def _made(commands):
    return commands() if callable(commands) else commands
