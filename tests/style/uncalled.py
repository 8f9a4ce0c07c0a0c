#!/usr/bin/python3
"""Checks that the program, a test or a tool uses every function that a header declares.

It counts words: a function is uncalled if its name stands nowhere but where it is declared and defined.
A name that two functions share is used if one of them is. Prints each breach as file:line and exits 1
if there is one.

  uncalled.py [the source tree]
"""
import collections
import re
import sys

from lib import cpp

USERS = cpp.TOPS + ("tests", "tools", "examples")
# Called by GoogleTest, whose functions they override, and by Boost's pointers, for whose objects they are there.
CALLED_BY_OTHERS = {"SetUp", "TearDown", "SetUpTestSuite", "TearDownTestSuite", "intrusive_ptr_add_ref",
                    "intrusive_ptr_release"}

TYPE = r"[\w:]+(?:<[^;(){}]*>)?(?:::\w+)*(?:\s+const)?\s*[&*]*\s+[&*]*"
SPECIFIERS = r"(?:(?:virtual|static|inline|constexpr|explicit|friend|extern|const|\[\[\w+\]\])\s+)*"
DECLARED = re.compile(rf"^ {{0,6}}(?:template <[^\n]*>\s*)?{SPECIFIERS}(?P<type>{TYPE})(?P<name>\w+)\(", re.M)
DEFINED = re.compile(r"^[\w:<>,&*\[\] ]*?\b\w+(?:<\w+>)?::(?P<name>\w+)\([^;]*?\)[^;{]*\{", re.M)
STATEMENT = re.compile(r"\s*(?:return|else|new|delete|throw|case|using|co_return)\b")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    words, declared = collections.Counter(), collections.defaultdict(list)
    for path, text in cpp.sources(root, USERS):
        code = cpp.without_directives(cpp.code_of(text))
        words.update(re.findall(r"\b\w+\b", code))
        if not path.startswith(cpp.TOPS):
            continue
        for match in DECLARED.finditer(code):
            if not STATEMENT.match(match["type"]):
                declared[match["name"]].append(f"{path}:{cpp.line_of(code, match.start('name'))}")
        words.subtract(match["name"] for match in DEFINED.finditer(code))
    found, count = [], 0
    for name, places in declared.items():
        in_headers = [place for place in places if ".h:" in place]
        count += len(in_headers)
        if in_headers and name not in CALLED_BY_OTHERS and words[name] <= len(places):
            found.append(f"{in_headers[0]}: nothing calls {name}")
    print("\n".join(found) or f"uncalled: none of the {count} functions that headers declare")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
