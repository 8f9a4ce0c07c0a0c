#!/usr/bin/python3
"""TLS of the real binary: who is let in, with which certificate; files that are read again; what a peer may do
to a connection; handshakes that never end. Certificates are made here, by openssl.

  tls.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import textwrap
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from authority import Authority, openssl  # noqa: E402
from server import REDIS, Server, free_port  # noqa: E402
from smoke import MIB, PATIENCE, Checked, Chosen, Skip, client, info, run_tests, until  # noqa: E402

CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "clients"
HANDSHAKE_SECONDS = 10  # Handshakes::kTimeMs
HANDSHAKES_MAX = 1000


class Files:
    """An authority, a server's certificate and a client's, for all tests of a run."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-tls-")
        self.ca = Authority(self.folder)
        self.server = self.ca.issue("server", "localhost")
        self.client = self.ca.issue("client", "somebody")

    def options(self, port, server=None):
        certificate, key = server or self.server
        return ["--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", key,
                "--tls-ca-cert-file", self.ca.certificate]

    def cli_words(self, port):
        return ["-p", str(port), "--tls", "--cacert", str(self.ca.certificate),
                "--cert", str(self.client[0]), "--key", str(self.client[1])]


files = None


class Secured(Checked):
    """A server with a TLS port and none without, beside its Unix socket."""

    def __init__(self, *options, server=None, **named):
        self.tls_port = free_port()
        super().__init__(*files.options(self.tls_port, server), *options, **named)

    def __enter__(self):
        server = super().__enter__()
        server.tls_port = self.tls_port
        return server


def context(certificate=None, version=None):
    made = ssl.create_default_context(cafile=files.ca.certificate)
    if certificate:
        made.load_cert_chain(*certificate)
    if version:
        made.minimum_version = made.maximum_version = version
    return made


def secured(server, certificate=None, version=None, made=None, session=None):
    made = made or context(certificate or files.client, version)
    plain = socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE)
    return wire.Connection(made.wrap_socket(plain, server_hostname="localhost", session=session))


def refused(server, certificate):
    """Whether a client with that certificate gets no answer. TLS 1.3 tells it only as it reads."""
    made = context()
    if certificate:
        made.load_cert_chain(*certificate)
    try:
        connection = secured(server, made=made)
        connection.send(b"PING\r\n")
        return connection.sock.recv(100) == b""
    except (ssl.SSLError, ConnectionError):
        return True


def logged(server, sentence):
    until(lambda: sentence in server.output(100_000), f"the log says: {sentence}")


# --- clients


def test_versions():
    """TLS 1.2 and 1.3, and nothing older; requests and large values arrive as they are."""
    with Secured() as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            connection = secured(server, version=version)
            assert connection.sock.version() == version.name.replace("_", "."), connection.sock.version()
            assert connection.call("PING") == ("+", b"PONG")
            value = os.urandom(8 * MIB)
            assert connection.call("SET", "big", value) == ("+", b"OK")
            assert connection.call("GET", "big") == ("$", value)
        assert int(openssl_client(server, "-tls1_1") != 0)


def openssl_client(server, *words):
    return subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}", "-CAfile", files.ca.certificate,
         "-cert", files.client[0], "-key", files.client[1], *words],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False).returncode


def test_redis_cli():
    with Secured() as server:
        for word, expected in (("PING", "PONG"), ("INFO", f"tcp_port:{server.tls_port}")):
            said = subprocess.run(["redis-cli", *files.cli_words(server.tls_port), word],
                                  capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
            assert expected in said, said
        if Chosen.emulated:
            return  # fifty handshakes at once take an emulator longer than they may
        done = subprocess.run(["redis-benchmark", *files.cli_words(server.tls_port), "-q", "-n", "20000",
                               "-P", "16", "-t", "set,get,lrange_100"], capture_output=True, text=True,
                              timeout=PATIENCE, check=True)
        assert "requests per second" in done.stdout, done.stdout


def test_programs_that_ask():
    """sluice --ping, top and --backup: with a certificate that is for the name, and from an authority that they know."""
    with Secured() as server:
        where = f"127.0.0.1:{server.tls_port}"
        words = files.cli_words(server.tls_port)[2:]

        def ask(*words):
            done = subprocess.run([str(Chosen.program), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, check=False)
            return done.returncode, done.stdout + done.stderr

        assert ask("--ping", where, *words) == (0, "PONG\n")
        assert ask("--ping", where, "--sni", "localhost", *words) == (0, "PONG\n")
        copy = pathlib.Path(server.folder, "copy.rdb")
        secured(server, files.client).call("SET", "k", os.urandom(3 * MIB))
        status, said = ask("--backup", where, copy, *words)
        assert status == 0 and copy.stat().st_size > 3 * MIB, said
        status, said = ask("top", where, "--once", *words)
        assert status == 0 and "clients" in said, said
        for wrong, reason in (((*words, "--sni", "example.org"), "hostname mismatch"),
                              (("--tls", "--cert", files.client[0], "--key", files.client[1]), "verify failed"),
                              ((*words[:3], "--insecure"), "closed"),
                              (("--tls", "--cacert", "/nothing"), "/nothing: holds no authorities"),
                              (("--tls", "--key", files.client[1]), "--key needs --cert"), ((), "takes TLS only")):
            status, said = ask("--ping", where, *wrong)
            assert status == 1 and reason in said, (wrong, said)
        assert ask("--ping", where, "--tls", "--insecure", "--cert", files.client[0], "--key", files.client[1])[0] == 0
        assert "no TLS on Unix sockets" in ask("top", "unix:" + server.socket_path, "--once", "--tls")[1]


def test_the_commands_of_the_docs():
    """docs/security.md says how to make an authority and two certificates: they work as they stand there."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "security.md").read_text()
    block = re.search(r"^    umask 077\n(?:    .*\n|\n)+", text, re.M).group()
    folder = pathlib.Path(files.folder) / "docs"
    folder.mkdir()
    subprocess.run(["bash", "-e"], input=textwrap.dedent(block), text=True, cwd=folder, check=True, stderr=subprocess.PIPE)
    port = free_port()
    with Checked("--tls-port", port, "--tls-cert-file", folder / "server.crt", "--tls-key-file", folder / "server.key",
                 "--tls-ca-cert-file", folder / "ca.crt"):
        words = ["--tls", "--cacert", folder / "ca.crt", "--cert", folder / "client.crt", "--key", folder / "client.key"]
        asked = [str(Chosen.program), "--ping", f"127.0.0.1:{port}", "--sni", "sluice.example.org", *words]
        assert subprocess.run(asked, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout == "PONG\n"
    assert (folder / "ca.key").stat().st_mode & 0o077 == 0


def test_redis_py():
    import redis
    with Secured() as server:
        used = redis.Redis(port=server.tls_port, ssl=True, ssl_ca_certs=str(files.ca.certificate),
                           ssl_certfile=str(files.client[0]), ssl_keyfile=str(files.client[1]))
        pipeline = used.pipeline()
        for i in range(1000):
            pipeline.set(f"k{i}", i)
        assert all(pipeline.execute())
        assert used.get("k999") == b"999"
        heard = used.pubsub()
        heard.subscribe("c")
        assert heard.get_message(timeout=PATIENCE)["type"] == "subscribe"
        used.publish("c", "m")
        assert heard.get_message(timeout=PATIENCE)["data"] == b"m"


def test_ioredis():
    script = """
      const Redis = require('ioredis'), fs = require('fs');
      const [port, ca, cert, key] = process.argv.slice(2);
      const tls = {ca: fs.readFileSync(ca), cert: fs.readFileSync(cert), key: fs.readFileSync(key),
                   servername: 'localhost'};
      (async () => {
        const client = new Redis({port, tls, retryStrategy: null});
        await client.set('k', 'v'.repeat(100000));
        const got = await client.pipeline().get('k').incr('n').exec();
        console.log(got[0][1].length, got[1][1]);
        client.disconnect();
      })().catch(error => { console.log(error); process.exit(1); });
    """
    if not (CLIENTS / "node_modules" / "ioredis").exists() or not shutil.which("node"):
        raise Skip("there is no ioredis")
    with Secured() as server:
        path = pathlib.Path(files.folder) / "client.js"
        path.write_text(script)
        said = subprocess.run(["node", path, str(server.tls_port), files.ca.certificate, *files.client],
                              env={**os.environ, "NODE_PATH": str(CLIENTS / "node_modules")},
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert said.stdout == "100000 1\n", said.stdout + said.stderr


def test_sessions_are_resumed():
    """A client that comes again shakes hands in short, unless tls-session-caching says no."""
    for caching in ("yes", "no"):
        with Secured("--tls-session-caching", caching) as server:
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                made = context(files.client, version)
                first = secured(server, made=made)
                assert first.call("PING") == ("+", b"PONG")
                again = secured(server, made=made, session=first.sock.session)
                assert again.call("PING") == ("+", b"PONG")
                assert again.sock.session_reused == (caching == "yes"), (caching, version)


# --- certificates


def test_a_replica_follows_by_tls():
    """redis-server with tls-replication, whose full sync is larger than what TLS sends at once."""
    with Secured() as server:
        owner = client(server)
        owner.call("CONFIG", "SET", "repl-diskless-sync-delay", "0")
        owner.call("MSET", *[word for key in range(100) for word in (f"key{key}", str(key) * 50_000)])
        certificate, key = files.client
        options = ("--tls-port", "0", "--tls-replication", "yes", "--tls-ca-cert-file", files.ca.certificate,
                   "--tls-cert-file", certificate, "--tls-key-file", key,
                   "--replicaof", f"127.0.0.1 {server.tls_port}")
        with Server(REDIS, options) as follower:
            behind = client(follower)
            until(lambda: info(behind, "replication")[b"master_link_status"] == b"up", "it follows")
            owner.call("SET", "behind", "x" * 1_000_000)
            assert int(owner.call("WAIT", "1", "20000")[1]) == 1
            for name in "key99", "behind":
                assert behind.call("DEBUG", "DIGEST-VALUE", name) == owner.call("DEBUG", "DIGEST-VALUE", name)
            assert int(info(owner, "stats")[b"total_net_repl_output_bytes"]) > 5_000_000


def bad_certificates():
    """Name, certificate and key, and what the log says of it."""
    ca = files.ca
    other = Authority(files.folder, "other")
    own = [pathlib.Path(files.folder) / name for name in ("own.crt", "own.key")]
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=own", "-days", 3,
            "-keyout", own[1], "-out", own[0])
    yield "expired", ca.issue("expired", begins_days=-9, ends_days=-1), "certificate has expired"
    yield "early", ca.issue("early", begins_days=3), "certificate is not yet valid"
    yield "self-signed", own, "self-signed certificate"
    yield "unknown", other.issue("unknown"), "unable to get local issuer certificate"
    yield "purpose", ca.issue("purpose", purpose="serverAuth"), "unsuitable certificate purpose"
    yield "nul", ca.issue_with_nul("nul", "default?.evil"), "its common name has a NUL byte"
    yield "none", None, "peer did not return a certificate"


def test_bad_certificates():
    """Each is refused and named in the log; nothing leaks, and good ones come in."""
    with Secured() as server:
        for name, certificate, sentence in bad_certificates():
            assert refused(server, certificate), name
            logged(server, sentence)
        assert not refused(server, files.ca.issue("good", purpose="clientAuth"))
        control = client(server)
        until(lambda: b"connected_clients:1\r" in control.call("INFO", "clients")[1], "nobody stays")


def test_auth_clients():
    """optional: none is needed, but one that is shown must be good; no: none is asked for."""
    other = Authority(files.folder, "stranger").issue("theirs")
    with Secured("--tls-auth-clients", "optional") as server:
        assert not refused(server, None)
        assert not refused(server, files.client)
        assert refused(server, other)
        control = client(server)
        assert control.call("CONFIG", "SET", "tls-auth-clients", "no") == ("+", b"OK")
        assert not refused(server, other)
        assert control.call("CONFIG", "SET", "tls-auth-clients", "yes") == ("+", b"OK")
        assert refused(server, None)


def test_certificate_names_user():
    """With tls-auth-clients-user CN a certificate's name is a login; one that no user has is none."""
    pair = files.ca.issue("named", "default")
    with Secured("--requirepass", "secret", "--tls-auth-clients-user", "CN") as server:
        assert secured(server, pair).call("SET", "k", "v") == ("+", b"OK")
        other = secured(server)
        assert other.call("GET", "k")[1].startswith(b"NOAUTH")
        logged(server, 'names no user: "somebody"')
        assert other.call("AUTH", "secret") == ("+", b"OK")
        assert other.call("CONFIG", "SET", "tls-auth-clients-user", "off") == ("+", b"OK")
        assert secured(server, pair).call("GET", "k")[1].startswith(b"NOAUTH")
        assert other.call("CONFIG", "SET", "requirepass", "") == ("+", b"OK")


def test_a_named_user_has_its_rules():
    """The user that a certificate names may do what its rules say, also after they have changed."""
    pair = files.ca.issue("app", "app")
    with Secured("--tls-auth-clients-user", "CN") as server:
        control = client(server)
        assert control.call("ACL", "SETUSER", "app", "on", "~app:*", "+@all", "-@dangerous") == ("+", b"OK")
        app = secured(server, pair)
        assert app.call("ACL", "WHOAMI") == ("$", b"app")
        assert app.call("SET", "app:k", "v") == ("+", b"OK")
        assert app.call("SET", "k", "v")[1].startswith(b"NOPERM")
        assert app.call("FLUSHALL")[1].startswith(b"NOPERM")
        assert control.call("ACL", "SETUSER", "app", "-set") == ("+", b"OK")
        assert app.call("SET", "app:k", "v")[1].startswith(b"NOPERM")
        assert control.call("ACL", "SETUSER", "app", "off") == ("+", b"OK")
        assert secured(server, pair).call("ACL", "WHOAMI") == ("$", b"default")
        assert control.call("ACL", "DELUSER", "app") == (":", b"1")
        until(lambda: is_closed(app), "the connection of a deleted user is closed")


def is_closed(connection):
    try:
        connection.send(b"PING\r\n")
        return connection.sock.recv(100) == b""
    except (ssl.SSLError, ConnectionError):
        return True


def test_dh_parameters():
    """A file of them makes the ciphers work that need some; a file without any is refused."""
    path = pathlib.Path(files.folder) / "dh.pem"
    openssl("dhparam", "-dsaparam", "-out", path, 2048)
    words = ("-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256")
    with Secured(server=files.ca.issue("dh", "localhost", rsa=True)) as server:
        assert openssl_client(server, *words) != 0
        control = client(server)
        assert control.call("CONFIG", "SET", "tls-dh-params-file", path) == ("+", b"OK")
        assert openssl_client(server, *words) == 0
        fault = control.call("CONFIG", "SET", "tls-dh-params-file", files.client[0])
        assert b"Unable to update TLS configuration" in fault[1], fault
        assert openssl_client(server, *words) == 0


def test_authorities_in_a_folder():
    folder = pathlib.Path(files.folder) / "authorities"
    folder.mkdir(exist_ok=True)
    shutil.copy(files.ca.certificate, folder)
    openssl("rehash", folder)
    with Secured() as server:
        control = client(server)
        assert control.call("CONFIG", "SET", "tls-ca-cert-dir", folder, "tls-ca-cert-file", "") == ("+", b"OK")
        assert not refused(server, files.client)
        assert refused(server, None)


def test_pass_phrase():
    pair = files.ca.issue("locked", "localhost", phrase="open sesame", rsa=True)
    with Secured("--tls-key-file-pass", "open sesame", server=pair) as server:
        assert secured(server).call("PING") == ("+", b"PONG")
        control = client(server)
        fault = control.call("CONFIG", "SET", "tls-key-file-pass", "wrong")
        assert b"Unable to update TLS configuration" in fault[1], fault
        assert control.call("CONFIG", "GET", "tls-key-file-pass")[1][1][1] == b"open sesame"
        assert secured(server).call("PING") == ("+", b"PONG")


def serial(connection):
    return connection.sock.getpeercert()["serialNumber"]


def test_files_are_read_again():
    """By CONFIG SET, to the same name too, on SIGHUP, and when they change. Connections stay; bad files change nothing."""
    copies = [pathlib.Path(files.folder) / name for name in ("live.crt", "live.key")]

    def put(pair):
        for source, copy in zip(pair, copies):
            shutil.copy(source, copy)

    put(files.server)
    with Secured(server=copies) as server:
        control, old = client(server), secured(server)
        put(files.ca.issue("second", "localhost"))
        assert control.call("CONFIG", "SET", "tls-cert-file", copies[0]) == ("+", b"OK")
        second = serial(secured(server))
        assert second != serial(old)
        put(files.ca.issue("third", "localhost"))
        server.process.send_signal(signal.SIGHUP)
        logged(server, "SIGHUP: the TLS certificates and keys have been read again")
        third = serial(secured(server))
        assert third not in (second, serial(old))
        copies[0].write_text("no certificate")
        server.process.send_signal(signal.SIGHUP)
        logged(server, "SIGHUP: TLS goes on with the certificates and keys from before")
        fault = control.call("CONFIG", "SET", "tls-cert-file", copies[0])
        assert b"Unable to update TLS configuration. Check server logs." in fault[1], fault
        assert serial(secured(server)) == third
        assert old.call("PING") == ("+", b"PONG")
        certificate, key = files.ca.issue("fourth", "localhost")
        shutil.copy(certificate, copies[0])  # does not fit the key that is there
        until(lambda: secured(server) and "Changed files: TLS goes on" in server.output(100_000), "half of it is noticed")
        assert serial(secured(server)) == third
        shutil.copy(key, copies[1])
        until(lambda: serial(secured(server)) != third, "the other half is noticed")
        assert "Changed files: the TLS certificates and keys have been read again" in server.output(100_000)
        copies[0].unlink()
        assert secured(server).call("PING") == ("+", b"PONG")
        os.mkfifo(copies[0])
        fault = control.call("CONFIG", "SET", "tls-cert-file", copies[0])
        assert b"Unable to update TLS configuration. Check server logs." in fault[1], fault
        assert "it is no regular file" in server.output(100_000)
        assert secured(server).call("PING") == ("+", b"PONG") == control.call("PING")


# --- options


def test_as_redis():
    """Names, values and errors of the options are redis-server's."""
    asked = [("GET", "tls-*"), ("GET", "*tls-key-file-pass"), ("SET", "tls-cert-file", "/nowhere"),
             ("SET", "tls-key-file", "/nowhere"), ("SET", "tls-ca-cert-file", "/nowhere"),
             ("SET", "tls-ca-cert-dir", "/nowhere"), ("SET", "tls-dh-params-file", "/nowhere"),
             ("SET", "tls-protocols", "TLSv1.4"), ("SET", "tls-protocols", "tlsV1.2 TLSv1.3"),
             ("SET", "tls-ciphers", "none"), ("SET", "tls-ciphersuites", "none"),
             ("SET", "tls-ciphers", "HIGH"), ("SET", "tls-port", "65536"), ("SET", "tls-port", "x"),
             ("SET", "tls-auth-clients", "maybe"), ("SET", "tls-prefer-server-ciphers", "maybe"),
             ("SET", "tls-session-caching", "2"), ("SET", "tls-session-cache-size", "-1"),
             ("SET", "tls-session-cache-timeout", "soon"), ("SET", "tls-cert-file", ""),
             ("SET", "tls-port", "0"), ("SET", "tls-cert-file", "/nowhere"), ("GET", "tls-*")]
    answers = []
    port = free_port()
    for program in (REDIS, Chosen.program):
        with Server(program, files.options(port)) as server:
            control = wire.Connection(server.connect())
            answers.append([control.call("CONFIG", *words) for words in asked])
    for words, theirs, ours in zip(asked, *answers):
        if words[0] == "GET":
            theirs, ours = (sorted(zip(got[1][::2], got[1][1::2])) for got in (theirs, ours))
            ours = [pair for pair in ours if pair[0] != ("$", b"tls-auth-clients-user")]
        assert ours == theirs, f"{words}: {ours} and not {theirs}"


def test_port_moves():
    """tls-port is changed, shut and opened again while clients go on; the Unix socket is never TLS."""
    with Secured() as server:
        control, old = client(server), secured(server)
        server.tls_port = free_port()
        assert control.call("CONFIG", "SET", "tls-port", server.tls_port) == ("+", b"OK")
        assert secured(server).call("PING") == ("+", b"PONG")
        assert old.call("PING") == ("+", b"PONG")
        assert control.call("CONFIG", "SET", "tls-port", 0) == ("+", b"OK")
        with contextlib.suppress(ConnectionRefusedError):
            secured(server)
            raise AssertionError("it still listens")


def test_starts_not():
    """What is missing is said, and the server does not start without it."""
    folder = tempfile.mkdtemp(prefix="sluice-tls-")
    pipe = pathlib.Path(folder) / "pipe"
    os.mkfifo(pipe)
    wrong = [(["--tls-port", free_port()], "No tls-cert-file configured!"),
             (files.options(free_port())[:-2], "Either tls-ca-cert-file or tls-ca-cert-dir must be"),
             (files.options(free_port(), (files.server[0], files.client[1])), "Failed to load private key"),
             (files.options(free_port(), (pipe, files.server[1])), "pipe: it is no regular file")]
    for options, sentence in wrong:
        done = subprocess.run([Chosen.program, "--port", "0", "--dir", folder, *map(str, options)],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 1 and sentence in done.stderr, done.stderr
    shutil.rmtree(folder)


# --- bytes


class Records:
    """A client that sees the records: what is to be sent is gathered, and sent when it says so."""

    def __init__(self, server, version=None):
        self.sock = socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE)
        self.come, self.go = ssl.MemoryBIO(), ssl.MemoryBIO()
        made = context(files.client, version)
        self.tls = made.wrap_bio(self.come, self.go, server_hostname="localhost")
        self.until_done(self.tls.do_handshake)
        self.send()

    def until_done(self, step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.send()
                got = self.sock.recv(1 << 16)
                if not got:
                    self.come.write_eof()
                self.come.write(got)

    def send(self, more=b""):
        if bytes_to_go := self.go.read() + more:
            self.sock.sendall(bytes_to_go)

    def read(self, count):
        got = b""
        while len(got) < count:
            piece = self.until_done(lambda: self.tls.read(1 << 16))
            if not piece:
                break
            got += piece
        return got

    def rest(self):
        """All that comes until the end, however that comes."""
        got = b""
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            while piece := self.until_done(lambda: self.tls.read(1 << 16)):
                got += piece
        return got


def test_waiting_bytes():
    """Many records in one segment, and records of any size: all requests are answered, though the socket
    is silent behind them."""
    with Secured() as server:
        peer = Records(server)
        for _ in range(3):
            for _ in range(2000):
                peer.tls.write(b"PING\r\n")
            peer.send()
            assert peer.read(14000) == b"+PONG\r\n" * 2000
        for size in (1, 5, 16 * 1024 - 1, 16 * 1024, 40_000):
            text = b"PING\r\n" * min(20_000, size * 100)
            left = memoryview(text)
            while left:
                left = left[peer.tls.write(left[:size]):]
            peer.send()
            assert peer.read(len(text) // 6 * 7) == b"+PONG\r\n" * (len(text) // 6), size
        # Whole records as one recv brings them, and more behind: none is forgotten in the socket.
        for count in range(5000, 20_000, 250):
            fresh = secured(server)
            fresh.send(b"PING\r\n" * count)
            assert fresh.replies(count) == [b"+PONG\r\n"] * count


def test_records_in_pieces():
    """A record that comes byte by byte."""
    with Secured() as server:
        peer = Records(server)
        peer.tls.write(b"SET k v\r\nGET k\r\n")
        for byte in peer.go.read():
            peer.sock.sendall(bytes([byte]))
        assert peer.read(12) == b"+OK\r\n$1\r\nv\r\n"


def test_half_closed():
    """What was asked before the client said goodbye is answered; then the server says it, too."""
    with Secured() as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            peer = Records(server, version)
            peer.tls.write(b"PING\r\n" * 1000)
            with contextlib.suppress(ssl.SSLWantReadError):
                peer.tls.unwrap()
            peer.send()
            peer.sock.shutdown(socket.SHUT_WR)
            got = b""
            while piece := peer.sock.recv(1 << 16):
                got += piece
            assert len(got) > 7000, len(got)


def test_cut_off():
    """The end of the stream without a goodbye, and in the middle of a record."""
    with Secured() as server:
        for cut in (0, 7):
            peer = Records(server)
            peer.tls.write(b"PING\r\n")
            first = peer.go.read()
            peer.tls.write(b"PING\r\n")
            peer.sock.sendall(first + peer.go.read()[:cut])
            peer.sock.shutdown(socket.SHUT_WR)
            assert peer.rest() == b"+PONG\r\n"


def test_alert_in_a_pipeline():
    """A record that is none, and an alert, between requests: what came before is done, and no more. Behind a
    fatal alert no answer can be sent."""
    done = 0
    with Secured() as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for wrong in (b"\x17\x03\x03\x00\x20" + bytes(32), b"\x15\x03\x03\x00\x02\x02\x28", b"x" * 50):
                peer = Records(server, version)
                peer.tls.write(b"INCR n\r\n")
                before = peer.go.read()
                peer.tls.write(b"INCR m\r\n")
                peer.sock.sendall(before + wrong + peer.go.read())
                assert peer.rest() in (b"", b":%d\r\n" % (done := done + 1))
        control = client(server)
        until(lambda: control.call("GET", "n") == ("$", b"6"), "all were done")
        assert control.call("GET", "m") == ("$-1", None)


@contextlib.contextmanager
def typing(server, version):
    """openssl s_client, to which lines can be said: R asks for a renegotiation, K for new keys."""
    with subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}", version, "-quiet", "-no_ign_eof",
             "-CAfile", files.ca.certificate, "-cert", files.client[0], "-key", files.client[1]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as peer:
        peer.stdin.write(b"PING\n")
        assert peer.stdout.readline() == b"+PONG\r\n"
        yield peer
        peer.kill()


def test_renegotiation():
    """It is refused. New keys of TLS 1.3 are no renegotiation."""
    with Secured() as server:
        with typing(server, "-tls1_2") as peer:
            peer.stdin.write(b"R\n")
            assert any(b"no renegotiation" in line for line in peer.stderr), "it was let"
        with typing(server, "-tls1_3") as peer:
            for word in (b"K\n", b"k\n"):
                peer.stdin.write(word)
                assert any(b"KEYUPDATE" in line for line in peer.stderr)
                peer.stdin.write(b"PING\n")
                assert peer.stdout.readline() == b"+PONG\r\n"


def test_slow_reader():
    """Replies that the client does not take wait, and come whole when it does; others are served."""
    with Secured(grow=128 * MIB) as server:
        other, slow = secured(server), secured(server)
        value = os.urandom(MIB)
        assert other.call("SET", "big", value) == ("+", b"OK")
        slow.send(b"GET big\r\n" * 6)
        for _ in range(100):
            assert other.call("PING") == ("+", b"PONG")
        got = slow.replies(6)
        assert got == [b"$%d\r\n%b\r\n" % (len(value), value)] * 6


# --- the wrong door, and strangers


def test_wrong_door():
    """Plain text where TLS is spoken, and the other way round: both are told, and so is the log."""
    with Secured(tcp=True) as server:
        with socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE) as plain:
            plain.sendall(b"*1\r\n$4\r\nPING\r\n")
            assert plain.recv(200).startswith(b"-ERR this port takes TLS only")
            assert plain.recv(1) == b""
        logged(server, "is closed: it speaks plain text on the TLS port")
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as plain:
            try:
                context().wrap_socket(plain, server_hostname="localhost")
                raise AssertionError("that was no TLS")
            except ssl.SSLError as error:
                assert "WRONG_VERSION_NUMBER" in str(error), error
        logged(server, "is closed: it speaks TLS on a port without it")


def test_handshakes_that_never_end():
    """More than there may be, some of them begun: clients are served meanwhile, newcomers get in, and the
    silent ones are sent away when their time is over."""
    with Secured(grow=64 * MIB) as server:
        known = secured(server)
        crowd = []
        hello = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
        begin = hello.read()
        for i in range(HANDSHAKES_MAX + 200):
            crowd.append(socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE))
            if i % 4 == 0:
                crowd[-1].sendall(begin[:i % len(begin)])
            if i % 100 == 0:
                assert known.call("PING") == ("+", b"PONG")
        descriptors = f"/proc/{server.process.pid}/fd"
        until(lambda: len(os.listdir(descriptors)) < HANDSHAKES_MAX + 40, "the oldest have gone")
        assert secured(server).call("PING") == ("+", b"PONG")
        began = time.monotonic()
        until(lambda: len(os.listdir(descriptors)) < 40, "their time is over")
        assert time.monotonic() - began < HANDSHAKE_SECONDS + 5
        logged(server, "its handshake takes too long")
        assert len(server.output(1 << 20).splitlines()) < 200, "strangers fill the log"
        assert known.call("PING") == ("+", b"PONG")


def test_maxclients():
    """One too many finds the door shut, without words. Handshakes count; but one that does not go on makes way."""
    with Secured("--maxclients", 4) as server:
        control = client(server)
        crowd = [secured(server) for _ in range(3)]
        assert crowd[0].call("PING") == ("+", b"PONG")
        assert refused(server, files.client)
        assert b"rejected_connections:1\r" in control.call("INFO", "stats")[1]
        crowd.pop().close()
        until(lambda: b"connected_clients:3\r" in control.call("INFO", "clients")[1], "one has left")
        silent = socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE)
        until(lambda: not refused(server, files.client), "the silent one makes way")
        assert silent.recv(1) == b""
        for connection in crowd:
            connection.close()
        until(lambda: b"connected_clients:1\r" in control.call("INFO", "clients")[1], "they have left")


def test_maxclients_per_ip():
    """A handshake takes one of the places of its address, and gives it back."""
    with Secured("--maxclients-per-ip", 2) as server:
        crowd = [secured(server),
                 socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE)]
        assert crowd[0].call("PING") == ("+", b"PONG")
        assert refused(server, files.client)
        crowd.pop().close()
        until(lambda: not refused(server, files.client), "the place is free again")


def main():
    global files
    files = Files()
    try:
        return run_tests(__doc__, globals())
    finally:
        shutil.rmtree(files.folder)


if __name__ == "__main__":
    sys.exit(main())
