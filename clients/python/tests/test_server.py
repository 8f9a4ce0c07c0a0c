"""Server and Space over the wire: clock, faults, journal, and how processes begin and end."""
import datetime
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import pytest
import redis

import sluice


@pytest.fixture(scope="module")
def server():
    with sluice.Server() as started:
        yield started


@pytest.fixture
def space(server):
    with server.space() as made:
        yield made


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ended(pid):
    """Its new parent may not have asked for it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# --- the clock

def test_frozen_clock(space):
    client = space.redis()
    space.clock.freeze(at=1_800_000_000)
    assert space.clock.now() == 1_800_000_000
    client.set("session", "alice", px=1500)
    space.clock.advance(1.499)
    assert client.get("session") == b"alice"
    space.clock.advance(ms=1)
    assert client.get("session") is None


def test_spans(space):
    start = datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc)
    space.clock.freeze(at=start)
    space.clock.advance(datetime.timedelta(days=1), hours=1, minutes=1, ms=1)
    assert space.clock.now_ms() == int(start.timestamp() + 86400 + 3660) * 1000 + 1


def test_next_timer(space):
    space.clock.freeze()
    assert space.clock.next() is None
    space.execute("SET", "k", "v", "PX", 2500)
    assert space.clock.next() == 2.5
    assert space.execute("GET", "k") is None


def test_step(space):
    """SET is no time that passes."""
    with space.clock.frozen() as clock:
        space.execute("SET", "k", "v", "EX", 10)
        clock.set(clock.now() + 3600)
        assert space.execute("PTTL", "k") == 10000
    moving = space.clock.now_ms()
    until(lambda: space.clock.now_ms() > moving)


# --- faults

def test_answer_lost_after_exec(space):
    client = space.redis(retry=None, retry_on_timeout=False)
    client.set("stock", 5)
    with space.faults.on("EXEC", after=True, times=1).close() as fault:
        with client.pipeline() as pipe, pytest.raises(redis.ConnectionError):
            pipe.decr("stock").execute()
        assert (fault.seen, fault.hits) == (1, 1)
    assert client.get("stock") == b"4"
    assert space.faults.list() == []


@pytest.mark.parametrize("state, phrase", [("LOADING", "loading"), ("READONLY", "read only"), ("OOM", "maxmemory"),
                                           ("MISCONF", "RDB"), ("NOREPLICAS", "replicas"), ("BUSY", "busy"),
                                           ("MASTERDOWN", "MASTER")])
def test_states(space, state, phrase):
    client = space.redis()
    space.faults.on("SET", key="user:*").state(state)
    client.set("session", "alice")
    with pytest.raises(redis.RedisError, match=phrase):
        client.set("user:17", "alice")


def test_words_of_rules(space):
    faults = space.faults
    made = [faults.on().split(), faults.on("GET", nth=2, times=3).truncate(7), faults.on("CONFIG SET").drop(),
            faults.on(client=7, args=3).error("no"), faults.on(name="w*", probability=0.5).delay(1.5, real=True),
            faults.on("SET", after=True).hang(), faults.on().moved("h:1"), faults.on().ask("h:1"),
            faults.on("PING").failover(), faults.add("COMMAND", "GET", "CLOSE")]
    assert [rule.id for rule in faults.list()] == [rule.id for rule in made]
    assert made[1].words == ["COMMAND", "GET", "NTH", "2", "TIMES", "3", "AFTER", "TRUNCATE", "7"]
    assert made[4].words == ["NAME", "w*", "PROB", "0.5", "BEFORE", "DELAY", "1500", "REAL"]
    assert faults.clear() == len(made)
    assert not made[0].delete()
    with pytest.raises(LookupError):
        made[0].hits
    with pytest.raises(sluice.ReplyError):
        faults.on("NO SUCH COMMAND").close()


def test_delay_by_the_clock(space):
    space.clock.freeze()
    fault = space.faults.on("GET").delay(60)
    answers = []
    caller = threading.Thread(target=lambda: answers.append(space.redis().get("k")))
    caller.start()
    until(lambda: fault.hits == 1)
    assert not answers
    space.clock.advance(60)
    caller.join()
    assert answers == [None]


# --- the journal

def test_journal(space):
    space.journal.start()
    client = space.redis()
    client.set("lock", "me", nx=True, px=1000)
    client.delete("lock")
    space.journal.expect("SET lock me PX * NX", "DEL lock", ordered=True)
    with pytest.raises(sluice.JournalMismatch, match="which no request matched"):
        space.journal.expect("EXPIRE lock *")
    with pytest.raises(AssertionError):
        space.journal.expect("DEL lock", "SET *", ordered=True)
    only, = space.journal.requests("SET *")
    assert only.words[:3] == ("SET", "lock", "me") and only.answer == "+OK" and only.fault is None
    assert "> DEL lock" in space.journal.export()
    space.journal.clear()
    space.journal.stop()
    assert space.journal.requests() == []


# --- spaces

def test_spaces(server):
    with server.space("one") as one, server.space("two") as two:
        one.execute("SET", "k", "one")
        assert two.execute("GET", "k") is None
        two.copy_from(one)
        assert two.execute("GET", "k") == b"one"
        assert redis.Redis(port=two.listen()).get("k") == b"one"
        assert {"default", "one", "two"} <= {info.name for info in server.spaces()}
        two.reset()
        assert two.execute("DBSIZE") == 0
    assert not {"one", "two"} & {info.name for info in server.spaces()}


def test_odd_names(server):
    with server.space("tests/a.py::t[x-@:/?#%41]") as space:
        redis.Redis.from_url(space.url).set("k", "v")
        assert space.execute("GET", "k") == b"v"
    with pytest.raises(sluice.ReplyError):
        server.space("with blanks").execute("PING")


def test_space_closes_its_clients(server):
    space = server.space()
    client = space.redis(retry=None, single_connection_client=True)
    client.ping()
    space.delete()
    with pytest.raises(redis.ConnectionError):
        client.ping()


# --- processes

def test_options_and_seed():
    with sluice.Server(options={"maxclients": 77, "tcp_keepalive": 5}, seed=17) as one, sluice.Server(seed=17) as two:
        assert one.execute("CONFIG", "GET", "maxclients") == [b"maxclients", b"77"]
        for server in (one, two):
            server.execute("SADD", "s", *range(100))
        assert one.execute("SPOP", "s", 10) == two.execute("SPOP", "s", 10)


def test_no_binary(monkeypatch):
    monkeypatch.delenv("SLUICE_BIN", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(sluice.BinaryNotFound, match="Linux on x86_64 and aarch64.*tools/run.*set SLUICE_BIN"):
        sluice.Server()
    with pytest.raises(sluice.BinaryNotFound, match="the argument names '/nowhere/sluice'"):
        sluice.Server("/nowhere/sluice")


def test_program_that_is_not_executable(tmp_path, monkeypatch):
    program = tmp_path / "sluice"
    program.touch(mode=0o644)
    monkeypatch.setenv("SLUICE_BIN", str(program))
    with pytest.raises(sluice.BinaryNotFound, match="SLUICE_BIN names .*, which is no program"):
        sluice.Server()
    program.chmod(0o755)
    program.write_bytes(b"\x7fELF\2\1\1".ljust(18, b"\0") + (243).to_bytes(46, "little"))  # for RISC-V
    made = []
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: made.append(tmp_path / "folder") or made[0].mkdir() or str(made[0]))
    with pytest.raises(sluice.ServerError, match="could not be started.*\n.*is a program for another processor, and this"):
        sluice.Server()
    assert not made[0].exists()


def test_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(sluice.ServerError, match="in use"):
            sluice.Server(options={"port": taken.getsockname()[1]})
        port = taken.getsockname()[1]
    with sluice.Server(options={"port": port}) as server:
        assert server.port == port and server.execute("PING") == "PONG"


def test_program_of_a_wheel(monkeypatch, tmp_path):
    """The wheel of this platform comes before PATH, and behind SLUICE_BIN."""
    (tmp_path / "sluice_server.py").write_text(f"def program(): return {str(tmp_path / 'carried')!r}", encoding="utf-8")
    carried = tmp_path / "carried"
    carried.symlink_to(os.environ["SLUICE_BIN"])
    monkeypatch.syspath_prepend(tmp_path)
    assert sluice.binary.find() == os.environ["SLUICE_BIN"]
    monkeypatch.delenv("SLUICE_BIN")
    try:
        assert sluice.binary.find() == str(carried)
        carried.unlink()
        carried.touch(mode=0o644)
        with pytest.raises(sluice.BinaryNotFound, match="not executable"):
            sluice.Server()
    finally:
        sys.modules.pop("sluice_server")


def test_wrong_option():
    with pytest.raises(sluice.ServerError, match="Bad directive"):
        sluice.Server(options={"nonsense": "yes"})


def test_no_server_at_all():
    with pytest.raises(sluice.ServerError, match="exit status"):
        sluice.Server("/bin/true")


def test_closing():
    server = sluice.Server()
    pid, folder = server.pid, server._folder
    server.execute("LOCK.ACQUIRE", "k", "me", "LEASE", 1000)
    server.close()
    server.close()
    assert ended(pid) and not os.path.exists(folder) and not server.alive()
    with pytest.raises(sluice.ConnectionLost):
        server.execute("PING")


def test_forgotten_object():
    pid = sluice.Server().pid
    until(lambda: ended(pid))


def test_server_dies():
    with sluice.Server() as server:
        server.execute("PING")
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(sluice.ConnectionLost):
            while True:
                server.execute("PING")


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(3)", "sys.exit()", "1 / 0"])
def test_process_ends(end):
    """However the tests' own process ends, no server is left behind; a thread that started it may end before."""
    script = textwrap.dedent(f"""
        import os, sys, threading, sluice
        servers = []
        thread = threading.Thread(target=lambda: servers.append(sluice.Server()))
        thread.start()
        thread.join()
        print(servers[0].pid, servers[0].execute("PING"), flush=True)
        {end}
    """)
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    pid, pong = done.stdout.split()
    assert pong == "PONG"
    until(lambda: ended(int(pid)))


def test_fork_leaves_it_alone():
    with sluice.Server() as server:
        server.execute("SET", "k", "v")
        child = os.fork()
        if child == 0:
            try:
                right = server.execute("GET", "k") == b"v"  # over a connection of its own
                server.close()
            finally:
                os._exit(0 if right else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert server.execute("GET", "k") == b"v"


def test_threads_share_a_connection():
    with sluice.Server() as server:
        def work():
            for _ in range(200):
                server.execute("INCR", "n")
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.execute("GET", "n") == b"1600"
