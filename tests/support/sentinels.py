"""A master with its replicas, behind stock redis-sentinels. Each server is reached through a proxy of its own, which
can be cut, and tells the port of that (replica-announce-port): a server whose proxy is cut is alone in the world.

  with Group(SLUICE) as group:
      group.leader().server.process.kill()
      group.failed_over()
"""
import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import wire
from server import REDIS, Server, die_with_parent, free_port
from smoke import info, until

NAME = "mymaster"
SENTINELS = 3
QUORUM = 2
# So fast do these Sentinels notice and act, in ms: as an operator sets it, and as only SENTINEL DEBUG does. A replica is
# passed over where its INFO, which comes once a second, is older than five ping-periods.
DOWN_AFTER_MS = 800
FAST = ("info-period", 300, "ask-period", 100, "publish-period", 200, "ping-period", 300, "slave-reconf-timeout", 2000,
        "election-timeout", 2000)
CHUNK = 1 << 16


class Proxy:
    """Passes on what comes to `port`, until it is cut: then nothing goes through, and who connects hears nothing."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.is_cut = False
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.port = free_port()
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        self.pairs = {}  # both ends of each connection: the one leads to the other
        self.waking, self.woken = socket.socketpair()
        threading.Thread(target=self.serve, daemon=True).start()

    def cut(self):
        self.is_cut = True
        self.waking.send(b"x")

    def mend(self):
        """What was open is not: as behind a time-out."""
        self.is_cut = False
        self.waking.send(b"x")

    def serve(self):
        was_cut = False
        while self.listener.fileno() >= 0:
            watched = [self.woken] if self.is_cut else [self.woken, self.listener, *self.pairs]
            try:
                ready, _, _ = select.select(watched, [], [], 1)
            except (OSError, ValueError):
                break
            if was_cut and not self.is_cut:
                for one in list(self.pairs):
                    self.drop(one)
            was_cut = self.is_cut
            for one in ready:
                if one is self.woken:
                    self.woken.recv(CHUNK)
                elif one is self.listener:
                    self.take()
                elif one in self.pairs and not self.is_cut:
                    self.pass_on(one)
        for one in list(self.pairs):
            self.drop(one)

    def take(self):
        with contextlib.suppress(OSError):
            come, _ = self.listener.accept()
            try:
                there = socket.create_connection(("127.0.0.1", self.target_port), 2)
            except OSError:
                return come.close()
            self.pairs[come], self.pairs[there] = there, come
        return None

    def pass_on(self, one):
        try:
            data = one.recv(CHUNK)
            if data:
                return self.pairs[one].sendall(data)
        except OSError:
            pass
        return self.drop(one)

    def drop(self, one):
        other = self.pairs.pop(one, None)
        if other is not None:
            self.pairs.pop(other, None)
            other.close()
        one.close()

    def close(self):
        self.listener.close()
        self.waking.close()


class Member:
    """A server of a group, as it is reached: by itself and by all others."""

    def __init__(self, program, options):
        self.server = Server(program, options, tcp=True, file=True)
        self.proxy = Proxy(self.server.port)
        self.ask("CONFIG", "SET", "replica-announce-port", self.proxy.port)
        self.ask("CONFIG", "REWRITE")

    @property
    def port(self):
        return self.proxy.port

    def ask(self, *request, timeout=5):
        """None: it does not answer."""
        try:
            connection = wire.Connection(self.server.connect(timeout))
        except OSError:
            return None
        try:
            return connection.call(*request, timeout=timeout)
        except (OSError, EOFError):
            return None
        finally:
            connection.close()

    def info(self, section="replication"):
        try:
            connection = wire.Connection(self.server.connect())
        except OSError:
            return {}
        try:
            return info(connection, section)
        except (OSError, EOFError, TypeError):
            return {}
        finally:
            connection.close()

    def follows(self, leader):
        facts = self.info()
        return (facts.get(b"role") == b"slave" and facts.get(b"master_link_status") == b"up"
                and int(facts[b"master_port"]) == leader.port)

    def config_lines(self):
        return pathlib.Path(self.server.file).read_text(encoding="utf-8").splitlines()

    def stop(self):
        self.proxy.close()
        self.server.stop()


class Sentinel:
    def __init__(self, leader_port, lines=(), down_after_ms=DOWN_AFTER_MS):
        self.folder = tempfile.mkdtemp(prefix="sluice-sentinel-")
        self.port = free_port()
        self.file = os.path.join(self.folder, "sentinel.conf")
        with open(self.file, "w", encoding="utf-8") as conf:
            conf.write(f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
                       f"sentinel monitor {NAME} 127.0.0.1 {leader_port} {QUORUM}\n"
                       f"sentinel down-after-milliseconds {NAME} {down_after_ms}\n"
                       f"sentinel failover-timeout {NAME} 4000\n"
                       f"sentinel parallel-syncs {NAME} 8\n" + "".join(f"{line}\n" for line in lines))
        self.process = None
        self.start()
        until(self.is_up, "a Sentinel answers")
        self.ask("SENTINEL", "DEBUG", *FAST)

    def start(self):
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen([str(REDIS), self.file, "--sentinel"], stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output, preexec_fn=die_with_parent)

    def is_up(self):
        return self.ask("PING") == ("+", b"PONG")

    def ask(self, *request):
        try:
            connection = wire.Connection(socket.create_connection(("127.0.0.1", self.port), 5))
        except OSError:
            return None
        try:
            return connection.call(*request, timeout=5)
        finally:
            connection.close()

    def leader_port(self):
        answer = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        return int(answer[1][1][1]) if answer and answer[0] == "*" else 0

    def fields(self):
        """Of the master, as it sees it."""
        answer = self.ask("SENTINEL", "MASTER", NAME)
        words = [value for _, value in answer[1]] if answer and answer[0] in "*%" else []
        return dict(zip(words[::2], words[1::2]))

    def output(self):
        return pathlib.Path(self.folder, "output").read_text(encoding="utf-8", errors="replace")

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Group:
    """programs: the first is the master, all others follow it. options: of each server, or by its number.
    sentinel_lines: for each Sentinel's configuration."""

    OPTIONS = ("--repl-diskless-sync-delay", "0", "--repl-timeout", "10", "--repl-backlog-size", "16mb")

    def __init__(self, *programs, options=(), sentinel_lines=(), down_after_ms=DOWN_AFTER_MS):
        self.members, self.sentinels = [], []
        try:
            for number, program in enumerate(programs):
                given = options(number) if callable(options) else options
                self.members.append(Member(program, (*self.OPTIONS, *given)))
            first = self.members[0]
            for member in self.members[1:]:
                member.ask("REPLICAOF", "127.0.0.1", first.port)
                until(lambda: member.follows(first), "it follows")  # noqa: B023
            self.sentinels = [Sentinel(first.port, sentinel_lines, down_after_ms) for _ in range(SENTINELS)]
            until(self.is_known, "the Sentinels know all")
        except BaseException:
            self.stop()
            raise

    def is_known(self):
        wanted = {b"num-slaves": len(self.members) - 1, b"num-other-sentinels": SENTINELS - 1}
        return all(int(fields.get(name, -1)) == count
                   for fields in [sentinel.fields() for sentinel in self.sentinels] for name, count in wanted.items())

    def leader(self):
        """As the Sentinels name it, where they agree; None: they do not."""
        ports = {sentinel.leader_port() for sentinel in self.sentinels}
        named = [member for member in self.members if {member.port} == ports]
        return named[0] if named else None

    def is_led(self):
        leader = self.leader()
        return leader is not None and leader.info().get(b"role") == b"master"

    def followers(self, leader):
        return [member for member in self.members if member is not leader]

    def is_settled(self):
        """All servers are up and in the role that they are to have, and no Sentinel is at work: one whose failover has not
        ended waits for its new master, and agrees to no other."""
        leader = self.leader()
        return (leader is not None and leader.info().get(b"role") == b"master"
                and all(sentinel.fields().get(b"flags") == b"master" for sentinel in self.sentinels)
                and all(member.follows(leader) for member in self.followers(leader)))

    def failed_over(self, old):
        """The Sentinels have agreed on another master, which is one by its own word. Returns it."""
        self.until(lambda: self.leader() not in (None, old) and self.is_led(), "another one is the master")
        return self.leader()

    def settle(self):
        self.until(self.is_settled, "all have their roles")

    def until(self, condition, what):
        """Tells all that is known where it does not come about."""
        try:
            until(condition, what)
        except AssertionError:
            for member in self.members:
                print(member.port, member.info(), member.server.output()[-6000:])
            for sentinel in self.sentinels:
                print(sentinel.output()[-3000:])
            raise

    def full_syncs(self):
        return {member.port: int(member.info("stats").get(b"sync_full", 0)) for member in self.members}

    def stop(self):
        for one in [*self.sentinels, *self.members]:
            one.stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def seconds_since(begin):
    return time.monotonic() - begin


# --- harm: what each returns mends it

def kill(member):
    member.server.kill()
    return member.server.start


def pause(member):
    member.server.process.send_signal(signal.SIGSTOP)
    return lambda: member.server.process.send_signal(signal.SIGCONT)


def cut_off(member):
    member.proxy.cut()
    return member.proxy.mend
