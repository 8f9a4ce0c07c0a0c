#!/usr/bin/python3
"""Checks that code which means to give memory back does: `text = std::string()` and, after a look at the
capacity, `text = {}` keep the block; FreeMemory (protocol/text/free_memory.h) does not. Prints each breach as
file:line and exits 1 if there is one.

  freed.py [the source tree]
"""
import re
import sys

from lib import cpp

KEEPS = re.compile(r"[ \t]=[ \t]std::string(?:\(\)|\{\});"
                   r"|capacity\(\)[ \t]*>[^;}]*[ \t]=[ \t]\{\};")
DECLARES = re.compile(r"\b(?:auto|const|std::string)[ \t]+[&*]?\w+$")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found, count = [], 0
    for path, text in cpp.sources(root):
        code = cpp.code_of(text)
        count += 1
        for match in KEEPS.finditer(code):
            line = code[code.rfind("\n", 0, match.start()) + 1:match.start()]
            if not DECLARES.search(line):
                found.append(f"{path}:{cpp.line_of(code, match.start())}: keeps the block; say FreeMemory")
    print("\n".join(found) or f"freed: {count} files give memory back where they mean to")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
