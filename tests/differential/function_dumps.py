#!/usr/bin/python3
"""FUNCTION DUMP and RESTORE across Sluice and redis-server: each reads what the other wrote, under every
policy, and both answer the same to damaged payloads.

  function_dumps.py [--server program] [--oracle program]
"""
import argparse
import pathlib
import re
import struct
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server  # noqa: E402

POLYNOMIAL = 0x95AC9329AC4BC9B5  # Jones' CRC64, reflected
# Of several libraries that are there already each server names the first that it comes upon.
SOME = re.compile(rb"Library (one|two|three) already exists")

POLICIES = ((), ("APPEND",), ("REPLACE",), ("FLUSH",), ("replace",), ("NONE",), ("FLUSH", "x"))


def library(name, *functions, comment=""):
    return f"#!lua name={name}\n-- {comment}\n" + "".join(
        f"redis.register_function{{function_name='{function}', description='of {name}', "
        f"flags={{'no-writes', 'allow-oom'}}, callback=function(keys, args) "
        f"return {{'{name}', '{function}', keys, args}} end}}\n" for function in functions)


LIBRARIES = {
    "none": [],
    "one": [library("one", "f", "g")],
    "several": [library("one", "f"), library("two", "h", "i"), library("three", "j")],
    "same name": [library("one", "other")],
    "same function": [library("rival", "f")],
    "long": [library("long", "long_f", comment="word " * 20000)],  # Redis compresses it
    "medium": [library("medium", "medium_f", comment="x" * 200)],
    "any bytes": [library("bytes", "bytes_f", comment="".join(map(chr, range(1, 10))) + "\u00e9\u4e16")],
}


def fill(connection, libraries):
    assert connection.call("FUNCTION", "FLUSH") == ("+", b"OK")
    for code in libraries:
        assert connection.call("FUNCTION", "LOAD", code)[0] == "$"


def dump_of(connection, libraries):
    fill(connection, libraries)
    return connection.call("FUNCTION", "DUMP")[1]


def sort_key(value):
    return repr(value)


def state(connection):
    """All libraries, in an order that does not depend on the server."""
    found = connection.call("FUNCTION", "LIST", "WITHCODE")[1]
    return sorted(((kind, [item if item[0] != "*" else ("*", sorted(item[1], key=sort_key))
                           for item in fields]) for kind, fields in found), key=sort_key)


def crc64(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
    return crc


def sealed(body, version=10):
    """A body with a footer that fits it."""
    payload = body + struct.pack("<H", version)
    return payload + struct.pack("<Q", crc64(payload))


def damaged(payload):
    """Payloads cut and flipped, with the checksum that they had and with one that fits."""
    for at in range(len(payload)):
        yield payload[:at]
        yield payload[:at] + bytes([payload[at] ^ 0x41]) + payload[at + 1:]
    body = payload[:-10]
    for at in list(range(min(24, len(body)))) + [len(body) - 1]:
        yield sealed(body[:at])
        for flip in (0x01, 0x40, 0x80, 0xC0, 0xFF):
            yield sealed(body[:at] + bytes([body[at] ^ flip]) + body[at + 1:])
    yield payload[:-8] + b"\0" * 8
    for version in (0, 1, 9, 255, 65535):  # 11 and 12 are later servers'; only Sluice reads them
        yield sealed(body, version)
    yield sealed(body + b"\xf5")
    yield sealed(body + b"\xff")
    yield sealed(body + body)
    yield sealed(b"\xf5\x05hello")
    yield sealed(b"\xf5\xc0\x01")  # a number where text belongs
    yield sealed(b"\xf5\xc3\x01\x05a")  # compressed, and too short
    yield sealed(b"\xf5\x81" + struct.pack(">Q", 1 << 62) + b"x")
    code = library("two", "h").encode()
    for first in range(0x80, 0xC0):  # of these 0x80 and 0x81 are lengths
        for width in ">I", ">Q":
            yield sealed(b"\xf5" + bytes([first]) + struct.pack(width, len(code)) + code)


class Pair:
    """Both servers, asked the same; every difference is printed."""

    def __init__(self, ours, theirs):
        self.servers = (ours, theirs)
        self.count = self.different = 0

    def same(self, what, ask):
        ours, theirs = (ask(connection) for connection in self.servers)
        self.count += 1
        if ours != theirs:
            self.different += 1
            for mine, other in zip(ours, theirs):
                if mine != other:
                    print(f"{what}\n  ours   {str(mine)[:300]}\n  theirs {str(other)[:300]}")


def restored(before, payload, policy):
    def ask(connection):
        fill(connection, before)
        reply = connection.call("FUNCTION", "RESTORE", payload, *policy)
        reply = (reply[0], SOME.sub(b"Library ... already exists", reply[1]))
        return reply, state(connection), connection.call("FCALL", "f", 1, "key", "argument")
    return ask


def compare(pair):
    for name, libraries in LIBRARIES.items():
        for writer, connection in zip(("ours", "theirs"), pair.servers):
            payload = dump_of(connection, libraries)
            for before_name, before in LIBRARIES.items():
                for policy in POLICIES:
                    pair.same(f"dump of {name!r} by {writer} restored {policy} over {before_name!r}",
                              restored(before, payload, policy))
    for writer in pair.servers:
        payload = dump_of(writer, LIBRARIES["one"])
        for bad in damaged(payload):
            pair.same(f"damaged: {bad[:40]!r}... of {len(bad)}",
                      restored(LIBRARIES["same function"], bad, ("APPEND",)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    options = parser.parse_args()
    with Server(options.server) as ours, Server(options.oracle) as theirs:
        pair = Pair(wire.Connection(ours.connect()), wire.Connection(theirs.connect()))
        compare(pair)
        assert ours.alive(), ours.output()
    print(f"{pair.count} restores, {pair.different} differences")
    return 1 if pair.different or pair.count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
