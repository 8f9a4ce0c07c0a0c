#!/usr/bin/python3
"""Debian's monitoring tools against the real binary: promtool finds nothing in /metrics, Prometheus scrapes it,
prometheus-redis-exporter reads the server as any Redis, and what is in deploy/ names figures that there are.

  monitoring.py [--server program] [name ...]     names: those of the functions test_*
"""
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server import ROOT, die_with_parent, free_port  # noqa: E402
from smoke import PATIENCE, Checked, Skip, client, run_tests, until  # noqa: E402

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "sluice.rules.yml"
# What both know, but moves while it is read, or differs in who asks.
MOVES = re.compile(r"redis_(cpu_|net_|connect|commands_|memory_|allocator|uptime|start_time|mem_|config_maxmemory"
                   r"|rdb_last_save|up$|instance_info|slowlog)")


def need(program):
    found = shutil.which(program)
    if not found:
        raise Skip(f"{program} is not installed")
    return found


def fetch(port, path="/metrics", **headers):
    asking = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(asking, timeout=PATIENCE) as answer:
        return answer.read().decode()


def answers(port, path="/metrics"):
    with contextlib.suppress(OSError):
        return bool(fetch(port, path))
    return False


def figures(text):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
            if line and not line.startswith("#")}


@contextlib.contextmanager
def running(*words):
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=die_with_parent)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def busy_server():
    """A server that has done a bit of everything, and the port of its pages."""
    port = free_port()
    with Checked("--http-port", port, "--appendonly", "yes", "--metrics-prefixes", "l", tcp=True) as server:
        one = client(server)
        for words in (("SET", "a", "1"), ("SET", "b", "1", "PX", "5"), ("GET", "nothing"), ("HSET", "a", "f", "v"),
                      ("LOCK.ACQUIRE", "l", "me", "LEASE", "60000"), ("LIMIT.POLICY", "SET", "p", "WINDOW", "1", "60000"),
                      ("LIMIT.TAKE", "k", "POLICY", "p"), ("LIMIT.TAKE", "k", "POLICY", "p"), ("SELECT", "3"),
                      ("SET", "c", "1"), ("SUBSCRIBE", "x"), ("NOSUCH\"\\",)):
            one.call(*words)
        yield server, port


def test_promtool_finds_nothing():
    promtool = need("promtool")
    with busy_server() as (_, port):
        done = subprocess.run([promtool, "check", "metrics"], input=fetch(port), capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0 and not done.stdout and not done.stderr, done


def test_prometheus_scrapes():
    """In the form that it asks for, OpenMetrics."""
    prometheus = need("prometheus")
    own = free_port()
    with busy_server() as (_, port), tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "prometheus.yml")
        config.write_text((DEPLOY / "prometheus" / "prometheus.yml").read_text().replace("9121", str(port))
                          .replace("15s", "1s"))
        shutil.copy(RULES, folder)
        with running(prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                     f"--web.listen-address=127.0.0.1:{own}"):
            def value(expression):
                with contextlib.suppress(OSError, IndexError):
                    found = json.loads(fetch(own, f"/api/v1/query?query={expression}"))
                    return float(found["data"]["result"][0]["value"][1])
                return None
            until(lambda: value("up{job=%22sluice%22}") is not None, "it has scraped")
            targets = json.loads(fetch(own, "/api/v1/targets"))["data"]["activeTargets"]
            assert value("up{job=%22sluice%22}") == 1, [target["lastError"] for target in targets]
            assert value("sluice_locks_held") == 1
            assert value("redis_commands_processed_total") > 10
            assert value("sluice_turn_seconds_count") > 1
            rules = json.loads(fetch(own, "/api/v1/rules"))["data"]["groups"][0]["rules"]
            until(lambda: all(rule["health"] in ("ok", "unknown") for rule in rules), "the rules can be computed")


def test_exporter_of_redis():
    """It knows the server for a Redis; what both tell is the same, of the same kind."""
    exporter = need("prometheus-redis-exporter")
    own = free_port()
    with busy_server() as (server, port):
        with running(exporter, "-redis.addr", f"redis://127.0.0.1:{server.port}", "-web.listen-address",
                     f"127.0.0.1:{own}"):
            until(lambda: answers(own), "the exporter answers")
            theirs_text, ours_text = fetch(own), fetch(port)
        theirs, ours = figures(theirs_text), figures(ours_text)
        assert theirs["redis_up"] == 1 and theirs["redis_exporter_last_scrape_error{err=\"\"}"] == 0
        kinds = [dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)) for text in (theirs_text, ours_text)]
        both = [name for name in kinds[1] if name in kinds[0]]
        assert len(both) > 40, both
        for name in both:
            assert kinds[0][name] == kinds[1][name], (name, kinds[0][name], kinds[1][name])
        unknown = [name for name in kinds[1] if name.startswith("redis_") and name not in kinds[0]]
        assert not unknown, f"names that redis_exporter does not have: {unknown}"
        for name, value in ours.items():
            if name in theirs and not MOVES.match(name):
                assert theirs[name] == value, (name, theirs[name], value)


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")


def test_deployed_files_name_what_there_is():
    promtool = need("promtool")
    for words in (("check", "rules", RULES), ("test", "rules", RULES.with_suffix(".test.yml")),
                  ("check", "config", DEPLOY / "prometheus" / "prometheus.yml")):
        done = subprocess.run([promtool, *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
    dashboard = json.loads((DEPLOY / "grafana" / "sluice.json").read_text())
    all_expressions = list(expressions(dashboard))
    # The dashboard's expressions as rules: promtool reads those.
    as_rules = {"groups": [{"name": "dashboard", "rules": [{"record": f"r{i}", "expr": expression}
                                                            for i, expression in enumerate(all_expressions)]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        file.write(json.dumps(as_rules))
        file.flush()
        done = subprocess.run([promtool, "check", "rules", file.name], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
    with busy_server() as (_, port):
        text = fetch(port)
    there = set(re.findall(r"^([a-z_]+)[ {]", text, re.M))
    named = set(re.findall(r"\b(?:redis|sluice)_[a-z_]+\b", " ".join(all_expressions) + RULES.read_text()))
    named.discard("sluice_rules")
    assert named <= there, f"nothing tells of {sorted(named - there)}"


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
