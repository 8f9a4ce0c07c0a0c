#!/usr/bin/python3
"""Checks the texts of the repository, without compiling anything.

Every .h and .cc opens with a comment that says what it is for, and none of their lines is longer than
100 columns. Every relative link in a .md leads to a file or folder that is there. Prints each breach
as file:line and exits 1 if there is one.

  texts.py [the source tree]
"""
import os
import pathlib
import re
import sys

COLUMNS_MAX = 100
CODE = (".h", ".cc")
SKIPPED = re.compile(r"^(\..*|build.*|node_modules|__pycache__)$")  # folders

LINK = re.compile(r"\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"^([a-z]+:|#)")  # another site, or a heading of the same page


def files(root):
    """Every C++ file and every page, relative to the root."""
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not SKIPPED.match(name))
        for name in sorted(names):
            if name.endswith(CODE) or name.endswith(".md"):
                yield (pathlib.Path(folder) / name).relative_to(root)


def check_code(lines):
    """Yields (line, sentence) for each breach."""
    if not lines or not lines[0].startswith("//"):
        yield 1, "no comment says what this file is for"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns, more than {COLUMNS_MAX}"


def check_page(folder, lines):
    """Yields (line, sentence) for each link that leads nowhere; code blocks have none."""
    in_code = False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            in_code = not in_code
        if in_code or line.startswith("    "):
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            path = target.split("#")[0]
            if not ELSEWHERE.match(target) and not (folder / path).exists():
                yield number, f"the link to {path} leads nowhere"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found, count = [], 0
    for path in files(root):
        lines = (root / path).read_text().split("\n")
        page = path.suffix == ".md"
        breaches = check_page((root / path).parent, lines) if page else check_code(lines)
        found += [f"{path}:{number}: {sentence}" for number, sentence in breaches]
        count += 1
    print("\n".join(found) or f"texts: {count} files open and end as they should, no link is dead")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
