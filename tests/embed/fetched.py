#!/usr/bin/python3
"""Configures projects that have Sluice fetched: examples/fetch_content, and one made of docs/embedding.md.

  fetched.py [--source .]

Configuring shows targets, options and flags. Nothing is built: that would be all of Sluice once more, which builds of the
tree do.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import recipes

HEAD = "cmake_minimum_required(VERSION 3.22)\nproject(outer LANGUAGES CXX)\n"
# A project may have these options of its own packages, too.
FOREIGN = ("CMAKE_", "FETCHCONTENT_", "Boost_")


def configured(folder, build, *more):
    """The commands that would compile it, and its cache."""
    done = subprocess.run(["cmake", "-S", folder, "-B", build, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *more],
                          text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{folder}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads((build / "compile_commands.json").read_text()), (build / "CMakeCache.txt").read_text()


def check(name, build, commands, cache):
    [own] = [each["command"] for each in commands if each["file"].endswith("/app.cc")]
    leaked = [flag for flag in own.split() if flag.startswith(("-W", "-O", "-flto", "-fno-strict", "-D"))]
    assert not leaked, own
    headers = re.search(r"-(?:I|isystem )(\S+/include)\b", own)
    assert headers and (pathlib.Path(headers[1]) / "sluice/database.h").exists(), own
    library = [each for each in commands if "/server/embed/" in each["command"] or "server_embed" in each["command"]]
    assert library, "libsluice is not built along"
    tests = [each["file"] for each in commands if "/tests/" in each["file"]]
    assert not tests, tests[:3]
    options = re.findall(r"^(\w+):BOOL=", cache, re.M)
    strange = [option for option in options if not option.startswith(("SLUICE_", *FOREIGN))]
    assert not strange, strange
    plan = subprocess.run(["ninja", "-C", build, "-t", "query", "app"], text=True, capture_output=True).stdout
    assert "libsluice.a" in plan, plan
    print("ok", name, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    source = parser.parse_args().source
    page = source / "docs/embedding.md"
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        build = work / "example"
        check("the example", build, *configured(source / "examples/fetch_content", build))
        for number, text in enumerate(text for text in recipes.blocks(page, "cmake") if "FetchContent" in text):
            folder = work / f"page-{number}"
            folder.mkdir()
            shutil.copy(source / "examples/fetch_content/app.cc", folder / "app.cc")
            (folder / "CMakeLists.txt").write_text(HEAD + text)
            # The repository and the folder that the page names are the reader's.
            here = f"-DFETCHCONTENT_SOURCE_DIR_SLUICE={source}"
            check(f"block {number + 1} of the page", folder / "build", *configured(folder, folder / "build", here))


if __name__ == "__main__":
    main()
