"""Command lines in redis-cli's quoting, as bytes."""
import re

WORD = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\'|[^'])*)'|([^\s"']+))""", re.S)
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)", re.S)
LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "a": "\a"}


def unescape(match):
    body = match.group(1)
    if body[0] == "x" and len(body) == 3:
        return chr(int(body[1:], 16))
    return LETTERS.get(body, body)


def split(text):
    words, at = [], 0
    text = text.strip()
    while at < len(text):
        match = WORD.match(text, at)
        if not match:
            raise ValueError(f"quotes: {text}")
        double, single, plain = match.groups()
        if double is not None:
            word = ESCAPE.sub(unescape, double)
        elif single is not None:
            word = single.replace("\\'", "'")
        else:
            word = plain
        words.append(word.encode("latin-1") if double is not None else word.encode())
        at = match.end()
    return words
