#!/usr/bin/python3
"""The log on a real disk in trouble. Its folder and its files are removed, moved and replaced under the server:
changes are refused, and all is written anew. And the file system is full, and has room again, again and again, while
the log is written anew: what was acknowledged is there after kill -9 and after SIGTERM, and no start refuses what the
server wrote. Clients' own records are the judge.

  disk_trouble.py --server program [--seconds 8] [--seed N]

The full file system is an image of 2 MB (ext4), mounted in a mount namespace of its own; without the rights for
that this part is skipped (status 77).
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import wire  # noqa: E402
from server import SLUICE, Server, first_seed  # noqa: E402

CLIENTS = 3
SKIPPED = 77
INSIDE = "SLUICE_FULL_DISK"  # set in the namespace


class Record:
    """What one client asked for and was told, over all servers."""

    def __init__(self, number):
        self.key = f"count:{number}"
        self.asked = 0
        self.count = 0  # the last that was acknowledged


def count_up(server, record, stop):
    """Until it is to stop: a server in trouble closes connections, and refuses."""
    client = None
    while not stop.is_set():
        try:
            client = client or wire.Connection(server.connect())
            record.asked += 1
            answer = client.call("INCR", record.key)
            if answer is None:
                raise EOFError
            if answer[0] == ":":
                assert int(answer[1]) > record.count, (record.key, answer, record.count)
                record.count = int(answer[1])
            else:
                assert answer[1].startswith(b"MISCONF"), answer
                time.sleep(0.005)
        except (OSError, EOFError):
            client = None
            time.sleep(0.005)


def fill(path):
    """Takes what is left of the disk, but for some bytes."""
    try:
        with open(path, "ab", buffering=0) as ballast:
            while ballast.write(bytes(16 * 1024)):
                pass
    except OSError:
        pass


def trouble(server, ballast, chance, until):
    """The disk is full, and has room again; and the log is written anew in the midst of it."""
    while time.monotonic() < until:
        fill(ballast)
        ask(server, "BGREWRITEAOF")
        time.sleep(chance.uniform(0, 0.3))
        if chance.random() < 0.5 and ballast.exists():
            os.truncate(ballast, ballast.stat().st_size // 2)  # a little room
            time.sleep(chance.uniform(0, 0.1))
        ballast.unlink(missing_ok=True)
        ask(server, "BGREWRITEAOF")
        time.sleep(chance.uniform(0, 0.4))


def ask(server, *request):
    try:
        return wire.Connection(server.connect()).call(*request)
    except (OSError, EOFError):
        return None


def check(server, records):
    wait_until_loaded(server)
    for record in records:
        value = int(ask(server, "GET", record.key)[1] or 0)
        assert record.count <= value <= record.asked, (record.key, record.count, value, record.asked)
        record.count = value


def run(options, folder, fsync, chance, until):
    records = [Record(number) for number in range(CLIENTS)]
    ballast = folder / "ballast"
    cycles = 0
    server = Server(options.server, ["--appendonly", "yes", "--appendfsync", fsync, "--dir", str(folder)])
    try:
        while cycles == 0 or time.monotonic() < until:
            stop = threading.Event()
            threads = [threading.Thread(target=count_up, args=(server, record, stop)) for record in records]
            for thread in threads:
                thread.start()
            trouble(server, ballast, chance, min(until, time.monotonic() + chance.uniform(0.3, 1.5)))
            if chance.random() < 0.5:
                server.kill()
            else:
                server.process.send_signal(signal.SIGTERM)
                server.process.wait(60)
            stop.set()
            for thread in threads:
                thread.join()
            ballast.unlink(missing_ok=True)
            server.start()
            check(server, records)
            cycles += 1
    except BaseException:
        print(server.output(20_000))
        raise
    finally:
        server.stop()
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    told = sum(record.count for record in records)
    print(f"{fsync}: {cycles} times, {told} increments acknowledged, none lost")


def replace(path):
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def written_anew(server, act):
    """Somebody does that to the log; what was written before, meanwhile and behind it is kept."""
    ask(server, "INCR", "n")
    before = rewrites(server)
    act(pathlib.Path(server.folder, "appendonlydir"))
    ask(server, "INCR", "n")
    deadline = time.monotonic() + 30
    while rewrites(server) == before or (ask(server, "INCR", "n") or "-")[0] != ":":
        assert time.monotonic() < deadline, server.output()
        time.sleep(0.02)
    wanted = ask(server, "GET", "n")
    server.restart()
    wait_until_loaded(server)
    assert ask(server, "GET", "n") == wanted, (wanted, ask(server, "GET", "n"))


def rewrites(server):
    lines = ask(server, "INFO", "persistence")[1].split(b"\r\n")
    return next(line for line in lines if line.startswith(b"aof_rewrites:"))


def wait_until_loaded(server):
    while b"loading:1" in ask(server, "INFO", "persistence")[1]:
        time.sleep(0.005)


def touched_by_others(options):
    server = Server(options.server, ["--appendonly", "yes"])
    try:
        written_anew(server, shutil.rmtree)
        written_anew(server, lambda folder: folder.rename(folder.with_name("moved")))
        written_anew(server, lambda folder: replace(folder / "appendonly.aof.manifest"))
        written_anew(server, lambda folder: next(folder.glob("*.incr.aof")).unlink())
        written_anew(server, lambda folder: os.truncate(next(folder.glob("*.incr.aof")), 10))
    finally:
        server.stop()
    print("removed, moved, replaced and cut by others: written anew")


def mounted(folder):
    """Mounts an image of 2 MB; False: it cannot be."""
    image = folder / "image"
    with open(image, "wb") as file:
        file.truncate(2 * 1024 * 1024)
    for command in (["mkfs.ext4", "-q", "-F", image], ["mount", "-o", "loop", image, folder / "disk"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError as missing:
            print(missing)
            return False
        if done.returncode != 0:
            print(done.stderr.strip())
            return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seed", type=int, default=first_seed())
    options = parser.parse_args()
    may_mount = os.geteuid() == 0 and shutil.which("unshare")
    if may_mount and INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    print(f"seed {options.seed}")
    touched_by_others(options)
    chance = random.Random(options.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-full-"))
    disk = folder / "disk"
    disk.mkdir()
    try:
        if not may_mount or not mounted(folder):
            print("the full disk is skipped: no file system can be mounted")
            return SKIPPED
        for fsync in ("always", "everysec"):
            run(options, disk, fsync, chance, time.monotonic() + options.seconds / 2)
    finally:
        subprocess.run(["umount", disk], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
