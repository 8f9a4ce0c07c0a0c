#!/usr/bin/python3
"""Installs a build, and uses what is installed, and nothing else, as its users do.

  installed.py --build build [--source .]

The examples and the whole programs of docs/embedding.md are built and run by CMake and pkg-config; the
libraries show what they may and no more, beside a Lua of the host's own; and libsluice.so is small and quick to load.
"""
import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import recipes

SO_BYTES_MAX = 8 << 20
STARTS = 200


def run(*command, **options):
    """Its standard output; the test ends where it fails."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


class Installed:
    def __init__(self, build, source, work):
        self.source = source
        self.work = work
        self.prefix = work / "prefix"
        for library in build.glob("libsluice.[as]*"):  # tools/run builds none
            library.unlink()
        run("cmake", "--install", build, "--prefix", self.prefix)
        self.lib = next(self.prefix.glob("lib*/**/libsluice.so")).parent
        self.environment = dict(os.environ, PKG_CONFIG_PATH=str(self.lib / "pkgconfig"),
                                LD_LIBRARY_PATH=str(self.lib))

    def flags(self, package):
        return run("pkg-config", "--cflags", "--libs", package, env=self.environment).split()

    def compiled(self, name, text, *flags, compiler="cc"):
        """The path of a program made of that text."""
        source = self.work / (name + (".c" if compiler == "cc" else ".cc"))
        source.write_text(text)
        run(compiler, "-o", self.work / name, source, *flags)
        return self.work / name


def what_is_there(at):
    for path in ("bin/sluice", "share/man/man1/sluice.1", "share/doc/sluice/LICENSE", "include/sluice/database.h",
                 "include/sluice/sluice_c.h"):
        assert (at.prefix / path).exists(), path
    for header in (at.prefix / "include/sluice").iterdir():
        for included in re.findall(r'#include "([^"]+)"', header.read_text()):
            assert (at.prefix / "include" / included).exists(), f"{header.name} includes {included}"
    assert "0.1.0" in run(at.prefix / "bin/sluice", "--version")
    run("man", "--warnings", "-l", at.prefix / "share/man/man1/sluice.1") if shutil.which("man") else None


def symbols(at):
    so = at.lib / "libsluice.so"
    shown = [line.split()[-1] for line in run("nm", "-D", "--defined-only", so).splitlines()]
    strange = [name for name in shown if not name.startswith("sluice_")]
    assert shown and not strange, strange[:5]
    dynamic = run("readelf", "-dW", so)
    assert re.search(r"SONAME.*\[libsluice\.so\.0\]", dynamic), dynamic
    needed = set(re.findall(r"NEEDED.*\[([^]]+)\]", dynamic))
    assert needed <= {"liblzf.so.1", "libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2"}, needed
    seen = [line.split()[-1] for line in run("nm", "--defined-only", "--extern-only", at.lib / "libsluice.a").splitlines()
            if len(line.split()) == 3]
    strange = [name for name in seen if not name.startswith("sluice_") and "6sluice2v1" not in name]
    assert seen and not strange, strange[:5]


def examples(at):
    build = at.work / "examples"
    run("cmake", "-S", at.source / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={at.prefix}", "-DCMAKE_BUILD_TYPE=Debug")
    run("cmake", "--build", build, "-j2")
    run("ctest", "--test-dir", build, "--output-on-failure", env=at.environment)


def programs_of_the_page(at):
    page = at.source / "docs/embedding.md"
    app = next(text for text in recipes.blocks(page, "cpp") if "int main" in text)
    found = next(text for text in recipes.blocks(page, "cmake") if "find_package" in text)
    folder = at.work / "app"
    folder.mkdir()
    (folder / "app.cc").write_text(app)
    (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.22)\nproject(app LANGUAGES CXX)\n" + found)
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={at.prefix}")
    run("cmake", "--build", folder / "build")
    assert run(folder / "build/app") == "hello\n"
    shutil.copy(at.source / "examples/lock.c", folder / "lock.c")
    [shell] = recipes.blocks(page, "sh")
    run("sh", "-ec", shell, cwd=folder, env=at.environment)
    assert run(folder / "app") == "hello\n"
    run(folder / "lock", env=at.environment)
    [c] = recipes.blocks(page, "c")
    run(at.compiled("page", c, *at.flags("sluice")), env=at.environment)


LUA_HOST = r"""
#include <assert.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <sluice/sluice_c.h>

/* A Lua of the host's own, linked statically, beside the one that is in libsluice.so. */
int main(void) {
  lua_State* lua = luaL_newstate();
  luaL_openlibs(lua);
  sluice_db* db = sluice_open(NULL, NULL, 0, NULL, 0);
  const char* words[] = {"EVAL", "return redis.call('INCR', 'n')", "0"};
  for (int i = 1; i <= 100; ++i) {
    sluice_reply* reply = sluice_run(db, 3, words, NULL);
    assert(sluice_reply_integer(reply) == i);
    sluice_reply_free(reply);
    assert(luaL_dostring(lua, "n = (n or 0) + 1; return n") == 0);
    assert(lua_tointeger(lua, -1) == i);
    lua_pop(lua, 1);
  }
  lua_close(lua);
  return sluice_close(db, NULL, 0);
}
"""


def beside_a_lua_of_its_own(at):
    lua = run("pkg-config", "--cflags", "lua5.1").split()
    archive = run("cc", "-print-file-name=liblua5.1.a").strip()
    for order in ([*at.flags("sluice"), archive], [archive, *at.flags("sluice")]):
        run(at.compiled("lua_host", LUA_HOST, *lua, *order, "-lm", "-ldl", "-Wl,-E"), env=at.environment)


HELLO = r"""
#include <sluice/sluice_c.h>
#include <stdio.h>
int main(void) {
  sluice_db* db = sluice_open(NULL, NULL, 0, NULL, 0);
  const char* words[] = {"PING", "hello"};
  sluice_reply* reply = sluice_run(db, 2, words, NULL);
  puts(sluice_reply_text(reply, NULL));
  sluice_reply_free(reply);
  return sluice_close(db, NULL, 0);
}
"""


def cpu_of(program, environment):
    """Microseconds of CPU of one run, the mean of many."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (usage.ru_utime + usage.ru_stime) * 1e6
    begin = used()
    for _ in range(STARTS):
        subprocess.run([program], stdout=subprocess.DEVNULL, env=environment, check=True)
    return (used() - begin) / STARTS


def size_and_start(at):
    """The size has a bar; times are printed, as tests do not assert on them (tools/microbench/embed.cc does)."""
    stripped = at.work / "stripped.so"
    run("strip", "-o", stripped, at.lib / "libsluice.so")
    size = stripped.stat().st_size
    assert size <= SO_BYTES_MAX, size
    hello = at.compiled("hello", HELLO, *at.flags("sluice"))
    empty = at.compiled("empty", "int main(void) { return 0; }\n")
    assert run(hello, env=at.environment) == "hello\n"
    times = [(cpu_of(empty, at.environment), cpu_of(hello, at.environment)) for _ in range(3)]
    none, some = (min(column) for column in zip(*times))
    print(f"libsluice.so: {size / (1 << 20):.2f} MiB stripped; hello takes {some:.0f} us of CPU, "
          f"an empty program {none:.0f} us: {some / none:.2f} times")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        at = Installed(arguments.build.resolve(), arguments.source, pathlib.Path(work))
        for part in (what_is_there, symbols, size_and_start, examples, beside_a_lua_of_its_own, programs_of_the_page):
            part(at)
            print("ok", part.__name__, flush=True)


if __name__ == "__main__":
    main()
