#!/usr/bin/python3
"""Runs a command while a server listens on a free port.

  with_server.py [--server program] [--option "--name value"]... [--needs zadd,hset] command... {port} ...

{port} and {socket} in the command are replaced. The exit status is the command's; a server that did not
survive it fails too. 77 (skipped): the server does not have all the commands needed.
"""
import argparse
import subprocess
import sys

import wire
from server import SLUICE, Server

COMMAND_SECONDS = 120
SKIPPED = 77


def missing_commands(server, names):
    connection = wire.Connection(server.connect())
    missing = [name for name in names if connection.call("COMMAND", "INFO", name)[1][0][1] is None]
    connection.close()
    return missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--needs", default="", help="commands, comma-separated")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    options = [word for option in chosen.option for word in option.split()]
    with Server(chosen.server, options, tcp=True) as server:
        missing = missing_commands(server, filter(None, chosen.needs.split(",")))
        if missing:
            print(f"skipped: there is no {', '.join(missing)}")
            return SKIPPED
        command = [word.replace("{port}", str(server.port)).replace("{socket}", server.socket_path)
                   for word in chosen.command]
        status = subprocess.run(command, timeout=COMMAND_SECONDS, check=False).returncode
        if not server.alive():
            print(f"the server did not survive:\n{server.output()}")
            return 1
        if status != 0:
            print(f"exit status {status}; the server said:\n{server.output()}")
        return status


if __name__ == "__main__":
    sys.exit(main())
