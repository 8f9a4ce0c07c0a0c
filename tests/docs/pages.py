"""The code blocks of a page: what stands between ``` and ```, with the language that its first line names. Indented
blocks show grammar and bytes, and are not run."""
import pathlib
import re

FENCE = re.compile(r"^```(.*)$")


class Block:
    """lines: what it holds. line: where its first one stands in the page."""

    def __init__(self, page, line, language):
        self.page, self.line, self.language = page, line, language
        self.lines = []

    def __str__(self):
        return f"{self.page}:{self.line} ({self.language})"

    def text(self):
        return "".join(f"{line}\n" for line in self.lines)


def blocks(page):
    """All blocks of a page, in their order."""
    found, open_block = [], None
    for number, line in enumerate(pathlib.Path(page).read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if open_block:
            if fence:
                found.append(open_block)
                open_block = None
            else:
                open_block.lines.append(line)
        elif fence:
            open_block = Block(page, number + 1, fence[1].strip())
    if open_block:
        raise ValueError(f"{open_block} has no end")
    return found


def as_shown(shown, real):
    """Whether lines are as the page shows them; ... stands for any part of a line, for what no two runs share."""
    def matches(pattern, line):
        parts = map(re.escape, pattern.split("..."))
        return re.fullmatch(".*".join(parts), line.rstrip()) is not None
    return len(shown) == len(real) and all(map(matches, shown, real))
