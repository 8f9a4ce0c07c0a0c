#!/usr/bin/python3
"""INFO has every field of redis-server's INFO, under the same title and in the same order. What Sluice has
besides may stand anywhere; what it leaves out on purpose is in MISSING, with its reason.

  info_fields.py [--server program] [--oracle program]
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server  # noqa: E402

MISSING = {}  # "Section field": why

# Lines that there are for each command, error or database.
COUNTED = re.compile(r"^(cmdstat_|errorstat_|latency_percentiles_usec_|db\d+$)")
# What a client does to both, so that fields that only then appear do.
TRAFFIC = (("SET", "k", "v"), ("GET", "k"), ("INCR", "k"), ("EVAL", "return 1", "0"))


def fields(program):
    server = Server(program)
    try:
        asking = wire.Connection(server.connect())
        for request in TRAFFIC:
            asking.call(*request)
        text = asking.call("INFO", "everything")[1].decode()
    finally:
        server.stop()
    sections, title = {}, None
    for line in text.splitlines():
        if line.startswith("# "):
            title = line[2:]
            sections[title] = []
        elif ":" in line and not COUNTED.match(line.split(":")[0]):
            sections[title].append(line.split(":")[0])
    return sections


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    ours, theirs = fields(options.server), fields(options.oracle)
    faults = [f"no section {title}" for title in theirs if title not in ours]
    shared = [title for title in ours if title in theirs]
    if shared != [title for title in theirs if title in ours]:
        faults.append(f"sections in another order: {shared}")
    count = 0
    for title in shared:
        wanted = [name for name in theirs[title] if f"{title} {name}" not in MISSING]
        faults += [f"{title}: no {name}" for name in wanted if name not in ours[title]]
        if len(set(ours[title])) < len(ours[title]):
            faults.append(f"{title}: a field twice")
        have = [name for name in ours[title] if name in wanted]
        if sorted(have) == sorted(wanted) and have != wanted:
            faults.append(f"{title}: in another order: {have}")
        count += len(wanted)
    if faults:
        sys.exit("\n".join(faults))
    print(f"{count} fields as redis-server has them")


main()
