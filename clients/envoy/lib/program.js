// The program: makes the parts from options, and ties them to signals and to the end of the process.
"use strict";
const { once } = require("node:events");
const Redis = require("ioredis");
const { loadConfig } = require("./config.js");
const { GrpcServer } = require("./grpc.js");
const { createHttpServer } = require("./http.js");
const { Limiter } = require("./limiter.js");
const { Metrics } = require("./metrics.js");
const { help, readOptions } = require("./options.js");
const { Rules } = require("./rules.js");
const { Service } = require("./service.js");
const { ConfigWatch } = require("./watch.js");

const CONNECT_MS = 2_000;
const RECONNECT_MS = [50, 2_000]; // the first wait and the longest
const QUIET_MS = 5_000; // between two lines on the same trouble
const DOMAINS_SHOWN = 10;

/** A client that sends nothing twice, keeps nothing back while it has no connection, and does not wait long. */
function connect(url, timeoutMs) {
  const [first, longest] = RECONNECT_MS;
  return new Redis(url, {
    autoResendUnfulfilledCommands: false,
    commandTimeout: timeoutMs,
    connectTimeout: CONNECT_MS,
    connectionName: "sluice-ratelimit",
    enableOfflineQueue: false,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    // A server that follows another one by now: where the name leads to by then may be the other.
    reconnectOnError: ({ message }) => message.startsWith("READONLY"),
    retryStrategy: (times) => Math.min(first * 2 ** Math.min(times, 10), longest),
  });
}

/** Says a trouble at once, and again after a while with how often it came. */
class Complaints {
  #log;
  #since = -Infinity;
  #kept = 0;

  constructor(log) {
    this.#log = log;
  }

  say(text) {
    const now = performance.now();
    if (now - this.#since < QUIET_MS) {
      this.#kept += 1;
      return;
    }
    this.#log(this.#kept === 0 ? text : `${text} (and ${this.#kept} times before)`);
    [this.#since, this.#kept] = [now, 0];
  }
}

class Program {
  #options;
  #log;
  #redis;
  #metrics;
  #service;
  #grpc;
  #http;
  #watch;
  #loaded = false;
  #reachable = false;
  #stopping = false;

  /** log(text): one line. */
  constructor(options, log) {
    this.#options = options;
    this.#log = log;
    this.#metrics = new Metrics(options);
    this.#redis = connect(options.sluice, options.timeout);
    const away = new Complaints(log);
    const limiter = new Limiter(this.#redis, { prefix: options.keyPrefix });
    this.#service = new Service(limiter, this.#metrics, new Rules(), {
      ...options,
      onAway: (error) => away.say(`Sluice cannot be asked: ${error.message}`),
    });
    const onBug = (error) => log(`a bug: ${error.stack}`);
    this.#grpc = new GrpcServer(this.#service, { ...options, onBug });
    this.#http =
      options.http &&
      createHttpServer({
        service: this.#service,
        metrics: this.#metrics,
        serving: () => this.#grpc.serving,
        gauges: () => this.#gauges(),
        onBug,
      });
    this.#watch = new ConfigWatch(options.config, {
      mergeDomains: options.mergeDomains,
      onRules: (rules) => this.#take(rules),
      onFault: (error) => this.#refuse(error),
    });
    this.#follow(away);
  }

  #follow(away) {
    this.#redis.on("ready", () => this.#reach(true));
    this.#redis.on("close", () => this.#reach(false));
    this.#redis.on("error", (error) => away.say(`the connection to Sluice: ${error.message}`));
  }

  #reach(reachable) {
    if (reachable !== this.#reachable) this.#log(reachable ? "connected to Sluice" : "no connection to Sluice");
    this.#reachable = reachable;
    this.#weigh();
  }

  /** It serves while it has rules and can answer: with Sluice, or by its failure mode. */
  #weigh() {
    this.#grpc.serving = !this.#stopping && this.#loaded && (this.#reachable || this.#options.failureMode !== "error");
  }

  #take(rules) {
    this.#service.rules = rules;
    this.#loaded = true;
    this.#metrics.configLoaded();
    const { domains } = rules;
    this.#log(
      `limits of ${domains.length === 1 ? "the domain" : `${domains.length} domains,`} ` +
        domains.slice(0, DOMAINS_SHOWN).join(", "),
    );
    this.#weigh();
  }

  #refuse(error) {
    this.#metrics.configRefused();
    this.#log(`${this.#loaded ? "the former rules stay: " : ""}${error.message}`);
  }

  #gauges() {
    return {
      sluice_ratelimit_connected: Number(this.#reachable),
      sluice_ratelimit_in_flight: this.#service.inFlight,
      sluice_ratelimit_serving: Number(this.#grpc.serving),
    };
  }

  /** Serves. Resolves to { grpcPort, httpPort }; rejects when the rules cannot be used or an address is taken. */
  async start() {
    if (!this.#watch.read()) throw new Error("without rules nothing is served");
    this.#redis.connect().catch(() => {}); // it goes on trying; what is wrong is told by its events
    const grpcPort = await this.#grpc.listen();
    let httpPort = 0;
    if (this.#http) {
      this.#http.listen(this.#options.http);
      await once(this.#http, "listening");
      httpPort = this.#http.address().port;
    }
    this.#watch.start(this.#options.configInterval);
    return { grpcPort, httpPort };
  }

  reload() {
    if (!this.#stopping) this.#watch.read();
  }

  /** Says NOT_SERVING, waits for balancers to hear of it, answers what is under way, and lets go of all it has. */
  async stop() {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#weigh();
    this.#watch.stop();
    if (this.#options.stopDelay > 0)
      await new Promise((resolve) => {
        setTimeout(resolve, this.#options.stopDelay);
      });
    await this.#grpc.stop(this.#options.stopGrace);
    this.#http?.close();
    this.#http?.closeAllConnections();
    this.#redis.disconnect();
  }
}

/** One line of the log; a line break in what a peer or file says begins no new one. */
function lineOf(text) {
  return `${new Date().toISOString()} ${text.replace(/\n\s*/g, " | ")}\n`;
}

function checkConfig(options, io) {
  try {
    const rules = loadConfig(options.config, options);
    io.stdout.write([...rules.lines(), ""].join("\n"));
    return 0;
  } catch (error) {
    io.stderr.write(`${error.message}\n`);
    return 1;
  }
}

/** Runs the program; its exit status. io: stdout, stderr, and on(signal, function), as process has them. */
async function main(argv, env, io) {
  let options;
  try {
    options = readOptions(argv, env);
  } catch (error) {
    io.stderr.write(`${error.message}\nsluice-ratelimit --help shows all options.\n`);
    return 2;
  }
  if (options.command === "help") io.stdout.write(help());
  if (options.command === "version") io.stdout.write(`sluice-ratelimit ${require("../package.json").version}\n`);
  if (options.command === "check-config") return checkConfig(options, io);
  if (options.command !== undefined) return 0;
  return serve(options, io);
}

async function serve(options, io) {
  const log = (text) => io.stderr.write(lineOf(text));
  const program = new Program(options, log);
  io.on("SIGHUP", () => program.reload());
  const signalled = new Promise((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"]) io.on(name, () => resolve(name));
  });
  let status = 0;
  try {
    const { grpcPort, httpPort } = await program.start();
    io.stdout.write(
      `ready: gRPC on ${options.listen.socket ?? grpcPort}${options.http ? `, HTTP on ${httpPort}` : ""}\n`,
    );
    log(`${await signalled}: stopping`);
  } catch (error) {
    log(error.message);
    status = 1;
  }
  await program.stop();
  return status;
}

module.exports = { Program, main };
