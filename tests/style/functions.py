#!/usr/bin/python3
"""Checks that every function fits a screen: 60 lines from its first word to its closing brace.

It reads braces. Those of namespaces and classes hold declarations, those of a function its body, all
others data, such as a table of rows; a static table inside a function is data too, and not counted. A
lambda in a function's body is part of that function, one in a table is a function of its own. Prints
each breach as file:line and exits 1 if there is one, or where it could not read a file.

  functions.py [the source tree]
"""
import re
import sys

from lib import cpp

LINES_MAX = 60

MARK = re.compile(r"[{};]|\b(?:public|protected|private):")
NOT_WORDS = re.compile(r"\[\[.*?\]\]|\balignas\([^()]*\)", re.S)
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|\[\]|[^\s\w(]+|(?=[\w(]))")
SCOPE = re.compile(r"(?:inline\s+)?namespace\b|extern\s+\"\s*\"$|"
                   r"(?:(?:constexpr|const|static|inline)\s+)*(?:class|struct|union)\b(?:[^(:]|::)*(?::(?!:)|$)")
TABLE = re.compile(r"\bstatic\s+const(?:expr)?\b[^;{}()]*\{")
UNCLOSED = "\0"
NAME = re.compile(r"[^(=]*?(~?\w[\w:~]*)\s*\(")
LAMBDA_ENDS = re.compile(r"(?:\bmutable|\bnoexcept|\bconstexpr|->[^(){}\[\];=,]*)$")
OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}


def opening(code, close, stop):
    """Where the bracket that closes at `close` opens, or `stop`."""
    depth, pair = 0, OPENING[code[close]]
    for at in range(close, stop, -1):
        depth += (code[at] == code[close]) - (code[at] == pair)
        if depth == 0:
            return at
    return stop


def closing(code, open_at):
    """Where the brace that opens at `open_at` closes."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, open_at):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def table_lines(code, begin, end):
    """How many lines static tables take in a function's body."""
    lines = 0
    for match in TABLE.finditer(code, begin, end):
        lines += code.count("\n", match.end(), closing(code, match.end() - 1))
    return lines


def outside_brackets(words):
    """Array<1> f(a, b) : x_{a}, y_(a, becomes Array f() : x_{}, y_( and a mark."""
    kept, depth = [], 0
    for char in words:
        depth -= char in ")]}"
        if depth == 0:
            kept.append(char)
        depth += char in "([{"
    top, found = "".join(kept).replace("->", "  "), 1
    while found:
        top, found = re.subn(r"<[^<>]*>", "", top)
    return top if depth == 0 else top + UNCLOSED


def without_template(words):
    """Without `template <...>` before a declaration."""
    while match := re.match(r"\s*template\s*<", words):
        depth, parens, at = 1, 0, match.end()
        while depth and at < len(words):
            parens += {"(": 1, ")": -1}.get(words[at], 0)
            depth += {"<": 1, ">": -1}.get(words[at], 0) if parens == 0 else 0
            at += 1
        words = words[at:]
    return words.strip()


def declarator(head):
    """What a declaration's first words say, without those that do not name it."""
    return OPERATOR.sub("operator", without_template(NOT_WORDS.sub("", head)))


def lambda_before(code, brace, stop):
    """Where the [...] of the lambda stands whose body this brace opens; None where it opens no such."""
    words = code[stop:brace].rstrip()
    while match := LAMBDA_ENDS.search(words):
        words = words[:match.start()].rstrip()
    for close in ")>":
        if words.endswith(close):
            words = words[:opening(words, len(words) - 1, -1)].rstrip()
    if not words.endswith("]"):
        return None
    captures = opening(words, len(words) - 1, -1)
    return None if captures < 0 or re.search(r"[\w)\]]$", words[:captures]) else stop + captures


def kind_of(head):
    """What a brace opens that follows these words in a scope: another scope, a function, or data."""
    top = outside_brackets(declarator(head)).rstrip()
    if SCOPE.match(top):
        return "scope"
    if re.match(r"enum\b", top) or "(" not in top:
        return "data"
    # Members that a constructor sets in braces come before its body.
    sets_member = re.search(r"\)[^:]*:(?!:)", top) and re.search(r"[\w>]$", top)
    return "data" if "=" in top or sets_member or top.endswith(UNCLOSED) else "function"


class Reader:
    """Walks over the braces of a file. `found` is what it saw: (line, lines, name) of each function."""

    def __init__(self, code):
        self.code = code
        self.kinds = ["scope"]  # of the braces that are open
        self.head_at = 0        # where the last declaration ended
        self.begin = 0          # of the outermost function that is open
        self.name = ""
        self.found = []

    def read(self):
        for match in MARK.finditer(self.code):
            if match.group() == "{":
                self.open(match.start())
            elif match.group() == "}":
                self.close(match.start())
            elif self.kinds[-1] == "scope":
                self.head_at = match.end()
        if len(self.kinds) != 1:
            raise ValueError(cpp.line_of(self.code, len(self.code)))
        return self.found

    def open(self, at):
        inside, begin = self.kinds[-1], self.head_at
        kind = kind_of(self.code[begin:at]) if inside == "scope" else inside
        captures = lambda_before(self.code, at, max(begin, at - 2000)) if kind == "data" else None
        if captures is not None:
            kind, begin = "function", captures
        if kind == "function" != inside:
            named = NAME.match(outside_brackets(declarator(self.code[begin:at])))
            self.begin, self.name = begin, named.group(1) if named and captures is None else "a lambda"
        if kind == "scope":
            self.head_at = at + 1
        self.kinds.append(kind)

    def close(self, at):
        if len(self.kinds) == 1:
            raise ValueError(cpp.line_of(self.code, at))
        kind = self.kinds.pop()
        is_lambda = kind == "function" and self.begin != self.head_at
        if kind == "function" != self.kinds[-1]:
            first = at - len(self.code[self.begin:at].lstrip())
            lines = self.code.count("\n", first, at) + 1 - table_lines(self.code, first, at)
            self.found.append((cpp.line_of(self.code, first), lines, self.name))
        # What follows the braces of data, or of a lambda, still belongs to the same declaration.
        if self.kinds[-1] == "scope" and kind != "data" and not is_lambda:
            self.head_at = at + 1


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found, count = [], 0
    for path, text in cpp.sources(root):
        try:
            for line, lines, name in Reader(cpp.without_directives(cpp.code_of(text))).read():
                count += 1
                if lines > LINES_MAX:
                    found.append(f"{path}:{line}: {name} has {lines} lines, more than {LINES_MAX}")
        except ValueError as unmatched:
            found.append(f"{path}:{unmatched}: the braces before this line do not match")
    print("\n".join(found) or f"functions: {count}, and each fits a screen")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
