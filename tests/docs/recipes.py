#!/usr/bin/python3
"""Runs the code blocks of pages, each against a server of its own, and compares what they print with what the page
shows. The language of a block says how it is run; one that is not known here is an error, so that no block goes
unproven.

  recipes.py [--server program] [--only LANGUAGE] [--show | --wrong] [page ...]

--show prints what the blocks of terminals and consoles really answer, to write a page from. With --wrong all blocks
have to fail: wrong.md proves that each way of running them notices.

  redis-cli   terminals, see terminals.py
  console     commands behind "$ " for bash, and their output; sluice is in PATH, the folder is empty
  python      a file for pytest, with the fixtures of clients/python; "python database" needs libsluice.so, which
              SLUICE_LIBRARY names, and is left out where there is none
  js          a file for `node --test`, or for vitest if that is what it imports, with clients/node
  ruby        a file for RSpec, with clients/ruby
  cpp         is compiled and run by the build (tests/embed/recipes.py)
  text        is not run
"""
import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import terminals  # noqa: E402
from pages import as_shown, blocks  # noqa: E402
from server import ROOT, SLUICE, Server  # noqa: E402

SECONDS = 120  # for a block
NODE = ROOT / "clients" / "node"
PYTHON = ROOT / "clients" / "python"
RUBY = ROOT / "clients" / "ruby"


class Chosen:
    """--show"""
    show = False


class LeftOut(Exception):
    """What a block needs is not there."""


class Wrong(Exception):
    """A block does not do what the page says."""


def difference(steps):
    """Steps as (line, shown, real), in the words of the page and of the run."""
    for line, shown, real in steps:
        if Chosen.show:
            print("\n".join([line, *real]))
        elif not as_shown(shown, real):
            raise Wrong("\n".join([line, "the page shows:", *shown, "it answers:", *real]))


def run_terminals(block, program):
    with Server(program, ["--test-double", "yes"], tcp=True) as server:
        difference(terminals.play(block, server.port))


def environment(program):
    folder = pathlib.Path(program).resolve().parent
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "SLUICE_BIN": str(pathlib.Path(program).resolve()),
            "PYTHONPATH": str(PYTHON / "src"), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}


def run(words, folder, program, text=None):
    """Ends with all that it has started."""
    process = subprocess.Popen(words, cwd=folder, env=environment(program), text=True, start_new_session=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(text, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Wrong(f"no end after {SECONDS} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return subprocess.CompletedProcess(words, process.returncode, output)


def console_steps(lines):
    """(command, what the page shows below it); a command goes on in lines that begin with "> "."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif not found:
            raise Wrong(f"no command stands before: {line}")
        else:
            found[-1][1].append(line)
    return found


def run_console(block, program):
    mark = "---- end of step ----"
    found = console_steps(block.lines)
    script = "".join(f"{command}\necho; echo '{mark}'\n" for command, _ in found)
    with tempfile.TemporaryDirectory() as folder:
        output = run(["bash", "-s"], folder, program, script).stdout
    outputs = output.split(f"\n{mark}\n")
    if len(outputs) != len(found) + 1:
        raise Wrong(f"it ended early:\n{output}")
    difference(("$ " + command, shown, real.splitlines()) for (command, shown), real in zip(found, outputs))


def succeed(done):
    if done.returncode != 0:
        raise Wrong(done.stdout)


def run_python(block, program):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "test_recipe.py").write_text(block.text(), encoding="utf-8")
        succeed(run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "sluice.pytest_plugin",
                     "test_recipe.py"], folder, program))


def link_packages(folder):
    """What `npm install` of clients/node would make in a project."""
    modules = pathlib.Path(folder, "node_modules")
    (modules / "@sluice").mkdir(parents=True)
    (modules / "@sluice" / "client").symlink_to(NODE)
    for package in (NODE / "node_modules").iterdir():
        if package.name != "@sluice":
            (modules / package.name).symlink_to(package)


def run_js(block, program):
    with tempfile.TemporaryDirectory() as folder:
        link_packages(folder)
        pathlib.Path(folder, "recipe.test.mjs").write_text(block.text(), encoding="utf-8")
        vitest = '"@sluice/client/vitest"' in block.text()
        words = (["node", "node_modules/vitest/vitest.mjs", "run", "--root", "."] if vitest
                 else ["node", "--test", "recipe.test.mjs"])
        succeed(run(words, folder, program))


def run_ruby(block, program):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "recipe_spec.rb").write_text(block.text(), encoding="utf-8")
        succeed(run(["rspec", "-I", str(RUBY / "lib"), "recipe_spec.rb"], folder, program))


def run_python_database(block, program):
    if "SLUICE_LIBRARY" not in os.environ:
        raise LeftOut("SLUICE_LIBRARY names no library")
    run_python(block, program)


RUNNERS = {"redis-cli": run_terminals, "console": run_console, "python": run_python,
           "python database": run_python_database, "js": run_js, "ruby": run_ruby, "cpp": None, "text": None}


def fault(block, program):
    """What is wrong with a block; None where it does what the page shows."""
    if block.language not in RUNNERS:
        return "nobody runs this language"
    try:
        RUNNERS[block.language](block, program)
    except (Wrong, ValueError, OSError) as error:
        return str(error)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--only", help="one language")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("pages", nargs="*", default=[ROOT / "docs" / "testing-with-sluice.md"])
    chosen = parser.parse_args()
    Chosen.show = chosen.show
    if chosen.wrong:
        terminals.PATIENCE = 2  # what never answers is not waited for
    found = [block for page in chosen.pages for block in blocks(page) if chosen.only in (None, block.language)]
    good, bad = 0, 0
    for block in found:
        if RUNNERS.get(block.language, True) is None:
            continue
        try:
            reason = fault(block, chosen.server)
        except LeftOut as why:
            print(f"{block}: left out, {why}")
            continue
        good, bad = good + (reason is None), bad + (reason is not None)
        if (reason is None) == chosen.wrong:
            print(f"{block}: {reason or 'this should have failed'}\n")
    print(f"{good} blocks do what the page shows, {bad} do not")
    return 1 if not good + bad or (good if chosen.wrong else bad) else 0


if __name__ == "__main__":
    sys.exit(main())
