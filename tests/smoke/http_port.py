#!/usr/bin/python3
"""The HTTP port of the real binary: metrics, readiness, who is let in; and what a peer may do to it while
clients of the other ports are served.

  http_port.py [--server program] [name ...]     names: those of the functions test_*
"""
import base64
import contextlib
import http.client
import os

import pathlib
import re
import shutil
import socket
import ssl
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from authority import Authority  # noqa: E402
from server import free_port  # noqa: E402
from smoke import MIB, PATIENCE, Checked, client, run_tests, until  # noqa: E402

CONNECTIONS_MAX = 64  # HttpPlacesOf(HttpKind::kNew)
GUESSES_OF_ONE_MAX = 8  # Guesses::kOfOneMax
BYTES_MAX = 200_000   # of a scrape
TURN_MAX_US = 1000


class WithHttp(Checked):
    """A server with an HTTP port, `port`."""

    def __init__(self, *options, **named):
        self.port = free_port()
        super().__init__("--http-port", self.port, *options, **named)

    def get(self, path, method="GET", host=None, password=None, body=None, **headers):
        """Status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        if host is not None:
            headers["Host"] = host
        if password is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()

    def value(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics")[2], re.M)
        assert found, f"no {name}"
        return float(found.group(1))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def __enter__(self):
        super().__enter__()
        return self


def all_of(sock):
    """What comes until the end, or a reset."""
    text = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            text += piece
    return text


def status_of(text):
    return int(text.split(b" ", 2)[1]) if text.startswith(b"HTTP/1.1 ") else None


# --- what it tells

def test_pages():
    with WithHttp() as it:
        assert it.get("/healthz")[::2] == (200, "alive\n")
        assert it.get("/readyz")[::2] == (200, "ready\n")
        status, headers, text = it.get("/metrics")
        assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
        assert "\nredis_up 1\n" in text and "# EOF" not in text
        status, headers, text = it.get("/metrics", Accept="application/openmetrics-text;version=1.0.0,*/*;q=0.1")
        assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
        assert text.endswith("# EOF\n") and "\n# TYPE redis_commands_processed counter\n" in text
        assert it.get("/metrics", method="HEAD")[::2] == (200, "")
        assert it.get("/metrics?from=a&to=b")[0] == 200
        assert it.get("/nothing")[0] == 404 and it.get("/metrics", method="POST", body="x")[0] == 405


def test_figures_are_those_of_the_server():
    with WithHttp() as it:
        one = client(it.server)
        for words in (("SET", "a", "1"), ("SET", "b", "1", "PX", "100000"), ("GET", "a"), ("GET", "none"),
                      ("HSET", "a", "f", "v"), ("LOCK.ACQUIRE", "l", "me", "LEASE", "60000"),
                      ("LIMIT.POLICY", "SET", 'a"b\\c\nd', "WINDOW", "1", "60000"),
                      ("LIMIT.TAKE", "k", "POLICY", 'a"b\\c\nd'), ("LIMIT.TAKE", "k", "POLICY", 'a"b\\c\nd'),
                      ("LIMIT.ALL", "1", "k2", "POLICY", 'a"b\\c\nd', "1")):
            one.call(*words)
        for name, value in {"redis_connected_clients": 1, 'redis_db_keys{db="db0"}': 5,
                            'redis_db_keys_expiring{db="db0"}': 3, "redis_keyspace_hits_total": 1,
                            "redis_keyspace_misses_total": 1, 'redis_errors_total{err="WRONGTYPE"}': 1,
                            'redis_commands_total{cmd="set"}': 2, "sluice_locks_held": 1,
                            'redis_commands_failed_calls_total{cmd="hset"}': 1, "sluice_ready": 1,
                            "sluice_locks_granted_total": 1, "sluice_limit_policies": 1,
                            'sluice_limit_decisions_total{algorithm="window",decision="taken"}': 2,
                            r'sluice_limit_policy_decisions_total{policy="a\"b\\c\nd",decision="taken"}': 2,
                            r'sluice_limit_policy_decisions_total{policy="a\"b\\c\nd",decision="refused"}': 1
                            }.items():
            assert it.value(name) == value, (name, it.value(name), value)
        assert it.value("sluice_turn_seconds_count") >= 10


def test_hand_over_is_measured():
    with WithHttp("--metrics-prefixes", "k l") as it:
        holder, waiter = client(it.server), client(it.server)
        holder.call("LOCK.ACQUIRE", "l", "one", "LEASE", "60000")
        waiter.send(b"LOCK.ACQUIRE l two LEASE 60000 WAIT 60000\r\n")
        until(lambda: it.value("sluice_lock_waiters") == 1, "somebody waits")
        holder.call("LOCK.RELEASE", "l", "one")
        assert waiter.replies(1)[0].startswith(b"*")
        assert it.value("sluice_lock_hand_over_seconds_count") == 1
        assert it.value("sluice_locks_handed_over_total") == 1
        assert it.value("sluice_lock_wait_seconds_count") == 1
        waited = it.value('sluice_lock_prefix_wait_seconds_sum{prefix="l"}')
        assert 0 <= waited == it.value("sluice_lock_wait_seconds_sum") < 60


def test_not_ready_while_nothing_can_be_saved():
    with WithHttp() as it:
        one = client(it.server)
        assert it.get("/readyz")[0] == 200
        one.call("CONFIG", "SET", "save", "1 1")
        os.mkdir(pathlib.Path(it.server.folder, "dump.rdb"))
        one.call("SET", "a", "1")
        until(lambda: it.get("/readyz")[0] == 503, "it is not ready")
        assert "snapshots are to be saved, and cannot be" in it.get("/readyz")[2]
        assert it.get("/healthz")[0] == 200 and it.value("sluice_ready") == 0
        one.call("CONFIG", "SET", "save", "")


def test_not_ready_while_the_log_is_behind():
    """The log is synced once a second: a lag of a byte is too much, until it is."""
    with WithHttp("--appendonly", "yes", "--ready-log-lag-max", "1") as it:
        one = client(it.server)
        one.call("SET", "a", "1")
        status, _, text = it.get("/readyz")
        assert status == 200 or "bytes of the log wait for the disk (ready-log-lag-max 1)" in text, text
        until(lambda: it.get("/readyz")[0] == 200, "the log is on disk")
        assert it.value("sluice_log_lag_bytes") == 0 and it.value("sluice_log_sync_seconds_count") >= 1


def test_scrape_is_small_and_short():
    """A million keys, 10,000 locks, 10,000 policies: no turn above 1 ms, at most 200 KB."""
    with WithHttp(grow=600 * MIB) as it:
        one = client(it.server)
        one.call("DEBUG", "POPULATE", "1000000")
        for what in (lambda i: f"LOCK.ACQUIRE l{i} me LEASE 600000",
                     lambda i: f"LIMIT.POLICY SET {'p' * 200}{i} WINDOW 1 60000",
                     lambda i: f"LIMIT.TAKE k{i} POLICY {'p' * 200}{i}"):
            for at in range(0, 10_000, 1000):
                one.send("".join(what(i) + "\r\n" for i in range(at, at + 1000)).encode())
                assert not any(raw.startswith(b"-") for raw in one.replies(1000))
        one.call("CONFIG", "RESETSTAT")
        one.send("".join(f"LIMIT.TAKE k{i} POLICY {'p' * 200}{i}\r\n" for i in range(10_000)).encode())
        one.replies(10_000)
        text = ""
        for _ in range(50):
            text = it.get("/metrics")[2]
        assert 'redis_db_keys{db="db0"} 1020000\n' in text and "sluice_locks_held 10000\n" in text
        assert len(text) < BYTES_MAX, len(text)
        mean_us = it.value("sluice_http_page_seconds_sum") / it.value("sluice_http_page_seconds_count") * 1e6
        print(f"  {len(text)} bytes, {mean_us:.0f} µs a page")


# --- who is let in

def test_names():
    """A page elsewhere whose name was made to lead here (DNS rebinding) is refused."""
    with WithHttp("--http-hosts", "metrics.internal") as it:
        for host in ("127.0.0.1", f"127.0.0.1:{it.port}", "localhost:1", "[::1]:80", "LOCALHOST", "metrics.internal",
                     "metrics.internal:9121"):
            assert it.get("/metrics", host=host)[0] == 200, host
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "metrics.internal.",
                     "127.0.0.1@evil", "localhost:x", "[::1].evil"):
            expected = 200 if host == "metrics.internal." else 421
            assert it.get("/healthz", host=host)[0] == expected, host
        with it.connect() as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert status_of(all_of(sock)) == 400
        with it.connect() as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
            assert status_of(all_of(sock)) == 400


def test_password():
    with WithHttp("--http-password", "se:cret") as it:
        assert it.get("/healthz")[0] == it.get("/readyz")[0] == 200
        status, headers, _ = it.get("/metrics")
        assert status == 401 and headers["WWW-Authenticate"].startswith("Basic ")
        assert headers["Connection"] == "close"
        assert it.get("/metrics", password="wrong")[0] == 401
        assert it.get("/metrics", password="se:cret")[0] == 200
        assert it.get("/metrics", Authorization="Bearer se:cret")[0] == 200
        for wrong in ("Basic", "Basic !!!!", "Basic YQ==", "Bearer", "Digest se:cret", "Basic " + "A" * 4000):
            assert it.get("/metrics", Authorization=wrong)[0] == 401, wrong
        one = client(it.server)
        one.call("CONFIG", "SET", "http-password", "another")
        assert it.get("/metrics", password="se:cret")[0] == 401
        assert it.get("/metrics", password="another")[0] == 200


def test_tls():
    folder = tempfile.mkdtemp(prefix="sluice-http-")
    try:
        authority = Authority(folder)
        certificate, key = authority.issue("server", "localhost")
        own, own_key = authority.issue("client", "prometheus")
        with WithHttp("--http-tls", "yes", "--tls-cert-file", certificate, "--tls-key-file", key,
                      "--tls-ca-cert-file", authority.certificate, "--tls-auth-clients", "optional",
                      "--http-password", "secret") as it:
            def status(path, with_certificate):
                context = ssl.create_default_context(cafile=str(authority.certificate))
                if with_certificate:
                    context.load_cert_chain(own, own_key)
                asking = http.client.HTTPSConnection("localhost", it.port, context=context, timeout=PATIENCE)
                with contextlib.closing(asking):
                    asking.request("GET", path)
                    return asking.getresponse().status
            assert status("/metrics", True) == 200
            assert status("/metrics", False) == 401
            assert status("/healthz", False) == 200
            with it.connect() as sock:
                sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert status_of(all_of(sock)) is None  # not without TLS
            for _ in range(3):
                assert status("/metrics", True) == 200
    finally:
        shutil.rmtree(folder)


def test_off_by_default():
    with Checked() as server:
        assert client(server).call("CONFIG", "GET", "http-port")[1][1] == ("$", b"0")


# --- bad input

def test_garbage():
    with WithHttp() as it:
        for bad, status in ((b"\x00\x01\x02\xff" * 100, 400), (b"GET\r\n\r\n", 400), (b"PING\r\n", 400),
                            (b"GET / HTTP/9.9\r\n\r\n", 400), (b"GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                            (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000, 431),
                            (b"GET /" + b"a" * 20_000, 431),
                            (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 3000, 431),
                            (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", 413),
                            (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
                            (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
                            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200, 400)):
            with it.connect() as sock:
                with contextlib.suppress(ConnectionError):
                    sock.sendall(bad)
                    sock.shutdown(socket.SHUT_WR)
                text = all_of(sock)
                assert status_of(text) == status, (bad[:60], text[:100])


def test_paths_lead_nowhere():
    with WithHttp() as it:
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/metrics/..", "//metrics", "/metrics%00",
                     "/./metrics", "/METRICS", "/<script>alert(1)</script>"):
            status, headers, text = it.get(path)
            assert status == 404 and "script" not in text and headers["Content-Type"].startswith("text/plain"), path


def test_pipelined():
    """Each is answered, in order; garbage behind them ends the connection."""
    with WithHttp() as it:
        with it.connect() as sock:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50 + b"garbage\r\n\r\n")
            text = all_of(sock)
            assert text.count(b"HTTP/1.1 200 OK") == 50 and text.count(b"HTTP/1.1 400") == 1
        with it.connect() as sock:  # half a request, then the rest
            for piece in (b"GET /hea", b"lthz HTTP/1.1\r\nHo", b"st: localhost\r\n", b"\r\n"):
                sock.sendall(piece)
                time.sleep(0.01)
            assert status_of(sock.recv(4096)) == 200


def test_answers_that_nobody_reads():
    with WithHttp() as it:
        socks = [it.connect() for _ in range(20)]
        for sock in socks:
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(200):
                    sock.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        assert it.get("/healthz")[0] == 200
        for sock in socks:
            sock.close()


def test_a_thousand_connections():
    """The newest have their place; clients of the other port notice nothing."""
    with WithHttp(tcp=True) as it:
        one = client(it.server)
        socks = []
        for i in range(1000):
            sock = it.connect()
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: loc")
            socks.append(sock)
            if i % 100 == 0:
                assert one.call("PING") == ("+", b"PONG")
        assert it.get("/healthz")[0] == 200
        assert it.value("sluice_http_closed_early_total") >= 1000 - CONNECTIONS_MAX
        worst = 0
        for _ in range(200):
            begun = time.monotonic()
            assert one.call("PING") == ("+", b"PONG")
            worst = max(worst, time.monotonic() - begun)
        print(f"  slowest PING beside them: {worst * 1e3:.1f} ms")
        for sock in socks:
            sock.close()


@contextlib.contextmanager
def crowd(connect, count, said=b""):
    """So many that say this and read nothing."""
    socks = [connect() for _ in range(count)]
    for sock in socks:
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.sendall(said)
    try:
        yield socks
    finally:
        for sock in socks:
            sock.close()


def test_silent_strangers_shut_nobody_out():
    """On the HTTPS port: as many as have places and more, then 20 new ones each 0.1 s. Whoever goes on is let in."""
    folder = tempfile.mkdtemp(prefix="sluice-http-")
    try:
        authority = Authority(folder)
        certificate, key = authority.issue("server", "localhost")
        with WithHttp("--http-tls", "yes", "--tls-cert-file", certificate, "--tls-key-file", key,
                      "--tls-auth-clients", "no") as it:
            context = ssl.create_default_context(cafile=str(authority.certificate))

            def asked(path, kept=None):
                asking = kept or http.client.HTTPSConnection("localhost", it.port, context=context, timeout=PATIENCE)
                asking.request("GET", path)
                answer = asking.getresponse()
                answer.read()
                return answer.status, asking
            status, kept = asked("/metrics")
            assert status == 200
            with crowd(it.connect, 2 * CONNECTIONS_MAX):
                assert asked("/healthz")[0] == 200
                more = []
                for _ in range(20):
                    more += [it.connect() for _ in range(20)]
                    assert asked("/readyz")[0] == 200
                    time.sleep(0.05)
                assert asked("/metrics", kept)[0] == 200, "it works, and so has kept its place"
                for sock in more:
                    sock.close()
    finally:
        shutil.rmtree(folder)


def test_those_who_do_not_read_shut_nobody_out():
    """As many as have places of any kind, with answers that wait."""
    with WithHttp() as it:
        for path in (b"/metrics", b"/api/overview", b"/healthz"):
            request = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path
            with crowd(it.connect, 2 * CONNECTIONS_MAX, request * 2000):
                for asked in ("/healthz", "/readyz", "/metrics", "/api/overview"):
                    assert it.get(asked)[0] == 200, (path, asked)


def test_probes_have_places_of_their_own():
    """Whoever asks for pages again and again takes none of theirs."""
    with WithHttp() as it:
        probe = http.client.HTTPConnection("127.0.0.1", it.port, timeout=PATIENCE)
        probe.connect()
        mine = probe.sock
        for _ in range(3):
            probe.request("GET", "/readyz")
            assert probe.getresponse().read() == b"ready\n"
            with crowd(it.connect, 2 * CONNECTIONS_MAX, b"GET /api/overview HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                probe.request("GET", "/readyz")
                assert probe.getresponse().read() == b"ready\n" and probe.sock is mine


def test_guesses_take_their_time():
    """With failed-login-delay: of one machine so many in a delay, by however many connections, and whether or not
    they stay for the answer. A right password, and probes, are not kept waiting by one that was wrong."""
    with WithHttp("--http-password", "secret", "--failed-login-delay", "400") as it:
        begun = time.monotonic()
        assert it.get("/metrics", password="wrong")[0] == 401
        assert time.monotonic() - begun >= 0.4
        wrong = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic eDp3cm9uZw==\r\n\r\n"
        with it.connect() as sock:
            sock.sendall(wrong)
            assert it.get("/metrics", password="secret")[0] == it.get("/healthz")[0] == 200
            assert status_of(all_of(sock)) == 401
        begun = time.monotonic()
        socks = [it.connect() for _ in range(3 * GUESSES_OF_ONE_MAX)]
        for sock in socks:
            sock.sendall(wrong)
        assert it.get("/healthz")[0] == 200
        for sock in socks:
            assert status_of(all_of(sock)) == 401
            sock.close()
        assert time.monotonic() - begun >= 3 * 0.4, "they were judged at once"
        with crowd(it.connect, GUESSES_OF_ONE_MAX, wrong):
            until(lambda: it.get("/healthz")[0] == 200, "they have come")
        begun = time.monotonic()
        assert it.get("/metrics", password="wrong")[0] == 401
        assert time.monotonic() - begun >= 0.5, "those who left counted no more"


def test_slow_requests_end():
    """A byte a second is no request: ten seconds, and it is told so."""
    with WithHttp() as it:
        with it.connect() as sock:
            begun = time.monotonic()
            sock.sendall(b"GET /metrics HTTP/1.1\r\n")
            sock.settimeout(0.5)
            text = b""
            while time.monotonic() - begun < PATIENCE:
                try:
                    piece = sock.recv(4096)
                    if not piece:
                        break
                    text += piece
                except TimeoutError:
                    with contextlib.suppress(OSError):
                        sock.sendall(b"X")
                except ConnectionError:
                    break
            assert time.monotonic() - begun < PATIENCE, "it is still open"
            assert text == b"" or status_of(text) == 408, text


def test_served_while_a_script_runs():
    with WithHttp("--busy-reply-threshold", "10") as it:
        one = client(it.server)
        one.send(b'EVAL "while true do end" 0\r\n')
        until(lambda: client(it.server).call("PING")[1].startswith(b"BUSY"), "the script is slow")
        assert it.get("/healthz")[0] == it.get("/metrics")[0] == 200
        client(it.server).call("SCRIPT", "KILL")
        assert one.replies(1)[0].startswith(b"-")


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
