"""The C++ files of the server, and their text without what is not code. For the checks beside it."""
import pathlib
import re

TOPS = ("protocol", "storage", "scripting", "server")

# In this order: what begins first is what it is. A ' between two digits begins nothing.
NOT_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|'
                      r"//[^\n]*|/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


def sources(root, tops=TOPS):
    """Yields (path, text) of every .h and .cc below these folders, the path relative to the root."""
    for top in tops:
        for file in sorted((pathlib.Path(root) / top).rglob("*")):
            if file.suffix in (".h", ".cc"):
                yield file.relative_to(root).as_posix(), file.read_text()


def code_of(text):
    """The text with blanks for comments, and for what stands in quotes; every place stays where it is."""
    def blank(match):
        found = match.group()
        kept = 1 if found[0] in "\"'" else 0
        return found[:kept] + re.sub(r"[^\n]", " ", found[kept:len(found) - kept]) + found[len(found) - kept:]
    return NOT_CODE.sub(blank, text)


def without_directives(code):
    """Blanks for #include, #define and the like, with the lines that continue them."""
    return DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
