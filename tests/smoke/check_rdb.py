#!/usr/bin/python3
"""`sluice --check-rdb FILE` lists what redis-server has saved, and says in a sentence what is wrong with
damaged files and with what is no file at all.

  check_rdb.py --server program
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, Server  # noqa: E402

LISTING = """\
Libraries of functions: 1
Database 0: 3 keys, 1 with a deadline
  1 list (quicklist)
  2 string (text)
Database 9: 1 keys, 0 with a deadline
  1 hash (listpack)
It is whole: its checksum is right.
"""

COMMANDS = ["SET a 1", "SET b 2 PX 100000000", "RPUSH l 1 2", "SELECT 9", "HSET h f v"]
LIBRARY = "#!lua name=one\nredis.register_function('f', function() return 1 end)"


def saved():
    server = Server(REDIS)
    try:
        with_redis = wire.Connection(server.connect())
        for command in COMMANDS:
            with_redis.call(*command.split())
        with_redis.call("FUNCTION", "LOAD", LIBRARY)
        assert with_redis.call("SAVE") == ("+", b"OK")
        return pathlib.Path(server.folder, "dump.rdb").read_bytes()
    finally:
        server.stop()


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.faults = program, pathlib.Path(folder), 0

    def check(self, path):
        done = subprocess.run([self.program, "--check-rdb", *([path] if path else [])], capture_output=True,
                              text=True, timeout=30, check=False)
        return done.returncode, done.stdout, done.stderr

    def expect(self, what, is_so, *seen):
        if not is_so:
            self.faults += 1
            print("wrong:", what, *seen, sep="\n")

    def refuses(self, path, sentence):
        code, _, told = self.check(path)
        self.expect(sentence, code == 1 and told == f"sluice: {sentence}\n", code, told)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)


def play(checks, whole):
    path = checks.file("whole", whole)
    code, listing, told = checks.check(path)
    checks.expect("a whole file", code == 0 and listing.endswith(LISTING) and not told, code, listing, told)
    checks.expect("its version", listing.startswith(f"{path}: RDB version 10, {len(whole)} bytes\n"), listing)
    path = checks.file("cut", whole[:-9])
    code, listing, told = checks.check(path)
    checks.expect("what is there of a cut file", code == 1 and "  2 string (text)\n" in listing, listing)
    checks.expect("where it is cut", f"{path}: offset {len(whole) - 9}: " in told, told)
    path = checks.file("twice", b"REDIS0010\xfe\0\0\1k\1v\0\1k\1v\xff" + bytes(8))
    checks.refuses(path, f'{path}: offset 16: key "k" in database 0: it is there twice')
    path = checks.file("empty", b"")
    checks.refuses(path, f"{path}: offset 0: the file is empty")
    path = checks.file("text", b"hello, world\n")
    checks.refuses(path, f'{path}: offset 0: this is no RDB file: it begins with "hello, wo", not with REDIS or VALKEY')
    checks.refuses(str(checks.folder), f"{checks.folder}: is a folder, not a file")
    pipe = str(checks.folder / "pipe")
    os.mkfifo(pipe)
    checks.refuses(pipe, f"{pipe}: is a pipe or a device, not a file")
    missing = str(checks.folder / "missing")
    checks.refuses(missing, f"{missing}: cannot be opened: No such file or directory")
    code, _, told = checks.check(None)
    checks.expect("no file", code == 2 and told == "sluice: --check-rdb takes one file\n", code, told)
    # Ten sparse gigabytes that claim to be one text.
    path = checks.file("sparse", b"REDIS0010\xfe\0\0\1k\x81\0\0\0\x10\0\0\0\0")
    os.truncate(path, 10 << 30)
    code, _, told = checks.check(path)
    checks.expect("a sparse file", code == 1 and told.startswith(f"sluice: {path}: offset 23: "), code, told)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(options.server, folder)
        play(checks, saved())
    print("ok" if not checks.faults else f"{checks.faults} faults")
    return 1 if checks.faults else 0


if __name__ == "__main__":
    sys.exit(main())
