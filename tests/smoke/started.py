#!/usr/bin/python3
"""A server as a test starts it: on a free port, telling when it is ready, and gone when nobody needs it any
more; and `sluice --ping`, which waits for one.

  started.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import die_with_parent, free_port  # noqa: E402
from smoke import PATIENCE, Chosen, run_tests, until  # noqa: E402


class Started:
    """A server in a folder of its own; its output in pipes."""

    def __init__(self, *options, port="any", fds=()):
        self.folder = tempfile.TemporaryDirectory()
        words = [str(Chosen.program), "--port", str(port), "--dir", self.folder.name, "--save", "",
                 "--enable-debug-command", "yes", *map(str, options)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, pass_fds=fds,
                                        preexec_fn=die_with_parent)

    def port(self):
        line = self.process.stdout.readline()
        assert line.startswith("ready on 127.0.0.1:") and line.endswith("\n"), line
        return int(line.rsplit(":", 1)[1])

    def end(self, number=signal.SIGTERM):
        """What it still says on standard output, and its log."""
        if number:
            self.process.send_signal(number)
        out, log = self.process.communicate(timeout=PATIENCE)
        return out, log

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()


def connect(port, host="127.0.0.1"):
    return wire.Connection(socket.create_connection((host, port), PATIENCE))


def ping(*words, environment=None):
    done = subprocess.run([str(Chosen.program), "--ping", *map(str, words)], capture_output=True, text=True,
                          timeout=PATIENCE, check=False,
                          env={**os.environ, "REDISCLI_AUTH": "", **(environment or {})})
    return done.returncode, done.stdout, done.stderr


# --- port any, and the line on standard output

def test_free_ports():
    """Each server has its own, which it shows; standard output has one line, the log is on standard error."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Started()) for _ in range(8)]
        ports = [server.port() for server in servers]
        assert len(set(ports)) == len(ports), ports
        for server, port in zip(servers, ports):
            client = connect(port)
            assert client.call("CONFIG", "GET", "port") == ("*", [("$", b"port"), ("$", str(port).encode())])
            assert f"tcp_port:{port}\r\n".encode() in client.call("INFO", "server")[1]
            out, log = server.end()
            assert out == "" and f"on port {port}\n" in log and server.process.returncode == 0, (out, log)


def test_one_port_on_each_address():
    with Started("--bind", "127.0.0.1", "127.0.0.2") as server:
        port = server.port()
        assert connect(port, "127.0.0.2").call("PING") == ("+", b"PONG")


def test_another_free_port_while_it_serves():
    with Started() as server:
        first = server.port()
        client = connect(first)
        assert client.call("CONFIG", "SET", "port", "any") == ("+", b"OK")
        second = int(client.call("CONFIG", "GET", "port")[1][1][1])
        assert second not in (0, first)
        assert connect(second).call("PING") == ("+", b"PONG")
        # A fault puts the old port back.
        assert client.call("CONFIG", "SET", "port", "any", "bind", "192.0.2.1")[0] == "-"
        assert client.call("CONFIG", "GET", "port")[1][1][1] == str(second).encode()
        assert connect(second).call("PING") == ("+", b"PONG")


def test_line_is_said_where_it_is_asked_for():
    port = free_port()
    with Started("--ready-line", "yes", port=port) as server:
        assert server.port() == port
    with Started("--ready-line", "no", "--port-file", "port") as server:
        until(pathlib.Path(server.folder.name, "port").exists, "the port file")
        out, log = server.end()
        assert "ready on" not in out and "Ready to accept" in out and not log, (out, log)
    with Started("--ready-fd", "1", port=port) as server:
        assert server.port() == port
        out, log = server.end()
        assert out == "" and "Ready to accept" in log


# --- port-file, ready-fd

def test_port_file():
    """It is there, whole, while the server is."""
    with Started("--port-file", "port") as server:
        file = pathlib.Path(server.folder.name, "port")
        port = server.port()
        assert file.read_text() == f"{port}\n"
        assert [each.name for each in file.parent.iterdir() if "temp" in each.name] == []
        server.end()
        assert not file.exists()
    with Started("--port-file", "missing/port") as server:
        assert connect(server.port()).call("PING") == ("+", b"PONG")
        _, log = server.end()
        assert "can't write the port file 'missing/port': No such file or directory" in log


def test_ready_fd():
    """The line, and then the end: nobody else has that pipe."""
    reader, writer = os.pipe()
    with Started("--ready-fd", writer, fds=(writer,)) as server, open(reader) as pipe:
        os.close(writer)
        line = pipe.read()
        assert line == f"ready on 127.0.0.1:{server.port()}\n", line
    with Started("--ready-fd", 77) as server:
        out, log = server.end(number=None)
        assert server.process.returncode == 1 and not out, out
        assert log == "sluice: can't use descriptor 77 (ready-fd): Bad file descriptor\n", log


def test_ready_fd_without_tcp():
    reader, writer = os.pipe()
    with Started("--ready-fd", writer, "--unixsocket", "s.sock", port=0, fds=(writer,)), open(reader) as pipe:
        os.close(writer)
        assert pipe.read() == "ready on unix:s.sock\n"


def test_reader_of_the_line_is_gone():
    reader, writer = os.pipe()
    with Started("--ready-fd", writer, fds=(writer,)) as server:
        os.close(writer)
        os.close(reader)
        assert connect(server.port()).call("PING") == ("+", b"PONG")


def test_ready_behind_the_load():
    with Started("--appendonly", "yes") as server:
        client = connect(server.port())
        assert client.call("DEBUG", "POPULATE", "200000") == ("+", b"OK")
        assert client.call("SAVE") == ("+", b"OK")
        client.call("SHUTDOWN")
        server.end(number=None)
        with Started("--dir", server.folder.name) as again:
            client = connect(again.port())
            assert client.call("DBSIZE") == (":", b"200000")


# --- the end

STARTER = textwrap.dedent("""
    import subprocess, sys, threading, time
    def start():
        global server
        server = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
        print(server.pid, server.stdout.readline().rsplit(":", 1)[1].strip(), flush=True)
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    time.sleep(1000)
""")


def has_ended(pid):
    """Its new parent may not have asked for it yet."""
    try:
        return pathlib.Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_end_with_parent():
    """Also when the thread that started it has ended before; what is to be saved is saved."""
    with tempfile.TemporaryDirectory() as folder:
        parent = subprocess.Popen([sys.executable, "-c", STARTER, str(Chosen.program), "--port", "any", "--dir",
                                   folder, "--save", "3600 1", "--exit-with-parent", "yes"],
                                  stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        pid, port = map(int, parent.stdout.readline().split())
        client = connect(port)
        assert client.call("SET", "k", "v") == ("+", b"OK")
        parent.kill()
        parent.communicate()
        until(lambda: has_ended(pid), "the server has ended")
        assert pathlib.Path(folder, "dump.rdb").exists()


def test_end_with_parent_in_a_script():
    """A script that runs for ever does not keep it."""
    with tempfile.TemporaryDirectory() as folder:
        parent = subprocess.Popen([sys.executable, "-c", STARTER, str(Chosen.program), "--port", "any", "--dir",
                                   folder, "--save", "", "--busy-reply-threshold", "1", "--exit-with-parent", "yes"],
                                  stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        pid, port = map(int, parent.stdout.readline().split())
        client, other = connect(port), connect(port)
        client.send(wire.encode([b"EVAL", b"while true do end", b"0"]))
        until(lambda: other.call("PING")[0] == "-", "the script is slow")
        parent.kill()
        parent.communicate()
        until(lambda: has_ended(pid), "the server has ended")


def test_no_parent_in_the_background():
    with Started("--daemonize", "yes", "--exit-with-parent", "yes") as server:
        _, log = server.end(number=None)
        assert log == "sluice: daemonize and exit-with-parent don't go together\n", log
        assert server.process.returncode == 1


def test_end_when_idle():
    with Started("--idle-exit", 1) as server:
        _, log = server.end(number=None)
        assert server.process.returncode == 0
        assert "No client for 1 seconds (idle-exit), shutting down" in log, log
    with Started("--idle-exit", 1) as server:
        client = connect(server.port())
        time.sleep(1.5)
        assert client.call("PING") == ("+", b"PONG")
        client.close()
        server.end(number=None)
        assert server.process.returncode == 0


# --- sluice --ping

def test_ping():
    port = free_port()
    where = f"127.0.0.1:{port}"
    code, out, errors = ping(where)
    assert (code, out) == (1, ""), out
    assert errors == f"sluice: {where}: cannot be connected to: Connection refused\n", errors
    with Started("--requirepass", "secret", port=port):
        assert ping(where, "--wait", "30", "--pass", "secret") == (0, "PONG\n", "")
        assert ping(where, "--user", "default", "--pass", "secret")[0] == 0
        assert ping(where, environment={"REDISCLI_AUTH": "secret"})[0] == 0
        code, _, errors = ping(where)
        assert code == 1 and errors.startswith(f"sluice: {where}: NOAUTH "), errors
        code, _, errors = ping(where, "--wait", "1000", "--pass", "wrong")
        assert code == 1 and errors.startswith(f"sluice: {where}: WRONGPASS "), errors


def test_ping_waits():
    """Through everything that a start consists of, and no longer than it was told."""
    port = free_port()
    outcome = []
    waiter = threading.Thread(target=lambda: outcome.append(ping(f"127.0.0.1:{port}", "--wait", "30.5")))
    waiter.start()
    with Started(port=port):
        waiter.join()
        assert outcome == [(0, "PONG\n", "")], outcome
    with socket.create_server(("127.0.0.1", 0)) as mute:
        code, _, errors = ping(f"127.0.0.1:{mute.getsockname()[1]}", "--wait", "0.05")
        assert code == 1 and "the server has not answered" in errors, errors


def script_log(folder, seconds):
    """A log, as Redis of before 7 wrote it, with a script that takes so long."""
    script = "for i = 1, ARGV[1] do local x = i % 7 end return redis.call('SET', 'k', 'v')"
    log = pathlib.Path(folder, "appendonlydir")
    log.mkdir()
    log.joinpath("appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
    words = ["EVAL", script, "0", str(int(seconds * 40_000_000))]
    log.joinpath("appendonly.aof.1.incr.aof").write_text(
        f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words))


def test_ready_is_one_thing():
    """While data load, by PING, --ping, /readyz and the log the server is not ready; then it is by each of them."""
    port, http_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        script_log(folder, 2)
        path = pathlib.Path(folder, "socket")
        with Started("--dir", folder, "--appendonly", "yes", "--http-port", http_port, "--unixsocket", path,
                     "--ready-line", "no", "--port-file", "port", port=port) as server:
            until(lambda: ping(f"127.0.0.1:{port}")[2].count("refused") == 0, "somebody listens")
            code, out, errors = ping(f"127.0.0.1:{port}")
            assert (code, out) == (1, "") and "LOADING Redis is loading the dataset in memory" in errors, errors
            asked = http.client.HTTPConnection("127.0.0.1", http_port, timeout=PATIENCE)
            asked.request("GET", "/readyz")
            answer = asked.getresponse()
            assert answer.status == 503 and b"its data are being loaded" in answer.read()
            assert not pathlib.Path(folder, "port").exists()
            assert ping(f"127.0.0.1:{port}", "--wait", PATIENCE) == (0, "PONG\n", "")
            asked.request("GET", "/readyz")
            assert asked.getresponse().status == 200
            until(pathlib.Path(folder, "port").exists, "the port file")
            out, _ = server.end()
    order = [out.index(words) for words in (" PID: ", "loaded: 1 commands", f"Ready to accept connections on port {port}",
                                            f"The server is now ready to accept connections at {path}")]
    assert order == sorted(order), out


def test_a_refused_start_was_never_ready():
    for name, text in (("dump.rdb", "REDIS0011 nothing"), ("dump.rdb", "nothing")):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, name).write_text(text)
            with Started("--dir", folder, port=free_port()) as server:
                out, log = server.process.communicate(timeout=PATIENCE)
                assert server.process.returncode == 1 and "Ready to accept" not in out + log, (out, log)


def test_a_snapshot_without_its_log_is_not_written_over():
    """With appendonly yes the log counts, and there is none: Redis starts empty, and its stop ends the data."""
    with tempfile.TemporaryDirectory() as folder:
        with Started("--dir", folder, "--appendonly", "no") as server:
            client = connect(server.port())
            assert client.call("SET", "k", "v") == ("+", b"OK")
            assert client.call("SAVE") == ("+", b"OK")
            server.end()
        snapshot = pathlib.Path(folder, "dump.rdb")
        before = snapshot.read_bytes()
        for _ in range(2):
            refused = subprocess.run([str(Chosen.program), "--port", "0", "--dir", folder, "--appendonly", "yes"],
                                     capture_output=True, text=True, timeout=PATIENCE, check=False)
            said = refused.stdout + refused.stderr
            assert refused.returncode == 1 and f"{snapshot} (dbfilename) is there, and no log is" in said, said
            assert "--import" in said and "--appendonly no" in said, said
        assert snapshot.read_bytes() == before and not pathlib.Path(folder, "appendonlydir").exists()
        # The first way out that it names.
        with Started("--dir", folder, "--appendonly", "no") as server:
            client = connect(server.port())
            assert client.call("CONFIG", "SET", "appendonly", "yes") == ("+", b"OK")
            server.end()
        with Started("--dir", folder, "--appendonly", "yes") as server:
            assert connect(server.port()).call("GET", "k") == ("$", b"v")
        # A folder that is there is meant to be one.
        snapshot.write_bytes(before)
        for name in pathlib.Path(folder, "appendonlydir").iterdir():
            name.unlink()
        with Started("--dir", folder, "--appendonly", "yes") as server:
            assert connect(server.port()).call("DBSIZE") == (":", b"0")


def test_new_files_follow_the_umask():
    """Under 077 the log, its manifest, the mark and a snapshot are the owner's alone; one that is replaced keeps its mode."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.umask(0o077)
        try:
            server = Started("--dir", folder, "--appendonly", "yes")
        finally:
            os.umask(before)
        with server:
            client = connect(server.port())
            assert client.call("LOCK.ACQUIRE", "l", "o", "LEASE", 60_000)[0] == "*"
            assert client.call("SAVE") == ("+", b"OK")
            made = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
            assert {"fence.mark", "dump.rdb"} <= {path.name for path in made} and len(made) >= 5, made
            for path in made:
                assert path.stat().st_mode & 0o077 == 0, (path, oct(path.stat().st_mode))
            server.end()
        mark = pathlib.Path(folder, "fence.mark")
        mark.chmod(0o640)
        first = mark.stat().st_mtime_ns  # two files that follow each other may have one inode
        with Started("--dir", folder, "--appendonly", "yes") as server:
            client = connect(server.port())
            assert client.call("LOCK.ACQUIRE", "other", "o", "LEASE", 60_000)[0] == "*"
            until(lambda: mark.stat().st_mtime_ns != first, "the mark is written anew")
            assert mark.stat().st_mode & 0o777 == 0o640


def test_the_working_directory_changes():
    """As in Redis. What was made before is tidied up where it is."""
    with Started("--enable-protected-configs", "yes", "--unixsocket", "socket", "--appendonly", "yes") as server:
        folder = pathlib.Path(server.folder.name).resolve()
        other = folder / "other"
        other.mkdir()
        client = connect(server.port())
        assert client.call("LOCK.ACQUIRE", "l", "me", "LEASE", "60000")[0] == "*"
        assert client.call("CONFIG", "SET", "dir", folder / "nothing") == (
            "-", b"ERR CONFIG SET failed (possibly related to argument 'dir') - No such file or directory")
        assert client.call("CONFIG", "GET", "dir")[1][1][1] == str(folder).encode()
        assert client.call("CONFIG", "SET", "dir", f"{folder}/other/../other") == ("+", b"OK")
        assert client.call("CONFIG", "GET", "dir")[1][1][1] == str(other).encode()
        # Both or none.
        assert client.call("CONFIG", "SET", "dir", folder, "bind", "192.0.2.1")[0] == "-"
        assert client.call("SAVE") == ("+", b"OK")
        assert client.call("LOCK.ACQUIRE", "m", "me", "LEASE", "60000")[0] == "*"
        assert client.call("BGREWRITEAOF")[0] == "+"
        server.end()
        assert server.process.returncode == 0
        assert [each.name for each in other.iterdir()] == ["dump.rdb"]
        assert not (folder / "socket").exists() and (folder / "fence.mark").exists()
    with Started("--enable-protected-configs", "no") as server:
        assert connect(server.port()).call("CONFIG", "SET", "dir", "/")[0] == "-"


# --- hostile servers and files

@contextlib.contextmanager
def hostile(answer):
    """A server that answers anything so."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = listening.accept()
                    with peer:
                        while peer.recv(4096):
                            peer.sendall(answer)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_nothing_hostile_is_printed():
    """What a server says moves no cursor and makes up no line."""
    evil = b"\x1b]0;title\x07\x1b[2J\xc2\x9b2J"
    with tempfile.TemporaryDirectory() as folder:
        for answer in (b"-ERR " + evil + b"\r\n", b"*2\r\n$1\r\nx\r\n$%d\r\n%s\r\n" % (len(evil) + 6, b"/\nfake" + evil)):
            with hostile(answer) as where:
                for words in (["--ping", where], ["--backup", where, f"{folder}/file"], ["top", where, "--once"]):
                    done = subprocess.run([str(Chosen.program), *words], capture_output=True, timeout=PATIENCE, check=False,
                                          env={**os.environ, "LC_ALL": "C.UTF-8"})
                    said = done.stdout + done.stderr
                    assert said == b"PONG\n" or (b"\\x1b" in said and done.returncode == 1) or b"sluice" in said, (words, said)
                    assert b"\x1b" not in said and b"\x07" not in said and b"\xc2\x9b" not in said, (words, said)
                    assert b"\nfake" not in said, (words, said)


def refused(*words):
    """The sentence with which a program ends that must not wait."""
    done = subprocess.run([str(Chosen.program), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 1, (words, done)
    return done.stderr + done.stdout


def test_configurations_that_are_no_files():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.mkfifo(folder / "pipe")
        with open(folder / "huge", "wb") as huge:
            huge.truncate(1 << 40)
        for path, why in ((folder / "pipe", "it is a pipe or a device"), ("/dev/zero", "it is a pipe or a device"),
                          (folder, "it is a folder"), (folder / "huge", "it is larger than")):
            (folder / "conf").write_text(f"include {path}\n")
            for words in ([path], [folder / "conf"], ["--port", free_port(), "--dir", folder, "--aclfile", path]):
                said = refused(*words)
                assert why in said and str(path) in said, (words, said)


def test_a_log_file_that_nothing_reads():
    with tempfile.TemporaryDirectory() as name:
        pipe = pathlib.Path(name) / "pipe"
        os.mkfifo(pipe)
        said = refused("--port", free_port(), "--dir", name, "--logfile", pipe)
        assert f"can't open the log file '{pipe}'" in said, said


def test_a_repair_follows_no_link():
    with tempfile.TemporaryDirectory() as name:
        script_log(name, 0)
        log = pathlib.Path(name, "appendonlydir")
        file = log / "appendonly.aof.1.incr.aof"
        other = pathlib.Path(name, "precious")
        file.write_text("*1\r\n$4\r\nPI")
        whole = file.read_text()
        file.rename(other)
        file.symlink_to(other)
        assert "it is a symbolic link, which is not followed" in refused("--check-aof", log, "--fix")
        assert other.read_text() == whole
        file.unlink()
        file.write_text(whole)
        (log / (file.name + ".before-fix")).symlink_to(other)
        other.write_text("precious")
        assert "it is a symbolic link, which is not followed" in refused("--check-aof", log, "--fix")
        assert other.read_text() == "precious" and file.read_text() == whole


def test_ping_wrong_words():
    for words in (("--wait",), ("--wait", "x"), ("--wait", "-1"), ("--wait", "1e99"), ("--wait", "nan"),
                  ("1:2:3",), ("127.0.0.1:1", "127.0.0.1:2"), ("--nothing", "1")):
        code, out, errors = ping(*words)
        assert code == 2 and not out and "--ping takes HOST:PORT" in errors, (words, errors)


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
