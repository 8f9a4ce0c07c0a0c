"""An element handed to a client that waits for it: server CPU per hand-over. System calls rule here."""
from dataclasses import dataclass

from .report import paired
from .resp import Client, encode
from .rounds import on_both
from .servers import Failure

QUEUE = "queue"


@dataclass(frozen=True)
class HandOver:
    """Consumers in BLPOP; the one that came first gets what is pushed, and waits again."""
    name: str
    consumers: int
    messages: int
    bar: float

    def run(self, bench):
        ours, theirs = on_both(bench, self.name, lambda target: self._round(bench, target))
        yield paired(self.name, "µs/msg", ours, theirs, bar=self.bar,
                     note=f"{self.consumers} consumers wait, one message at a time")

    def _round(self, bench, target):
        """µs of CPU a message, from its push to the next BLPOP."""
        wait = encode(["BLPOP", QUEUE, 0])
        consumers = [Client(target.port) for _ in range(self.consumers)]
        producer = Client(target.port)
        for consumer in consumers:
            consumer.socket.sendall(wait)
            while int(producer.info("clients")["blocked_clients"]) <= consumers.index(consumer):
                pass
        messages = bench.scaled(self.messages)
        before = target.cpu()
        for number in range(messages):
            producer.call("RPUSH", QUEUE, number)
            consumer = consumers[number % len(consumers)]
            if consumer.read() != [QUEUE.encode(), str(number).encode()]:
                raise Failure("a message went to another consumer")
            consumer.socket.sendall(wait)
        cost = target.cpu_since(before)[0] / messages
        for client in (*consumers, producer):
            client.close()
        return cost
