#!/usr/bin/python3
"""Checks the comments of the C++ files.

A sentence names its subject: at most HEADLESS_MAX open with What, Of, Who or Those, which point at a
thing instead of naming it. Sentences of a paragraph follow each other: one that ends a line early, and
has the next begin a line of its own, was written at another moment (a seam). A function is explained
once: in the header, if the header has a comment on it. Prints each breach as file:line and exits 1 if
there is one.

  comments.py [the source tree] [--all: each headless sentence, too]
"""
import re
import sys

from lib import cpp

HEADLESS_MAX = 100
COLUMNS = 100

COMMENT = re.compile(r"^(?P<indent>[ \t]*)//(?P<text>.*)$")
HEADLESS = re.compile(r"(?:^|(?<=[.!?:;] ))(?:What|Of|Who|Whose|Those)\b(?! (?:is|are|does|do)\b[^.]*\?)")
ENDS = re.compile(r"[.!?]$")
OPENS = re.compile(r"[A-Z`]")
RULE = re.compile(r"^ ?-{3}|^ NOLINT|^ clang-format")
DECLARED = re.compile(r"^\s*(?:template\s*<[^>]*>\s*)?[\w:<>,&*\[\]\s~]*?(~?\w+)\(")
DEFINED = re.compile(r"^[\w:<>,&*\[\]\s]*?\b(\w+(?:::\w+)*)::(~?\w+)\(")
CLASS = re.compile(r"^\s*(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?(\w+)[^;]*$")


def blocks(text):
    """Yields (first line, [comment lines without //], indentation, line after it) of each block."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = COMMENT.match(lines[at])
        if not found:
            at += 1
            continue
        begin, indent, words = at, found["indent"], []
        while found and found["indent"] == indent:
            words.append(found["text"])
            at += 1
            found = COMMENT.match(lines[at]) if at < len(lines) else None
        yield begin + 1, words, len(indent), lines[at] if at < len(lines) else ""


def paragraphs(first, words):
    """Yields (line, [lines]) of the paragraphs of a block; what is indented is code, a list or a table."""
    kept = []
    for number, line in enumerate(words, first):
        if re.match(r" \S", line) and not RULE.match(line) and not re.match(r" [*\-|] ", line):
            kept.append((number, line[1:].rstrip()))
        else:
            if kept:
                yield kept[0][0], [text for _, text in kept]
            kept = []
    if kept:
        yield kept[0][0], [text for _, text in kept]


def headless(first, lines):
    """The line of each sentence that opens so."""
    text, starts = "", []
    for number, line in enumerate(lines, first):
        starts.append((len(text), number))
        text += line + " "
    for match in HEADLESS.finditer(text):
        yield max(number for start, number in starts if start <= match.start())


def seams(first, lines, indent):
    for number, (line, after) in enumerate(zip(lines, lines[1:]), first):
        next_word = after.split(" ")[0]
        fits = indent + len("// ") + len(line) + 1 + len(next_word) <= COLUMNS
        if ENDS.search(line) and OPENS.match(after) and fits:
            yield number


def explained_in(text):
    """The (class, function) pairs that a header has a comment on, classes by indentation."""
    found, scopes, commented = set(), [], False
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("//"):
            commented = True
            continue
        indent = len(line) - len(line.lstrip())
        if match := CLASS.match(line):
            scopes = [scope for scope in scopes if scope[0] < indent] + [(indent, match[1])]
        elif stripped.startswith("};"):
            scopes = [scope for scope in scopes if scope[0] < indent]
        elif commented and (match := DECLARED.match(line)):
            found.add((scopes[-1][1] if scopes else "", match[1]))
        commented = False
    return found


def explained_twice(text, header):
    """Yields the line of each comment on a function that the header explains."""
    known = explained_in(header)
    for first, _, indent, after in blocks(text):
        if indent == 0 and (match := DEFINED.match(after)):
            if (match[1].split("::")[-1], match[2]) in known:
                yield first, f"{match[2]} is explained in the header"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    root = arguments[0] if arguments else "."
    files = dict(cpp.sources(root))
    found, openings = [], []
    for path, text in files.items():
        for first, words, indent, _ in blocks(text):
            for line, paragraph in paragraphs(first, words):
                openings += [(path, at) for at in headless(line, paragraph)]
                found += [f"{path}:{at}: a sentence ends its line early: one comment, or two?"
                          for at in seams(line, paragraph, indent)]
        if path.endswith(".cc"):
            header = files.get(path[:-len("cc")] + "h", "")
            found += [f"{path}:{at}: {sentence}" for at, sentence in explained_twice(text, header)]
    if "--all" in sys.argv or len(openings) > HEADLESS_MAX:
        found += [f"{path}:{at}: a sentence opens with What, Of, Who or Those" for path, at in openings]
    print("\n".join(found) or f"comments: a function has one, and {len(openings)} sentences (of "
                              f"{HEADLESS_MAX}) open without naming their subject")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
