#!/usr/bin/python3
"""Checks that no hash table finds by bytes that clients choose under a hash that they can foresee.

A hash container in the sources names its hasher, unless it is keyed by numbers or addresses; and
hash functions that know no secret key stand only in the files of the table below, which says why.
Prints each breach as file:line and exits 1 if there is one.

  keyed_hashes.py [the source tree]
"""
import re
import sys

from lib import cpp

CONTAINER = re.compile(r"\b(?:absl::(?:flat|node)_hash_|std::unordered_(?:multi)?)(map|set)\s*<")
BOOST_INDEX = re.compile(r"\bhashed_(?:non_)?unique\s*<")
# Keys that need no secret: numbers that we give out, and addresses.
PLAIN_KEY = re.compile(r"(?:(?:std::)?(?:u?int(?:8|16|32|64)_t|size_t)|int|(?:const )?\w+\*|"
                       r"std::pair<(?:const )?\w+\*, (?:const )?\w+\*>)$")

UNKEYED = re.compile(r"\b(?:absl::Hash(?:Of)?\b|std::hash\b|boost::hash\b|XXH\w+)")
MAY_BE_UNKEYED = {
    "storage/types/digest.cc": "DIGEST's answer is XXH3, which clients compute too",
    "server/locks/fence_file.cc": "a checksum of the server's own file",
    "storage/log/turn_writer.cc": "digests of the server's own file",
    "server/notify/pubsub.h": "of a session's and a channel's address",
}


def template_arguments(text, begin):
    """The arguments of the template whose '<' is just before `begin`."""
    arguments, depth, first = [], 1, begin
    for at in range(begin, len(text)):
        if text[at] in "<(":
            depth += 1
        elif text[at] in ">)":
            depth -= 1
        if depth == 0 or (depth == 1 and text[at] == ","):
            arguments.append(" ".join(text[first:at].split()))
            first = at + 1
        if depth == 0:
            return arguments
    return arguments


def faults(path, text):
    """Yields (offset, sentence) for each breach in one file."""
    for match in CONTAINER.finditer(text):
        arguments = template_arguments(text, match.end())
        hasher = 2 if match.group(1) == "map" else 1
        if len(arguments) <= hasher and not PLAIN_KEY.match(arguments[0]):
            yield match.start(), f"keyed by {arguments[0]}: name its hasher (storage/hashing/key_hash.h)"
    for match in BOOST_INDEX.finditer(text):
        if len(template_arguments(text, match.end())) < 2:
            yield match.start(), "a hashed index: name its hasher (storage/hashing/key_hash.h)"
    if path not in MAY_BE_UNKEYED:
        for match in UNKEYED.finditer(text):
            yield match.start(), f"{match.group()} has no secret key: use storage/hashing/key_hash.h"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found = []
    for path, text in cpp.sources(root):
        code = cpp.code_of(text)
        found += [f"{path}:{cpp.line_of(code, at)}: {sentence}" for at, sentence in sorted(faults(path, code))]
    print("\n".join(found) or "hashes: every table that clients fill has a secret key")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
