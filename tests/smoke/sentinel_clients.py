#!/usr/bin/python3
"""Clients that know Sentinel, while their master is killed: each goes on soon after the Sentinels have agreed on another
one, and no write that a replica had is lost.

  sentinel_clients.py [--server program] [--kills 2] [--client ioredis-5 ...]

--kills 10: as by hand. A client is a program of tests/clients that is given its name and the ports of the Sentinels. It
writes a number that grows, waits for a replica to have it (WAIT), prints it, and goes on whatever happens.
"""
import argparse
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from sentinels import Group  # noqa: E402
from server import SLUICE, die_with_parent  # noqa: E402
from smoke import until  # noqa: E402

CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "clients"
NODE = ("node", CLIENTS / "sentinel_node.js")
PROGRAMS = {
    "ioredis": NODE, "ioredis-5": NODE, "redis": NODE, "redis-5": NODE, "redis-semaphore": NODE,
    "rate-limiter-flexible": NODE,
    "redis-py": ("/usr/bin/python3", CLIENTS / "sentinel_redis_py.py"),
    "redis-rb": ("ruby", CLIENTS / "sentinel_ruby.rb"),
    "sidekiq": ("ruby", CLIENTS / "sentinel_ruby.rb"),
}
SKIPPED = 77
# Behind the Sentinels' agreement. A client that looks for itself what has become of its master adds its own pause.
GOES_ON_SECONDS = 1
BUSY_MACHINE_SECONDS = 4


class Client:
    def __init__(self, name, group):
        self.name = name
        words = [*map(str, PROGRAMS[name]), name, *[str(sentinel.port) for sentinel in group.sentinels]]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, preexec_fn=die_with_parent, text=True)
        self.had, self.had_at, self.lines = 0, 0, []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.had, self.had_at = int(line), time.monotonic()
            else:
                self.lines.append(line)

    def stop(self):
        self.process.kill()
        self.process.wait()


def kill_master(group, client):
    """Seconds between the Sentinels' agreement and the client's next write."""
    until(group.is_settled, "all are well")
    had = client.had
    until(lambda: client.had > had + 3, f"{client.name} writes")
    old = group.leader()
    old.server.kill()
    had = client.had
    leader = group.failed_over(old)
    agreed = time.monotonic()
    value = leader.ask("GET", "count")[1]
    assert client.name in ("redis-semaphore", "rate-limiter-flexible", "sidekiq") or int(value) >= had, (value, had)
    now = client.had
    until(lambda: client.had > now, f"{client.name} goes on")
    took = client.had_at - agreed
    old.server.start()
    return took


def play(name, program, kills):
    options = ("--appendonly", "yes", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10")
    with Group(program, program, program, options=options) as group:
        client = Client(name, group)
        try:
            until(lambda: client.had > 0 or client.process.poll() is not None, f"{name} writes")
            if client.process.poll() == SKIPPED:
                return print(f"{name}: skipped: {''.join(client.lines).strip()}", flush=True)
            longest = max(kill_master(group, client) for _ in range(kills))
            assert longest < GOES_ON_SECONDS + BUSY_MACHINE_SECONDS, f"{name} has taken {longest:.1f} s"
            print(f"{name}: ok, {client.had} writes, goes on after {longest:.2f} s at most", flush=True)
        except BaseException:
            print(name, client.had, *client.lines[-20:], *[member.server.output(2000) for member in group.members])
            raise
        finally:
            client.stop()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--client", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    chosen = parser.parse_args()
    for name in chosen.client:
        play(name, chosen.server, chosen.kills)


if __name__ == "__main__":
    main()
