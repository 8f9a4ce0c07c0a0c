#!/usr/bin/python3
"""Makes programs of the code in a page of the documentation, for the build to compile and a test to run.

  recipes.py page.md out.cc out.c
  recipes.py page.md out.cc

Each ```cpp block becomes a function of one program, with its #include lines before; one with a main is left to
tests/embed/installed.py, which builds it as it stands. The ```c block is a program itself. In the second form the
```cpp blocks are one program as they stand.
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
HEAD = """// Made of {page} by tests/embed/recipes.py.
#undef NDEBUG
#include <poll.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sluice/database.h"
#include "sluice/server.h"
#include "sluice/shared_database.h"

"""


def blocks(page, kind):
    return [text for language, text in BLOCK.findall(page.read_text()) if language == kind]


def program(page):
    functions = []
    for text in blocks(page, "cpp"):
        if "int main" not in text:
            functions.append(f"static void Recipe{len(functions) + 1}() {{\n{text}}}\n")
    calls = "".join(f'  std::puts("recipe {i + 1}");\n  Recipe{i + 1}();\n' for i in range(len(functions)))
    assert functions, f"{page} has no code"
    return HEAD.format(page=page.name) + "\n".join(functions) + "\nint main() {\n" + calls + "}\n"


def main():
    page, cpp, *c = map(pathlib.Path, sys.argv[1:4])
    if not c:
        return cpp.write_text("\n".join(blocks(page, "cpp")))
    cpp.write_text(program(page))
    c[0].write_text("#undef NDEBUG\n" + "\n".join(blocks(page, "c")))


if __name__ == "__main__":
    main()
