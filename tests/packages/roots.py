#!/usr/bin/python3
"""Tries the archives of `tools/package --portable` in roots that have no compiler and nothing of this machine: a folder
with busybox alone, and Debian 11 and 12 as debootstrap makes them. In each they are installed by the tools of their
language, and a program that starts has to answer PING within three seconds. In the Debians the clients of Python and Ruby
play the shared cases (clients/cases.json), Debian 11 having the oldest versions that they are for.

  roots.py FOLDER [ROOT ...]      FOLDER: of the archives; ROOT: busybox, bullseye, bookworm (all)

Needs root, and for the first time minutes and the mirror: roots stay in FOLDER/../roots.
"""
import contextlib
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 3
DEBIAN = {"bullseye": ("python3", "python3-pip", "python3-redis", "ruby", "ruby-redis"),
          "bookworm": ("python3", "python3-pip", "python3-redis", "ruby", "ruby-redis", "nodejs")}
PYTHON = """
import time, sluice
begin = time.monotonic()
with sluice.Server() as server:
    assert server.execute("PING") == "PONG"
    print(time.monotonic() - begin)
"""
RUBY = """
require "sluice/server"
begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
Sluice::Server.start do |server|
  raise "no PONG" unless server.call("PING") == "PONG"
  puts Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun
end
"""
NODE = """
const { Server } = require("@sluice/client");
const begin = performance.now();
Server.start().then(async (server) => {
  if (await server.execute("PING") !== "PONG") throw new Error("no PONG");
  console.log((performance.now() - begin) / 1000);
  await server.stop();
});
"""

PYTHON_CASES = """
import sys
sys.path.insert(0, "/clients/python/tests")
import sluice, player
with sluice.Server() as server:
    for case in player.CASES["locks"] + player.CASES["limits"]:
        with server.space() as space:
            redis = space.redis()
            limits = sluice.LimitClient(redis, prefix=case.get("prefix", ""))
            player.Player(space, sluice.LockClient(redis), limits).play(case["steps"])
"""
RUBY_CASES = """
require "sluice/server"
require "/clients/ruby/spec/player"
Sluice::Server.start do |server|
  (Player::CASES["locks"] + Player::CASES["limits"]).each do |one|
    space = server.space
    limits = Sluice::LimitClient.new(space.redis, prefix: one.fetch("prefix", ""))
    Player.new(space, locks: Sluice::LockClient.new(space.redis), limits: limits).play(one["steps"])
  end
end
"""


class Root:
    """A folder to be the whole of a file system."""

    def __init__(self, folder, archives):
        self.folder, self.archives = folder, archives

    def run(self, *words, **options):
        """What a program of it prints. Raises CalledProcessError."""
        return subprocess.run(["chroot", self.folder, *words], check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True, timeout=600, **options).stdout

    def bring(self, pattern):
        """The path, inside, of an archive."""
        found, = self.archives.glob(pattern)
        (self.folder / "archives").mkdir(exist_ok=True)
        shutil.copy(found, self.folder / "archives")
        return f"/archives/{found.name}"

    def write(self, name, text):
        """The path, inside, of a file of this text."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return f"/{name}"

    def bring_cases(self):
        """clients/cases.json, and the players of it."""
        for name in ("clients/cases.json", "clients/python/tests/player.py", "clients/ruby/spec/player.rb"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.folder / name)

    def devices(self):
        """Those that languages want."""
        for name in ("null", "urandom"):
            device = self.folder / "dev" / name
            device.parent.mkdir(exist_ok=True)
            if not device.exists():
                subprocess.run(["cp", "-a", f"/dev/{name}", device], check=True)


def busybox(folder, archives):
    """Nothing but busybox."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "tmp"):
        (folder / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", folder / "bin")
    return Root(folder, archives)


def debian(folder, archives):
    """A Debian of the folder's name."""
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        private = ["unshare", "--mount", "--propagation", "private"]  # what it mounts goes with it
        subprocess.run([*private, "debootstrap", "--variant=minbase", f"--include={','.join(DEBIAN[folder.name])}",
                        folder.name, folder], check=True, stdout=subprocess.DEVNULL)
        (folder / "made").touch()
    root = Root(folder, archives)
    root.devices()
    return root


@contextlib.contextmanager
def started(root, program, *options):
    """The port of a program that serves, and when it was begun."""
    begin = time.monotonic()
    words = ["chroot", root.folder, program, "--test-double", "yes", "--port", "any", "--dir", "/tmp", "--save", "", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            line = process.stdout.readline()
            yield int(re.match(r"ready on .*:(\d+)$", line)[1]), begin
        finally:
            process.terminate()


def answered(connection, begin):
    """Seconds until PONG."""
    connection.sendall(b"PING\r\n")
    assert connection.recv(100) == b"+PONG\r\n"
    return time.monotonic() - begin


def try_tarball(root):
    """It is unpacked, and serves in the clear, under a name, and by TLS."""
    archive = root.bring("sluice-*-linux-x86_64.tar.gz")
    tar = ["/bin/busybox", "tar"] if (root.folder / "bin/busybox").exists() else ["tar"]
    root.run(*tar, "-xzf", archive, "-C", "/tmp")
    program = "/tmp/" + pathlib.Path(archive).name.replace(".tar.gz", "/sluice")
    assert root.run(program, "--version").startswith("Sluice as Redis server v=")
    (root.folder / "etc").mkdir(exist_ok=True)
    (root.folder / "etc/hosts").write_text("127.0.0.1 localhost door\n", encoding="utf-8")
    with started(root, program) as (port, begin), socket.create_connection(("127.0.0.1", port)) as connection:
        seconds = answered(connection, begin)
        root.run(program, "--ping", f"door:{port}")
    with certificates(root) as (words, context), socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        tls_port = free.getsockname()[1]
        free.close()
        with started(root, program, "--tls-port", str(tls_port), *words) as (_, begin), \
                socket.create_connection(("127.0.0.1", tls_port)) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as connection:
            return max(seconds, answered(connection, begin))


@contextlib.contextmanager
def certificates(root):
    """Options of a server with TLS, and a context for those who trust it."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key", f"{folder}/certificate"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True,
                       stderr=subprocess.DEVNULL)
        for name in (key, certificate):
            shutil.copy(name, root.folder / "tmp")
        yield (["--tls-key-file", "/tmp/key", "--tls-cert-file", "/tmp/certificate", "--tls-auth-clients", "no"],
               ssl.create_default_context(cafile=certificate))


def try_wheels(root):
    """pip installs both, and a server starts."""
    for pattern in ("sluice-*.whl", "sluice_server-*x86_64*.whl"):
        root.bring(pattern)
    tolerant = ["--break-system-packages"] if root.folder.name == "bookworm" else []
    root.run("python3", "-m", "pip", "install", "-q", "--no-index", "--force-reinstall", "--find-links", "/archives",
             *tolerant, "sluice[server]", stderr=subprocess.DEVNULL)
    assert root.run("sluice", "--version").startswith("Sluice as Redis server v=")
    root.bring_cases()
    root.run("python3", root.write("cases.py", PYTHON_CASES))
    return float(root.run("python3", root.write("try.py", PYTHON)))


def try_gems(root):
    """gem installs both, and a server starts."""
    shutil.rmtree(root.folder / "var/lib/gems", ignore_errors=True)  # gem leaves what it has of that version
    gems = [root.bring(pattern) for pattern in ("sluice-server-*-x86_64-linux.gem", "sluice-[0-9]*.gem")]
    root.run("gem", "install", "--local", "--no-document", *gems)
    root.bring_cases()
    root.run("ruby", root.write("cases.rb", RUBY_CASES))
    return float(root.run("ruby", root.write("try.rb", RUBY)))


def try_npm(root):
    """npm installs both, and a server starts. It is this machine's npm: Debian's brings a compiler along."""
    packages = [str(root.folder) + root.bring(name) for name in ("sluice-client-*.tgz", "sluice-server-linux-x64-*.tgz")]
    shutil.rmtree(root.folder / "application", ignore_errors=True)
    (root.folder / "application").mkdir()
    root.write("application/package.json", '{"name": "application", "private": true}')
    subprocess.run(["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", "--install-links", *packages],
                   check=True, cwd=root.folder / "application")
    return float(root.run("node", root.write("application/try.js", NODE)))


TRIALS = {"busybox": (busybox, (try_tarball,)), "bullseye": (debian, (try_tarball, try_wheels, try_gems)),
          "bookworm": (debian, (try_tarball, try_wheels, try_gems, try_npm))}


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(TRIALS):
        sys.exit(__doc__)
    archives = pathlib.Path(sys.argv[1]).resolve()
    if not list(archives.glob("sluice-*-linux-x86_64.tar.gz")):
        sys.exit(f"there are no archives for this machine in {archives}: tools/package --portable makes them")
    late = 0
    for name in sys.argv[2:] or TRIALS:
        make, trials = TRIALS[name]
        root = make(archives.parent / "roots" / name, archives)
        for trial in trials:
            seconds = trial(root)
            late += seconds > SECONDS
            print(f"{name}: {trial.__name__.replace('try_', '')} serves after {seconds:.3f} s", flush=True)
    print(f"roots: {late} came later than {SECONDS} s" if late else "roots: all serve")
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
