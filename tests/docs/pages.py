"""The code blocks of a page: what stands between ``` and ```, with the language that its first line names, and what is
indented by four blanks and more behind an empty line, which names none."""
import pathlib
import re
import textwrap

FENCE = re.compile(r"^```(.*)$")


class Block:
    """lines: what it holds. line: where its first one stands in the page. heading: the nearest above it."""

    def __init__(self, page, line, language, heading=""):
        self.page, self.line, self.language, self.heading = page, line, language, heading
        self.lines = []

    def __str__(self):
        return f"{self.page}:{self.line} ({self.language or 'indented'})"

    def text(self):
        return "".join(f"{line}\n" for line in self.lines)


def numbered(page):
    return enumerate(pathlib.Path(page).read_text(encoding="utf-8").splitlines(), 1)


def blocks(page):
    """All blocks between ``` and ```, in their order."""
    found, open_block, heading = [], None, ""
    for number, line in numbered(page):
        fence = FENCE.match(line)
        if open_block:
            if fence:
                found.append(open_block)
                open_block = None
            else:
                open_block.lines.append(line)
        elif fence:
            open_block = Block(page, number + 1, fence[1].strip(), heading)
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    if open_block:
        raise ValueError(f"{open_block} has no end")
    return found


def indented_blocks(page):
    """All others: lines with four blanks or more before them, without those that all have, and no empty lines."""
    found, open_block, heading, fenced, empty = [], None, "", False, True
    for number, line in numbered(page):
        fenced ^= FENCE.match(line) is not None
        if line.startswith("    ") and (empty or open_block) and not fenced:
            if not open_block:
                open_block = Block(page, number, "", heading)
                found.append(open_block)
            open_block.lines.append(line)
        elif line.strip():
            open_block = None
            if line.startswith("#") and not fenced:
                heading = line.lstrip("# ")
        empty = not line.strip()
    for block in found:
        block.lines = textwrap.dedent(block.text()).splitlines()
    return found


def as_shown(shown, real):
    """Whether lines are as the page shows them; ... stands for any part of a line, for what no two runs share."""
    def matches(pattern, line):
        parts = map(re.escape, pattern.split("..."))
        return re.fullmatch(".*".join(parts), line.rstrip()) is not None
    return len(shown) == len(real) and all(map(matches, shown, real))
