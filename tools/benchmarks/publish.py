"""PUBLISH to many subscribers: server CPU per message, delivery included. System calls rule here."""
import selectors
import threading
from dataclasses import dataclass

from .report import paired
from .resp import Client, encode
from .rounds import on_both
from .servers import Failure

CHANNEL = "news"
PATIENCE_SECONDS = 60


class Audience(threading.Thread):
    """Reads what the subscribers get until each has had `bytes_due`."""

    def __init__(self, subscribers, bytes_due):
        super().__init__(daemon=True)
        self._due = {subscriber: bytes_due for subscriber in subscribers}
        self.missing = len(subscribers)

    def run(self):
        with selectors.DefaultSelector() as selector:
            for subscriber in self._due:
                selector.register(subscriber.socket, selectors.EVENT_READ, subscriber)
            while self.missing:
                ready = selector.select(PATIENCE_SECONDS)
                if not ready:
                    return
                for key, _ in ready:
                    self._due[key.data] -= len(key.data.socket.recv(1 << 18))
                    if self._due[key.data] <= 0:
                        selector.unregister(key.fileobj)
                        self.missing -= 1


@dataclass(frozen=True)
class Publish:
    name: str
    subscribers: int
    messages: int
    payload_bytes: int
    bar: float

    def run(self, bench):
        ours, theirs = on_both(bench, self.name, lambda target: self._round(bench, target))
        yield paired(self.name, "µs/msg", ours, theirs, bar=self.bar,
                     note=f"{self.subscribers} subscribers, one message at a time")

    def _round(self, bench, target):
        """µs of CPU a message."""
        subscribers = [Client(target.port) for _ in range(self.subscribers)]
        for subscriber in subscribers:
            subscriber.call("SUBSCRIBE", CHANNEL)
        payload = "x" * self.payload_bytes
        messages = bench.scaled(self.messages)
        one = len(encode(["message", CHANNEL, payload]))
        audience = Audience(subscribers, one * messages)
        audience.start()
        publisher = Client(target.port)
        before = target.cpu()
        for _ in range(messages):
            if publisher.call("PUBLISH", CHANNEL, payload) != self.subscribers:
                raise Failure("a subscriber was lost")
        audience.join()
        if audience.missing:
            raise Failure(f"{audience.missing} subscribers did not get all messages")
        cost = target.cpu_since(before)[0] / messages
        for client in (*subscribers, publisher):
            client.close()
        return cost
