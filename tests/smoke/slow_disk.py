#!/usr/bin/python3
"""The files of time zones on a disk that is slow: a server goes on, and says so; a test double, and a database whose time is
moved by hand, give the same answers as on a fast one.

  slow_disk.py --server program --disk library [--library libsluice.so]

The library (slow_disk.cc) is preloaded.
"""
import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from server import ROOT, Server  # noqa: E402
from smoke import client, until  # noqa: E402

ZONES = "/usr/share/zoneinfo"
TAKE = ("LIMIT.TAKE", "k", "CALENDAR", 5, "DAY", "ZONE", "Europe/Berlin")
IN_A_PROCESS = """
import sluice
with sluice.Database(time="manual", unix_time=1_800_000_000) as db:
    assert db.execute(*{take!r})[b"remaining"] == 4
"""


def environment(disk):
    return {"LD_PRELOAD": str(disk), "TZDIR": ZONES}


def takes(connection):
    """Whether one of five was taken. It answers, but nothing yet: False."""
    kind, answer = connection.call(*TAKE)
    if kind == "-":
        assert answer == b"TRYAGAIN the rules of time zone 'Europe/Berlin' are still being read", answer
        return False
    assert answer[:3] == [(":", b"1"), (":", b"5"), (":", b"4")], answer
    return True


def a_server_goes_on(program, disk):
    with Server(program, environment=environment(disk)) as server:
        connection = client(server)
        assert not takes(connection)
        assert connection.call("PING") == ("+", b"PONG")
        until(lambda: takes(connection), "the zone is there")


def a_double_waits(program, disk):
    with Server(program, ("--test-double", "yes"), environment=environment(disk)) as server:
        assert takes(client(server))


def a_manual_time_waits(library, disk):
    inside = {**os.environ, **environment(disk), "SLUICE_LIBRARY": str(library), "PYTHONDONTWRITEBYTECODE": "1",
              "PYTHONPATH": str(ROOT / "clients/python/src")}
    subprocess.run(["/usr/bin/python3", "-c", IN_A_PROCESS.format(take=TAKE)], env=inside, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--disk", required=True)
    parser.add_argument("--library")
    chosen = parser.parse_args()
    a_server_goes_on(chosen.server, chosen.disk)
    a_double_waits(chosen.server, chosen.disk)
    if chosen.library:
        a_manual_time_waits(chosen.library, chosen.disk)
    print("slow disk: a server goes on, doubles wait")


if __name__ == "__main__":
    main()
