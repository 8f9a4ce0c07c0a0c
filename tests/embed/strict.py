#!/usr/bin/python3
"""Compiles programs that use the public headers as their users may: with all warnings, which are errors, by each compiler.

  strict.py --headers build/include [--source .]

options.cc, the examples, and the code of the pages. Nothing is linked or run: the flags are what is tried.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import recipes

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
# Each language with the compilers that are tried where they are there; the first of each has to be.
COMPILERS = {"-std=c++20": ("g++", "clang++-14", "clang++"), "-std=c99": ("gcc", "clang-14", "clang")}


def programs(source, work):
    """The path of each program, by its language."""
    (work / "page.cc").write_text(recipes.program(source / "docs/embedding.md"))
    (work / "page.c").write_text("\n".join(recipes.blocks(source / "docs/embedding.md", "c")))
    cpp = [source / "tests/embed/options.cc", *sorted((source / "examples").glob("*.cc")), work / "page.cc"]
    return {"-std=c++20": cpp, "-std=c99": [*sorted((source / "examples").glob("*.c")), work / "page.c"]}


def complaints(compiler, language, program, headers):
    command = [compiler, language, *STRICT, f"-I{headers}", str(program)]
    return subprocess.run(command, text=True, capture_output=True).stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--headers", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        for language, paths in programs(arguments.source, pathlib.Path(work)).items():
            first, *others = COMPILERS[language]
            second = next((name for name in others if shutil.which(name)), None)
            for compiler in filter(None, (first, second)):
                for path in paths:
                    if said := complaints(compiler, language, path, arguments.headers):
                        sys.exit(f"{compiler} {path.name}:\n{said[-3000:]}")
                print("ok", compiler, *(path.name for path in paths), flush=True)


if __name__ == "__main__":
    main()
