#!/usr/bin/python3
"""Balancers from Debian in front of Sluices, with a failover in the middle: haproxy that asks for the role by INFO or by
GET /leader and GET /replica, nutcracker in front of two pairs, nginx as a stream proxy; and a Redlock library over five
servers of which two are killed.

  balancers.py [--server program] [test ...]
"""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import Server, die_with_parent, free_port  # noqa: E402
from smoke import Chosen, Skip, client, info, run_tests, until  # noqa: E402

CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "clients"


def need(program):
    found = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    if not found:
        raise Skip(f"{program} is not installed")
    return found


class Pair:
    """A master and its replica, which answer HTTP as well."""

    def __init__(self):
        self.servers = []
        for number in range(2):
            follows = ("--replicaof", f"127.0.0.1 {self.servers[0].port}") if number else ()
            http = free_port()
            server = Server(Chosen.program, ("--http-port", http, "--repl-diskless-sync-delay", "0", *follows), tcp=True)
            server.http = http
            self.servers.append(server)
        until(lambda: info(client(self.servers[1]), "replication")[b"master_link_status"] == b"up", "it follows")

    def fail_over(self):
        """The master is killed, the replica promoted; then the old one comes back, and follows."""
        old, new = self.servers
        old.kill()
        assert client(new).call("REPLICAOF", "NO", "ONE") == ("+", b"OK")
        self.servers.reverse()
        return lambda: (old.start(), client(old).call("REPLICAOF", "127.0.0.1", new.port))

    def stop(self):
        for server in self.servers:
            server.stop()


@contextlib.contextmanager
def running(name, configuration, *words):
    """A balancer, with its configuration in a file; {folder} and {file} are replaced."""
    program = need(name)
    folder = tempfile.mkdtemp(prefix="sluice-balancer-")
    file = os.path.join(folder, "configuration")
    pathlib.Path(file).write_text(configuration.replace("{folder}", folder), encoding="utf-8")
    with open(os.path.join(folder, "output"), "wb") as output:
        process = subprocess.Popen([program, *[word.format(file=file, folder=folder) for word in words]],
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=die_with_parent)
    try:
        yield process
    except AssertionError:
        print(pathlib.Path(folder, "output").read_text(encoding="utf-8", errors="replace")[-3000:])
        raise
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def call(port, *request):
    """As a client that connects anew each time; null: nobody answers."""
    try:
        connection = wire.Connection(socket.create_connection(("127.0.0.1", port), 5))
    except OSError:
        return None
    try:
        return connection.call(*request, timeout=5)
    except (OSError, EOFError):
        return None
    finally:
        connection.close()


def is_written(port, key, value):
    return call(port, "SET", key, value) == ("+", b"OK")


HAPROXY = """
global
  maxconn 200
defaults
  mode tcp
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  default-server inter 100ms fall 1 rise 1 on-marked-down shutdown-sessions
"""
BY_INFO = """
listen {name}
  bind 127.0.0.1:{port}
  option tcp-check
  tcp-check send PING\\r\\n
  tcp-check expect string +PONG
  tcp-check send info\\ replication\\r\\n
  tcp-check expect string role:master
  tcp-check send QUIT\\r\\n
  tcp-check expect string +OK
"""
BY_PAGE = """
listen {name}
  bind 127.0.0.1:{port}
  option httpchk
  http-check send meth GET uri {page} ver HTTP/1.1 hdr Host 127.0.0.1
  http-check expect status 200
"""


def by_info(name, port, pair):
    return BY_INFO.format(name=name, port=port) + "".join(
        f"  server s{number} 127.0.0.1:{server.port} check\n" for number, server in enumerate(pair.servers))


def by_page(name, port, page, pair):
    return BY_PAGE.format(name=name, port=port, page=page) + "".join(
        f"  server s{number} 127.0.0.1:{server.port} check port {server.http}\n"
        for number, server in enumerate(pair.servers))


def test_haproxy_finds_the_master_and_fresh_replicas():
    pair = Pair()
    try:
        told, asked, read = free_port(), free_port(), free_port()
        configuration = (HAPROXY + by_info("told", told, pair) + by_page("asked", asked, "/leader", pair)
                         + by_page("read", read, "/replica?max_lag_ms=10000", pair))
        with running("haproxy", configuration, "-db", "-f", "{file}"):
            for port in told, asked:
                # Until its first look haproxy takes each for one that leads.
                until(lambda: all(is_written(port, "key", port) for _ in range(20)), "all is written")  # noqa: B023
            until(lambda: call(read, "GET", "key") == ("$", str(asked).encode()), "it is read from the replica")
            assert call(read, "SET", "key", "x")[1].startswith(b"READONLY")
            mend = pair.fail_over()
            for port in told, asked:
                until(lambda: is_written(port, "key", f"after {port}"), "it is written again")  # noqa: B023
            mend()
            until(lambda: call(read, "GET", "key") == ("$", f"after {asked}".encode()), "the old one is read")
            assert call(read, "ROLE")[1][0] == ("$", b"slave")
            assert call(told, "ROLE")[1][0] == call(asked, "ROLE")[1][0] == ("$", b"master")
            # A replica whose master is gone is too old to be read.
            pair.servers[0].kill()
            until(lambda: call(read, "GET", "key") is None, "nobody is fresh")
    finally:
        pair.stop()


NUTCRACKER = """
pool:
  listen: 127.0.0.1:{port}
  redis: true
  hash: fnv1a_64
  distribution: ketama
  timeout: 1000
  auto_eject_hosts: false
  server_retry_timeout: 100
  servers:
   - 127.0.0.1:{first}:1 first
   - 127.0.0.1:{second}:1 second
"""


def test_nutcracker_in_front_of_two_pairs():
    """Each pair behind haproxy, which knows who leads."""
    need("haproxy")
    pairs = [Pair(), Pair()]
    try:
        port, first, second = free_port(), free_port(), free_port()
        configuration = (HAPROXY + by_page("first", first, "/leader", pairs[0])
                         + by_page("second", second, "/leader", pairs[1]))
        with running("haproxy", configuration, "-db", "-f", "{file}"), \
                running("nutcracker", NUTCRACKER.format(port=port, first=first, second=second), "-c", "{file}", "-s",
                        str(free_port())):
            keys = [f"key{number}" for number in range(40)]
            for key in keys:
                until(lambda: is_written(port, key, "1"), "it is written")  # noqa: B023
            sizes = [int(client(pair.servers[0]).call("DBSIZE")[1]) for pair in pairs]
            assert sum(sizes) == len(keys) and min(sizes) > 5, sizes
            here = [key for key in keys if client(pairs[1].servers[0]).call("EXISTS", key) == (":", b"1")]
            # Limits and locks go by their key, as all else.
            assert call(port, "GET", here[0]) == ("$", b"1")
            mend = pairs[0].fail_over()
            for key in here:
                assert call(port, "GET", key) == ("$", b"1"), "the other pair is not concerned"
            for key in keys:
                until(lambda: is_written(port, key, "2"), "it is written again")  # noqa: B023
            mend()
            for pair in pairs:
                leader, follower = map(client, pair.servers)
                until(lambda: follower.call("DEBUG", "DIGEST") == leader.call("DEBUG", "DIGEST"), "equal")  # noqa: B023
    finally:
        for pair in pairs:
            pair.stop()


NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {}
stream {
  upstream sluices {
    server 127.0.0.1:FIRST max_fails=1 fail_timeout=1s;
    server 127.0.0.1:SECOND backup;
  }
  server {
    listen 127.0.0.1:PORT;
    proxy_connect_timeout 500ms;
    proxy_pass sluices;
  }
}
"""


def test_nginx_passes_on_to_the_one_that_is_there():
    if not os.path.exists("/usr/lib/nginx/modules/ngx_stream_module.so"):
        raise Skip("nginx's stream module is not installed")
    pair = Pair()
    try:
        port = free_port()
        first, second = [server.port for server in pair.servers]
        text = NGINX.replace("PORT", str(port)).replace("FIRST", str(first)).replace("SECOND", str(second))
        with running("nginx", text, "-p", "{folder}", "-c", "{file}"):
            until(lambda: is_written(port, "key", "value"), "it is written")
            connection = wire.Connection(socket.create_connection(("127.0.0.1", port), 5))
            assert connection.call("LOCK.ACQUIRE", "door", "me", "LEASE", "60000")[0] == "*"
            until(lambda: client(pair.servers[1]).call("EXISTS", "door") == (":", b"1"), "the replica has it")
            pair.fail_over()
            until(lambda: is_written(port, "key", "other"), "it is written again")
            holder = call(port, "LOCK.INFO", "door")
            assert b"me" in repr(holder).encode(), holder
    finally:
        pair.stop()


def test_redlock_over_five_of_which_two_are_killed():
    need("node")
    servers = [Server(Chosen.program, tcp=True) for _ in range(5)]
    try:
        words = ["node", str(CLIENTS / "redlock_five.js"), *[str(server.port) for server in servers]]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              preexec_fn=die_with_parent) as locks:
            def says(expected):
                line = locks.stdout.readline().strip()
                assert line == expected, (line, expected)

            def go_on():
                locks.stdin.write("\n")
                locks.stdin.flush()
            says("taken over 5")
            for server in servers[:2]:
                server.kill()
            go_on()
            says("extended, given back and taken over 3")
            servers[2].kill()
            go_on()
            says("refused over 2")
            go_on()
            assert locks.wait(20) == 0
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
