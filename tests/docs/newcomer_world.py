"""The machine of somebody who types what a page shows: a folder in place of the file system, free ports in place of
those that the page names, and the programs that were started. All of it goes with the end of its `with`.

A line that starts a server is left running when it serves; its output is then complete as far as a reader sees it.
`pidof sluice` finds this world's servers alone.
"""
import contextlib
import datetime
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import terminals
from server import die_with_parent, free_port

SECONDS = 30  # for what takes milliseconds on an idle machine
PORT = re.compile(r"(?<![\w.])(6379|6380|7000|7001|9121)(?![\w.])")
FOLDER = re.compile(r"(?<![\w./])/(backups|etc|srv|tmp|var)/")
DAY = re.compile(r"\b2026-\d\d-\d\d\b")
BUILT = re.compile(r"(?<![\w/])(tools/run|build/sluice)(?![\w/])")
SERVES = re.compile(r"(^|[;(]\s*|exec )sluice (?!top\b|--(check|import|export|backup|ping|print|help|version)\b)")
READY = re.compile(r"Ready to accept connections")
READY_AT_ANY_PORT = re.compile(r"^ready on ", re.M)

PIDOF = """#!/bin/sh
# The servers of one newcomer. Processes of others may end meanwhile.
exec 2>/dev/null
for process in /proc/[0-9]*; do
  [ "$process/exe" -ef '{program}' ] || continue
  tr '\\0' '\\n' <"$process/environ" | grep -qxF 'NEWCOMER={folder}' && echo "${{process#/proc/}}"
done
"""


class World:
    """program: the path of the server under test."""

    def __init__(self, program):
        self.program = pathlib.Path(program).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-newcomer-"))
        self.root = self.folder / "root"
        self.ports, self.terminals, self.started = {}, {}, []
        self.printed = []  # what the last block printed
        for name in ("backups", "etc/redis", "etc/sluice", "srv", "tmp", "var/lib/redis"):
            (self.root / name).mkdir(parents=True)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/sluice").symlink_to(self.program)
        pidof = self.folder / "bin/pidof"
        pidof.write_text(PIDOF.format(program=self.program, folder=self.folder))
        pidof.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "TERM": "dumb",
                            "NEWCOMER": str(self.folder), "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
                            "REDISCLI_RCFILE": "/dev/null"}

    def port(self, shown):
        return self.ports.setdefault(int(shown), free_port())

    def words(self, text):
        """What is typed, or shown, in this world."""
        text = PORT.sub(lambda found: str(self.port(found[1])), text)
        text = FOLDER.sub(rf"{self.root}/\1/", text)
        text = DAY.sub(datetime.date.today().isoformat(), text)
        return BUILT.sub("sluice", text)

    def shell(self, script, shown=(), terminal=False):
        """(exit status, or None where a server goes on; the lines that it printed). script: of this world's words.
        terminal: it writes to one, not to a pipe."""
        source, sink = pty.openpty() if terminal else os.pipe()
        process = subprocess.Popen(["bash", "-ec", script], cwd=self.folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True,
                                   preexec_fn=die_with_parent)
        os.close(sink)
        self.started.append((process, source))
        serves = SERVES.search(script.splitlines()[-1])
        ready = READY_AT_ANY_PORT if "--port any" in script else READY
        text, deadline = "", time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            ended = process.poll() is not None
            text += drained(source)
            lines = [line.rstrip() for line in text.replace("\r", "").splitlines()]
            if ended:
                return process.returncode, lines
            if serves and (shown_in(shown, lines) if shown else ready.search(text)):
                return None, lines
        return -1, [*lines, f"(it has not ended within {SECONDS} s)"]

    def serves(self, *options):
        """Starts a server at 6379, and of HTTP at 9121, unless one runs."""
        if not self.running():
            (self.folder / "data").mkdir(exist_ok=True)
            words = ["sluice", "--port", self.port(6379), "--http-port", self.port(9121), "--dir", "data", *options]
            status, lines = self.shell(" ".join(map(str, words)))
            if status is not None:
                raise RuntimeError("\n".join(lines))

    def running(self):
        return self.shell("pidof sluice || true")[1]

    def terminal(self, shown_port=6379):
        """The redis-cli at that port."""
        port = self.port(shown_port)
        if port not in self.terminals:
            self.terminals[port] = terminals.Terminal(port)
        return self.terminals[port]

    def typed(self, command, shown_port=6379):
        """What redis-cli prints below it."""
        terminal = self.terminal(shown_port)
        terminal.type(command)
        answer = terminal.answer(time.monotonic() + SECONDS)
        return ["(no answer)"] if answer is None else answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for terminal in self.terminals.values():
            terminal.close()
        for process, source in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(source)
        shutil.rmtree(self.folder, ignore_errors=True)


def drained(source):
    """What can be read now, or within some ms."""
    text = b""
    while select.select([source], [], [], 0.02 if not text else 0)[0]:
        try:
            piece = os.read(source, 1 << 16)
        except OSError:  # of a terminal: nobody writes to it any more
            break
        if not piece:
            time.sleep(0.02)
            break
        text += piece
    return text.decode(errors="replace")


def shown_in(shown, lines):
    return all(any(is_shown(each, line) for line in lines) for each in shown)


NUMBER = re.compile(r"\d{7,}")
BEFORE_A_REMARK = re.compile(r"\s*\S+(?: \S+)*(?=  )")


def is_shown(shown, real, remarks=False):
    """Whether a line is as the page shows it. Numbers of seven digits and more (moments, tokens, sizes) and "..." stand
    for others; with remarks two blanks may begin one."""
    shown, real = shown.rstrip(), real.rstrip()
    pattern = ".*".join(NUMBER.sub(r"\\d+", re.escape(part)) for part in shown.split("..."))
    if re.fullmatch(pattern, real):
        return True
    words = BEFORE_A_REMARK.match(shown) if remarks else None
    return words is not None and is_shown(words[0], real)


def are_shown(shown, real, remarks=False):
    """The same of lines; one that is "..." alone stands for one and more."""
    if not shown or not real:
        return not shown and not real
    if shown[0].strip() == "...":
        return any(are_shown(shown[1:], real[n:], remarks) for n in range(1, len(real) + 1))
    return is_shown(shown[0], real[0], remarks) and are_shown(shown[1:], real[1:], remarks)

