#!/usr/bin/python3
"""What each command answers while data are loaded, beside redis-server: both play the same log, in which a
script takes long, and are asked meanwhile. And what INFO says of it.

  loading.py [--server program] [--oracle program]
"""
import argparse
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server  # noqa: E402

# They end a server, change what the connection is, or are not allowed without options.
UNASKED = {"shutdown", "monitor", "sync", "psync", "replconf", "debug", "failover", "quit"}
# For both to be asked about everything; the servers are killed before.
ITERATIONS = 20_000_000_000
SCRIPT = "for i = 1, ARGV[1] do local x = i % 7 end"
LOADING = "-LOADING Redis is loading the dataset in memory"
PATIENCE = 30


def write_log(folder):
    log = pathlib.Path(folder, "appendonlydir")
    shutil.rmtree(log, ignore_errors=True)  # of a server that was killed as it began
    log.mkdir()
    log.joinpath("appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
    words = ["EVAL", SCRIPT, "0", str(ITERATIONS)]
    log.joinpath("appendonly.aof.1.incr.aof").write_text(
        f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words))


def rows(program):
    """Arity by full name."""
    server = Server(program)
    try:
        found = {}
        for row in wire.Connection(server.connect()).call("COMMAND")[1]:
            name, arity, subcommands = row[1][0][1].decode(), int(row[1][1][1]), row[1][9][1] or []
            found[name] = arity
            for sub in subcommands:
                found[sub[1][0][1].decode()] = int(sub[1][1][1])
        return found
    finally:
        server.stop()


def loading(program):
    """A server that loads, for ever."""
    server = Server(program, ("--appendonly", "yes", "--busy-reply-threshold", "1"), wait=False)
    server.process.kill()
    server.process.wait()
    write_log(server.folder)
    server.start(wait=False)
    return server


def asked(server, words):
    """The first line of the answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection = server.connect(PATIENCE)
            break
        except OSError:
            assert time.monotonic() < deadline, server.output()
            time.sleep(0.01)
    with connection:
        connection.sendall(f"*{len(words)}\r\n".encode() +
                           b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
        answer = b""
        while b"\r\n" not in answer:
            try:
                piece = connection.recv(65536)
            except TimeoutError as late:
                raise TimeoutError(f"no answer to {words}\n{server.output()}") from late
            if not piece:
                return "closed"
            answer += piece
        return answer.split(b"\r\n")[0].decode("latin-1")


def info(server):
    text = wire.Connection(server.connect(PATIENCE)).call("INFO", "persistence")[1].decode()
    return [line.split(":")[0] for line in text.splitlines() if "load" in line]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    ours, theirs = rows(options.server), rows(options.oracle)
    servers = [loading(options.server), loading(options.oracle)]
    faults, refused = [], 0
    try:
        for name in sorted(set(ours) & set(theirs)):
            words = name.split("|")
            if words[0] in UNASKED:
                continue
            words += ["1"] * (abs(theirs[name]) - len(words))
            answers = [asked(server, words) for server in servers]
            is_refused = [answer == LOADING for answer in answers]
            refused += is_refused[1]
            if is_refused[0] != is_refused[1]:
                faults.append(f"{' '.join(words)}: {answers}")
        for words in (["CONFIG", "SET", "appendonly", "no"], ["CONFIG", "SET", "dir", "/"],
                      ["CONFIG", "SET", "nothing", "1", "dir", "/"], ["CONFIG", "SET", "maxmemory", "0"], ["PING"],
                      ["PING", "x"], ["nothing"], ["GET"], ["MULTI"], ["EXEC"],
                      ["MODULE", "HELP"], ["MODULE", "LIST"]):
            answers = [asked(server, words) for server in servers]
            if answers[0] != answers[1]:
                faults.append(f"{' '.join(words)}: {answers}")
        fields = [info(server) for server in servers]
        if fields[0] != fields[1]:
            faults.append(f"INFO: {fields}")
    finally:
        for server in servers:
            server.process.kill()
            server.stop()
    if faults:
        sys.exit("\n".join(faults))
    assert refused > 100
    print(f"{refused} commands are refused while data load, as by redis-server")


main()
