#!/usr/bin/python3
"""`sluice --check-config` says all that a start refuses or warns of at once, and says no more than that.

  check_config.py [--server program] [name ...]     names: those of the functions test_*
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from smoke import Chosen, run_tests  # noqa: E402

REDIS_CONF = pathlib.Path("/etc/redis/redis.conf")  # Debian's
# Lines that a server refuses, each with words of the sentence.
REFUSED = {
    "replicaof 10.0.0.1": "wrong number of arguments",
    "tls-cluster yes": "servers of a cluster have no bus here, but a map",
    "loadmodule /usr/lib/x.so": "it loads no modules",
    "port x": "argument couldn't be parsed into an integer",
    "nonsense 1": "Bad directive",
    'requirepass "a': "Unbalanced quotes",
    "rename-command NOSUCH x": "No such command in rename-command",
    "rename-command GET SET": "Target command name already exists",
    "user bob on +nosuchcommand": "Unknown command or category name in ACL",
    "user bob on (~x": "Unmatched parenthesis",
    "include /does/not/exist": "No such file or directory",
    "dir /does/not/exist": "can't change to the directory",
    "aclfile /does/not/exist": "No such file or directory",
    "tls-port 6390": "tls-cert-file",
}
TAKEN = ["replicaof no one", "replicaof 10.0.0.1 6379", "slaveof NO ONE", "rename-command SYNC \"\"", "rename-command CONFIG hidden",
         "user bob on >secret ~app:* +@read", "maxmemory 100mb", "save 900 1"]


def checked(text, *options):
    done = subprocess.run([str(Chosen.program), "--check-config", "-", *options], input=text, capture_output=True,
                          text=True, timeout=60, check=False)
    assert not done.stderr, done
    return done.returncode, done.stdout.splitlines()


def refused_by_a_start(text):
    """Its sentence; empty where it starts (and ends by itself, having no clients)."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(Chosen.program), "-"], cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                              input=text + "\nport any\nidle-exit 1\nsave \"\"\n")
    return done.stdout + done.stderr if done.returncode else ""


def test_each_refusal_is_one_of_a_start():
    for line, words in REFUSED.items():
        status, said = checked(line)
        refusals = [each for each in said if each.startswith("refused: ")]
        assert status == 1 and len(refusals) == 1 and words in refusals[0], (line, said)
        if not line.startswith("port"):
            assert words in refused_by_a_start(line), (line, refused_by_a_start(line))


def test_all_at_once():
    lines = [line for line in REFUSED if not line.startswith(("dir", "tls", "aclfile"))]
    users = sum(line.startswith("user") for line in lines)
    status, said = checked("\n".join(lines) + "\nio-threads 4\n")
    refusals = [each for each in said if each.startswith("refused: ")]
    # Two lines about bob: the first has a fault, and then the second is a duplicate.
    assert status == 1 and len(refusals) == len(lines) and users == 2, said
    assert said[-2] == (f"warning: standard input, line {len(lines) + 1}: option 'io-threads' has no effect on Sluice: "
                        "it runs in one thread"), said
    assert said[-1] == f"No server starts with this: {len(lines)} refusals, 1 warning.", said


def test_what_a_server_takes():
    status, said = checked("\n".join(TAKEN), "--port", "7000")
    assert status == 0 and said == ["A server takes this: 0 warnings."], said
    assert not refused_by_a_start("\n".join(TAKEN))


def test_users_in_two_places():
    with tempfile.NamedTemporaryFile("w", suffix=".acl") as file:
        file.write("user carol on nopass +nosuch\n")
        file.flush()
        status, said = checked(f"user bob on\naclfile {file.name}\n")
    assert status == 1 and any("put all of them into one" in each for each in said), said
    assert any("carol" in each or ":1: " in each for each in said), said


def test_the_file_of_debian():
    """A file that Redis runs with needs no change but for what it says of folders."""
    if not REDIS_CONF.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(Chosen.program), "--check-config", str(REDIS_CONF), "--dir", folder], capture_output=True,
                              text=True, timeout=60, check=False)
    assert done.returncode == 0 and "A server takes this" in done.stdout, done


def test_wrong_words():
    for words in (["--check-config", "--version"], ["--check-config", "top"]):
        done = subprocess.run([str(Chosen.program), *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and "--check-config takes" in done.stderr, done


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
