// The binary as a process of the test's own, and the private servers inside it.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");
const { findBinary, foreign } = require("./binary.js");
const { Double } = require("./double.js");

const START_MS = 30_000;
const END_MS = 10_000;
const LOG_MAX = 1 << 20; // characters; the newest

/** The server did not start; the message holds its log. */
class ServerError extends Error {
  constructor(message) {
    super(message);
    this.name = "ServerError";
  }
}

/** A private server inside a Server: data, clock, faults, journal, scripts and options of its own. */
class Space extends Double {
  constructor(server, name) {
    super(server.host, server.port, name);
    this.server = server;
    this.name = name;
  }

  /** Everything of `source` (a Space or its name) in place of all that is here: for fixtures that are made once. */
  async copyFrom(source) {
    await this.server.execute("SLUICE.SPACE", "COPY", typeof source === "string" ? source : source.name, this.name);
    return this;
  }

  /** A port of its own, for code under test that knows of no user names. */
  listen() { return this.server.execute("SLUICE.SPACE", "LISTEN", this.name); }

  /** It is gone, and its clients are closed. */
  async delete() {
    this.disconnect();
    await this.server.execute("SLUICE.SPACE", "DEL", this.name);
  }
}

/** A test double as a process: on a free port of 127.0.0.1, gone with stop(), and with this process however it ends.
 *  It is itself the space `default`, and keeps no process alive that has nothing else to do. */
class Server extends Double {
  #child;
  #log;
  #spaces = 0;

  /** bin: the program; without it SLUICE_BIN, then `sluice` in PATH. options: as on the command line,
   *  { maxmemory: "10mb" }. seed: makes what is random the same in each run. */
  static async start({ bin, options = {}, seed } = {}) {
    const words = ["--test-double", "yes", "--port", "any", "--ready-line", "yes", "--exit-with-parent", "yes",
      "--dir", os.tmpdir(), "--save", "", ...(seed === undefined ? [] : ["--seed", String(seed)]),
      ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])];
    const program = findBinary(bin);
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
    const log = { text: "" };
    child.stderr.setEncoding("utf8").on("data", (data) => { log.text = (log.text + data).slice(-LOG_MAX); });
    const port = await ready(child, log, program);
    for (const handle of [child, child.stdout, child.stderr]) handle.unref();
    return new Server(port, child, log);
  }

  constructor(port, child, log) {
    super("127.0.0.1", port, null);
    this.#child = child;
    this.#log = log;
  }

  get pid() { return this.#child.pid; }

  get alive() { return this.#child.exitCode === null && this.#child.signalCode === null; }

  /** What the server has logged so far. */
  log() { return this.#log.text; }

  /** The private server of this name, made on first use; without a name a new one. */
  space(name = `space-${++this.#spaces}`) { return new Space(this, name); }

  /** All spaces that there are, `default` included. */
  async spaces() {
    return (await this.execute("SLUICE.SPACE", "LIST")).map((row) => {
      const info = {};
      for (let at = 0; at < row.length; at += 2) info[row[at]] = row[at + 1];
      return info;
    });
  }

  /** Ends the process. Stopping twice is fine. */
  async stop() {
    this.disconnect();
    if (!this.alive) return;
    this.#child.ref();
    const patience = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
    clearTimeout(patience);
  }
}

for (const [kind, end] of [[Space, "delete"], [Server, "stop"]]) {
  if (Symbol.asyncDispose) kind.prototype[Symbol.asyncDispose] = function dispose() { return this[end](); };
}

/** The port, from the one line of its standard output, which comes when clients are served. */
function ready(child, log, program) {
  return new Promise((resolve, reject) => {
    let line = "";
    const patience = setTimeout(() => child.kill("SIGKILL"), START_MS);
    child.once("error", (error) => reject(new ServerError(`sluice could not be started: ${error.message}`)));
    child.once("close", (code, signal) => {
      clearTimeout(patience);
      reject(new ServerError(`sluice did not start (exit status ${code ?? signal}):\n${foreign(program)}${log.text}`));
    });
    child.stdout.setEncoding("utf8").on("data", (data) => {
      line += data;
      const found = /^ready on .*:(\d+)\n/.exec(line);
      if (!found) return;
      clearTimeout(patience);
      resolve(Number(found[1]));
    });
  });
}

module.exports = { Server, ServerError, Space };
