#!/usr/bin/python3
"""Types every block of README.md and docs/*.md as a newcomer would, and compares what the page shows below it.

  newcomer.py [--server program] [--page PART] [--show]
  newcomer.py [--server program] --wrong tests/docs/newcomer_wrong.md

A block says by its looks how it is typed: at redis-cli behind its prompt or "> ", at a shell behind "$ " or without, as
a configuration, or into a file that is compiled. The blocks below one heading have a machine of their own, a server too
where they speak to one (docs/newcomer_world.py). A block that can be neither typed nor is in one of the tables below is
a fault, and so is a row without a block. --show prints all answers; --page runs pages with that in their name. With
--wrong all blocks of a page have to fail: each way of typing notices.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "docs")]

import wire  # noqa: E402
from newcomer_world import World, are_shown, shown_in  # noqa: E402
from pages import blocks, indented_blocks  # noqa: E402
from server import REDIS, ROOT, SLUICE, Server  # noqa: E402

GRAMMAR = "a grammar, not to be typed"
PICTURE = "a picture of the source"

# Page, heading, how its first line begins, why it is not typed. "*" stands for all.
LEFT_OUT = [
    ("README.md", "Sluice", "tools/run", "installs packages and builds: .ci/run"),
    ("README.md", "Sluice", "cmake", "builds for minutes, as tools/run does: .ci/run"),
    ("docs/architecture.md", "*", "*", PICTURE),
    ("docs/locks-and-limits.md", "HTTP headers", "RateLimit-Policy", "a form that clients/node fills"),
    ("docs/operating.md", "Install", "tools/package", "installs packages: smoke/package.sh"),
    ("docs/operating.md", "One program for any Linux", "tools/package", "builds for minutes: packages/roots.py"),
    ("docs/operating.md", "Under systemd", "[Socket]", "needs systemd; smoke/managed.py hands sockets over"),
    ("docs/operating.md", "In a container", "podman", "needs podman, and fetches an image"),
    ("docs/operating.md", "Upgrade without losing a lock", "# Received", "a log of one that fails: smoke/hand_over.py"),
    ("docs/operating.md", "Who holds what", "sluice 0.1.0", "a screen with made-up figures: unit/program/top"),
    ("docs/operating.md", "Replicas", "redis-server", "runs until it is stopped: smoke/replicas.py"),
    ("docs/operating.md", "The page", "HTTP page", "a line of the log: smoke/page.py"),
    ("docs/operating.md", "Three Sentinels", "port 26379", "a Sentinel's: smoke/sentinel.py starts three"),
    ("docs/operating.md", "Three Sentinels", "REPLICAOF 10.0.0.8", "a line of the log: smoke/sentinel.py"),
    ("docs/operating.md", "Balancers", "listen", "haproxy's: smoke/balancers.py"),
    ("docs/testing-with-sluice.md", "The clock", "SLUICE.CLOCK NOW", GRAMMAR),
    ("docs/testing-with-sluice.md", "Private servers: spaces", "SLUICE.SPACE name", GRAMMAR),
    ("docs/testing-with-sluice.md", "Faults", "SLUICE.FAULT ADD [", GRAMMAR),
    ("docs/testing-with-sluice.md", "The journal", "SLUICE.JOURNAL START [", GRAMMAR),
]

# Page, heading, how a line of a block begins that is not typed, why.
LINES_LEFT_OUT = [
    ("docs/operating.md", "Upgrade without losing a lock", "apt install", "changes the system"),
]

# Fenced blocks that other tests run: page, language, the tests.
TESTED = [
    ("docs/cluster.md", "text", ("cluster_clients",)),
    ("docs/embedding.md", "cpp", ("recipes_cc", "installed")),
    ("docs/embedding.md", "c", ("recipe_c", "installed")),
    ("docs/embedding.md", "cmake", ("fetch_content", "installed")),
    ("docs/embedding.md", "sh", ("installed",)),
    ("docs/testing-with-sluice.md", "redis-cli", ("docs_recipes",)),
    ("docs/testing-with-sluice.md", "console", ("docs_recipes",)),
    ("docs/testing-with-sluice.md", "python", ("docs_recipes",)),
    ("docs/testing-with-sluice.md", "js", ("docs_recipes",)),
    ("docs/testing-with-sluice.md", "cpp", ("testing_recipes",)),
]

# What a block shows was printed by the one before.
PRINTED_BEFORE = [("docs/testing-with-sluice.md", "Starting a server from a test", "ready on")]

# Each line of the block is a way of its own: page, heading, how it begins.
ALTERNATIVES = [
    ("docs/durability.md", "Backup and restore", "sluice --import"),
    ("docs/moving-from-redis.md", "Back again", "sluice --export-redis"),
]

PROMPT = re.compile(r"^127\.0\.0\.1:(\d+)(?:\(TX\))?> (.+)$")
CODE = """#include <chrono>
#include <string>
#include "sluice/server.h"
#include "sluice/database.h"
using namespace std::chrono_literals;
struct Answer {};
Answer TooManyRequests(), Fail(const std::string&);
void Write(long), redisConnect(const char*, int);
"""


class Wrong(Exception):
    """A block does not do what the page says."""


class Words:
    """How blocks are known that carry no mark: the names of commands and options, by the program itself."""

    def __init__(self, program):
        with Server(program, ["--test-double", "yes"]) as server:
            asked = wire.Connection(server.connect())
            self.commands = {word[1].decode().upper() for word in asked.call("COMMAND", "LIST")[1]}
            self.options = {word[1].decode() for word in asked.call("CONFIG", "GET", "*")[1][::2]}


class Chosen:
    """The command line, and the words of the program."""
    program, show, words = SLUICE, False, None


def is_row(row, block):
    page, heading, begin = row[:3]
    return (block.page == page and heading in ("*", block.heading)
            and (begin == "*" or block.lines[0].startswith(begin)))


# What has to be there before the blocks of a heading are typed.

def a_user_for_backups(world):
    world.serves()
    for command in ("SET greeting hello", "SET short 1 EX 1000",
                    "ACL SETUSER NAME on >WORD +bgsave +info +config|get +sluice.snapshot"):
        check(world.typed(command) == ["OK"], [command])


def a_backup(world):
    a_user_for_backups(world)
    status, lines = world.shell(world.words("sluice --backup localhost:6379 /backups/sluice-2026-01-01.rdb"))
    check(status == 0, lines)


def data_of_redis(world):
    """And a configuration like Debian's, whose log is Redis's own."""
    lines = ("port 6379", "bind 127.0.0.1 -::1", "daemonize yes", f"logfile {world.root}/var/log/redis/redis.log",
             f"pidfile {world.root}/run/redis.pid", f"dir {world.root}/var/lib/redis", "appendonly no")
    (world.root / "etc/redis/redis.conf").write_text("\n".join(lines))
    with Server(REDIS) as redis:
        asked = wire.Connection(redis.connect())
        asked.call("SET", "greeting", "hello")
        asked.call("SAVE")
        shutil.copy(pathlib.Path(redis.folder, "dump.rdb"), world.root / "var/lib/redis")


def data_stopped_and_running(world):
    data = world.root / "var/lib/sluice"
    data.mkdir()
    with Server(Chosen.program, ["--dir", data]) as server:
        asked = wire.Connection(server.connect())
        asked.call("SET", "greeting", "hello")
        asked.call("SAVE")
    world.serves()
    world.typed("SET greeting hello")


def a_server_that_loads(world):
    """For ever: its log has a script without an end."""
    log = world.folder / "data/appendonlydir"
    log.mkdir(parents=True)
    (log / "appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
    (log / "appendonly.aof.1.incr.aof").write_bytes(wire.encode([b"EVAL", b"while true do end", b"0"]))
    port = world.port(9121)
    world.shell(f"sluice --port {world.port(6379)} --http-port {port} --dir data --appendonly yes >log 2>&1 &")
    until = time.monotonic() + 30
    while world.shell(f"curl -s http://127.0.0.1:{port}/healthz")[0] != 0:
        check(time.monotonic() < until, ["no HTTP"])


BEFORE = {
    ("docs/durability.md", "Backup and restore"): a_user_for_backups,
    ("docs/durability.md", "Backup and restore", "alternatives"): a_backup,
    ("docs/moving-from-redis.md", "Moving from Redis, and back"): data_of_redis,
    ("docs/moving-from-redis.md", "Back again", "alternatives"): data_stopped_and_running,
    ("docs/operating.md", "Is it alive, is it ready"): a_server_that_loads,
}


def check(good, lines):
    if not good:
        raise Wrong("\n".join(lines))


def compare(line, shown, real, remarks=False):
    if Chosen.show:
        print("\n".join([line, *real]))
    if not shown:
        check(not re.match(r"\(error\)|Error|\(no answer\)|Could not", "".join(real[:1])), [line, *real])
    elif not are_shown(shown, real, remarks):
        raise Wrong("\n".join([line, "the page shows:", *shown, "it answers:", *real]))


# Ways of typing a block.

PORT_OF_SERVER = re.compile(r"(:|-p )(6379|9121)\b")


def learn(known, shown, real):
    """Moments and tokens of the page, and what they are here: a later line may name one."""
    for one, other in zip(shown, real):
        known.update(zip(re.findall(r"\b\d{13}\b", one), re.findall(r"\b\d{13,}\b", other)))


def played(world, steps, remarks):
    """steps: (port, command, what is shown below)."""
    known = {}
    for port, command, shown in steps:
        typed = re.sub(r"\b\d{13}\b", lambda number: known.get(number[0], number[0]), command)
        real = world.typed(typed, port)
        compare("> " + typed, shown, real, remarks)
        learn(known, shown, real)


def at_a_prompt(world, block):
    steps = []
    for line in block.lines:
        prompt = PROMPT.match(line)
        if prompt:
            steps.append((prompt[1], prompt[2], []))
        else:
            steps[-1][2].append(line)
    for port in {step[0] for step in steps} - set(map(str, world.ports)):
        text = pathlib.Path(ROOT, block.page).read_text(encoding="utf-8")
        starts = re.search(rf"`([^`\n]*--port {port}[^`\n]*)`", text)
        check(starts, [f"nothing on the page starts a server at {port}"])
        check(world.shell(world.words(starts[1]))[0] is None, [f"{starts[1]} does not serve"])
    played(world, steps, remarks=False)


def commands(world, block):
    """Lines of commands alone, or behind "> " with what is answered below or, behind two blanks, in the same line."""
    marked = block.lines[0].startswith("> ")
    world.serves(*(["--test-double", "yes"] if "SLUICE." in block.text() else []))
    steps = []
    for line in block.lines:
        if line.startswith("#") or not line:
            continue
        if marked and not line.startswith("> "):
            steps[-1][2].append(line)
            continue
        command, _, remark = re.sub(r"^> ", "", line).partition("  ")
        steps.append((6379, command, [remark.strip()] if re.match(r'\s*["(]', remark) else []))
    played(world, steps, remarks=True)


def console(world, block):
    steps = []
    for line in block.lines:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    for command, shown in steps:
        if "pidof" in command or PORT_OF_SERVER.search(command):
            world.serves()
        shown = [world.words(line) for line in shown]
        status, real = world.shell(world.words(command), shown, terminal=True)
        check(status in (None, 0) or shown, [command, *real])
        if status is None and shown:
            check(shown_in(shown, real), [command, *real])
        else:
            compare("$ " + command, shown, real)


def script(world, block):
    lines = [line for line in block.lines
             if not any(is_row((row[0], row[1], "*"), block) and line.startswith(row[2]) for row in LINES_LEFT_OUT)]
    text = "\n".join(lines)
    if "pidof" in text or PORT_OF_SERVER.search(text):
        world.serves()
    status, world.printed = world.shell(world.words(text))
    compare(text, [], world.printed)
    check(status in (None, 0), [text, f"exit status {status}", *world.printed])


def configuration(world, block):
    path = world.folder / "newcomer.conf"
    path.write_text(world.words(block.text()))
    for name in ("ca.crt", "server.crt", "server.key"):  # as the page says: "The server gets ..."
        if (world.folder / name).exists():
            shutil.copy(world.folder / name, world.root / "etc/sluice")
    port = [] if re.search(r"^port ", block.text(), re.M) else ["--port", "any"]
    status, lines = world.shell(" ".join(["sluice", str(path), *port]))
    check(status is None, lines)


def promql(world, block):
    rules = world.folder / "rules.yml"
    expression = "".join(f"          {line}\n" for line in block.lines)
    rules.write_text(f"groups:\n  - name: page\n    rules:\n      - record: page\n        expr: |\n{expression}")
    status, lines = world.shell(f"promtool check rules {rules}")
    check(status == 0, lines)


def compiled(world, block):
    source = world.folder / "page.cc"
    has = "" if "Database db" in block.text() else "sluice::Database db;"
    source.write_text(f"{CODE}Answer Page() {{ {has}\n{block.text()}  return {{}};\n}}\n")
    headers = pathlib.Path(Chosen.program).resolve().parent / "include"
    words = ["g++", "-std=c++20", "-fsyntax-only", f"-I{headers}", source]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    check(done.returncode == 0, [done.stderr])


def way(block):
    """The function that types it."""
    first = block.lines[0]
    for begin, typed in (("> ", commands), ("$ ", console), ("sluice::", compiled), ("sum(", promql)):
        if first.startswith(begin):
            return typed
    if PROMPT.match(first):
        return at_a_prompt
    words = [line.split()[0] for line in block.lines if line.strip() and not line.startswith("#")]
    if all(word in Chosen.words.options for word in words):
        return configuration
    return commands if all(word in Chosen.words.commands for word in words) else script


def run_block(world, block):
    if any(is_row(row, block) for row in PRINTED_BEFORE):
        anywhere = [re.sub(r":\d+$", ":...", line) for line in block.lines]
        return check(shown_in(anywhere, world.printed), ["it was not printed before:", *world.printed])
    if any(is_row(row, block) for row in ALTERNATIVES):
        for line in block.lines:
            one = type(block)(block.page, block.line, "", block.heading)
            one.lines = [line]
            with World(Chosen.program) as alone:
                BEFORE[block.page, block.heading, "alternatives"](alone)
                script(alone, one)
        return None
    return way(block)(world, block)


def pages(part):
    """The path of each, from the root."""
    found = ["README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]
    return [page for page in found if part in page]


def typed_blocks(page):
    """Those that no table takes away. Fenced ones without a language are as indented ones."""
    found = [*blocks(ROOT / page), *indented_blocks(ROOT / page)]
    for block in sorted(found, key=lambda block: block.line):
        block.page = page
        if any(row[0] == page and row[1] == block.language for row in TESTED):
            continue
        if not any(is_row(row, block) for row in LEFT_OUT):
            yield block


def faults_of_tables():
    everything = []
    for page in pages(""):
        for block in (*blocks(ROOT / page), *indented_blocks(ROOT / page)):
            block.page = page
            everything.append(block)
    for row in (*LEFT_OUT, *PRINTED_BEFORE, *ALTERNATIVES):
        if not any(is_row(row, block) for block in everything):
            yield f"no block is left for the row {row[:3]}"
    for page, heading, begin, _ in LINES_LEFT_OUT:
        if not any(is_row((page, heading, "*"), block) and any(line.startswith(begin) for line in block.lines)
                   for block in everything):
            yield f"no line is left for the row {(page, heading, begin)}"
    registered = (TESTS / "CMakeLists.txt").read_text()
    for page, language, tests in TESTED:
        if not any(block.page == page and block.language == language for block in everything):
            yield f"no block is left for the row {(page, language)}"
        for test in tests:
            if not re.search(rf"\b{test}\b", registered):
                yield f"{page}: there is no test {test}"


def forms_without_a_line(program):
    """Forms of --help that the man page does not name."""
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout.split("\n\n")[0]
    manual = (ROOT / "docs/sluice.1").read_text().replace("\\-", "-")
    for word in sorted(set(re.findall(r"--[a-z][a-z-]+", usage)) - {"--option"}):
        if not re.search(rf"{word}\b(?!-)", manual):
            yield f"docs/sluice.1 does not name {word}"


def run_heading(page, found):
    """(blocks that were typed, the fault of the last one or None). The first fault ends it."""
    with World(Chosen.program) as world:
        for count, block in enumerate(found, 1):
            try:
                if count == 1:
                    BEFORE.get((page, block.heading), lambda _: None)(world)
                if block.language:
                    raise Wrong("nobody runs this language, and no table names a test that does")
                run_block(world, block)
            except (Wrong, OSError, RuntimeError, IndexError) as why:
                return count, f"{page}:{block.line}, {block.heading}:\n{why}\n"
    return len(found), None


def run_page(page):
    """(blocks that were typed, faults)"""
    by_heading = {}
    for block in typed_blocks(page):
        by_heading.setdefault(block.heading, []).append(block)
    outcomes = [run_heading(page, found) for found in by_heading.values()]
    return sum(count for count, _ in outcomes), [fault for _, fault in outcomes if fault]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--page", default="")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--wrong")
    chosen = parser.parse_args()
    Chosen.program, Chosen.show, Chosen.words = chosen.server, chosen.show, Words(chosen.server)
    if chosen.wrong:
        count, faults = run_page(chosen.wrong)
        print("\n".join([*faults, f"{len(faults)} of {count} blocks fail, as all should"]))
        return 0 if count and len(faults) == count else 1
    count, faults = 0, [*faults_of_tables(), *forms_without_a_line(chosen.server)]
    for page in pages(chosen.page):
        began = time.monotonic()
        here, wrong = run_page(page)
        count, faults = count + here, faults + wrong
        print(f"{page}: {here} blocks, {time.monotonic() - began:.1f} s", flush=True)
    print("\n".join([*faults, f"{count} blocks were typed, {len(faults)} faults"]))
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
