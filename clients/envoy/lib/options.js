// The options of the program: a row each. Each is a word of the command line, --timeout 50, or a variable of the
// environment, RATELIMIT_TIMEOUT=50; the command line goes first.
"use strict";
const { parseArgs } = require("node:util");

/** An option makes no sense; the message says which and why. */
class OptionError extends Error {
  constructor(message) {
    super(message);
    this.name = "OptionError";
  }
}

const text = (value) => value;
const flag = (value, name) => {
  if (value === "yes" || value === "no") return value === "yes";
  throw new OptionError(`${name}: yes or no is wanted, not ${value}`);
};
const oneOf =
  (...words) =>
  (value, name) => {
    if (words.includes(value)) return value;
    throw new OptionError(`${name}: one of ${words.join(", ")} is wanted, not ${value}`);
  };
const number =
  (least, most, { whole = true } = {}) =>
  (value, name) => {
    const found = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
    if (found >= least && found <= most && (!whole || Number.isInteger(found))) return found;
    throw new OptionError(`${name}: a ${whole ? "whole " : ""}number of ${least} to ${most} is wanted, not ${value}`);
  };
const headerPrefix = (value, name) => {
  if (/^[A-Za-z0-9-]{0,64}$/.test(value)) return value;
  throw new OptionError(`${name}: the begin of a header's name is wanted, as X-RateLimit, not ${value}`);
};
const redisUrl = (value, name) => {
  if (/^(rediss?:\/\/|\/)/.test(value)) return value;
  throw new OptionError(`${name}: redis://, rediss:// or the path of a socket is wanted`); // it may hold a password
};
const address = (value, name) => {
  const found = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]*)):(\d{1,5})$/.exec(value);
  if (found && Number(found[3]) <= 65_535) return { host: found[1] ?? (found[2] || "0.0.0.0"), port: Number(found[3]) };
  throw new OptionError(`${name}: HOST:PORT is wanted, not ${value}`);
};
const orOff = (read) => (value, name) => (value === "off" ? null : read(value, name));
const orSocket = (value, name) =>
  value.startsWith("unix:") ? { socket: value.slice("unix:".length) } : address(value, name);

const OPTIONS = [
  ["config", "", text, "a YAML file of limits, or a folder of them (*.yaml, *.yml)"],
  ["merge-domains", "no", flag, "whether several files may have rules of one domain"],
  [
    "config-interval",
    "1000",
    number(0, 3_600_000),
    "ms between two looks at the files; 0: they are read at SIGHUP alone",
  ],
  ["sluice", "redis://127.0.0.1:6379", redisUrl, "the server, with user and password where it wants them"],
  ["timeout", "200", number(1, 60_000), "ms that an answer of Sluice may take"],
  [
    "failure-mode",
    "error",
    oneOf("error", "allow", "deny"),
    "what is answered while Sluice is away: UNAVAILABLE, so that Envoy's failure_mode_deny decides; OK; OVER_LIMIT",
  ],
  [
    "in-flight-max",
    "10000",
    number(1, 1_000_000),
    "requests that wait for Sluice at a time; further ones get RESOURCE_EXHAUSTED",
  ],
  ["key-prefix", "ratelimit:", text, "stands before each key in Sluice"],
  ["shadow-mode", "no", flag, "whether every request is let through in the end, and only counted"],
  [
    "response-headers",
    "",
    headerPrefix,
    "headers for the client: X-RateLimit makes X-RateLimit-Limit, -Remaining, -Reset; empty: none",
  ],
  ["request-headers", "", headerPrefix, "the same for the service behind Envoy"],
  [
    "near-limit-ratio",
    "0.8",
    number(0, 1, { whole: false }),
    "the part of a limit from which on hits count as near_limit",
  ],
  ["series-max", "10000", number(1, 1_000_000), "rules and values that have metrics of their own"],
  ["listen", "127.0.0.1:8081", orSocket, "where gRPC is served; unix:/path for a socket"],
  [
    "http",
    "127.0.0.1:8080",
    orOff(address),
    "where /metrics, /healthcheck, /rlconfig and /json are served; off: nowhere",
  ],
  ["tls-cert", "", text, "a file with the certificate of the gRPC server, its chain included"],
  ["tls-key", "", text, "a file with its key"],
  ["tls-client-ca", "", text, "a file with the authority whose certificates clients must show"],
  ["connection-age", "0", number(0, 86_400 * 365), "s until a client is asked to connect anew; 0: never"],
  ["stop-delay", "0", number(0, 600_000), "ms between NOT_SERVING and the end of listening, for balancers to notice"],
  ["stop-grace", "10000", number(0, 600_000), "ms that requests under way may take after that"],
].map(([name, fallback, read, doc]) => ({ name, fallback, read, doc }));

const COMMANDS = [
  ["check-config", "reads the configuration, says what is wrong with it, and ends"],
  ["help", "shows this, and ends"],
  ["version", "shows the version, and ends"],
];

const variable = (name) => `RATELIMIT_${name.toUpperCase().replaceAll("-", "_")}`;
const property = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

function wordsOf(argv) {
  const options = Object.fromEntries([
    ...OPTIONS.map(({ name }) => [name, { type: "string" }]),
    ...COMMANDS.map(([name]) => [name, { type: "boolean" }]),
  ]);
  try {
    return parseArgs({ args: argv, options, strict: true }).values;
  } catch (error) {
    throw new OptionError(error.message);
  }
}

/** The options by their names in camel case; `command` is check-config, help or version, or undefined. */
function readOptions(argv, env) {
  const words = wordsOf(argv);
  const options = { command: COMMANDS.map(([name]) => name).find((name) => words[name]) };
  for (const { name, fallback, read } of OPTIONS) {
    const [value, from] =
      words[name] === undefined && env[variable(name)] !== undefined
        ? [env[variable(name)], variable(name)]
        : [words[name] ?? fallback, `--${name}`];
    options[property(name)] = read(value, from);
  }
  if (options.command === "help" || options.command === "version") return options;
  if (options.config === "") throw new OptionError("--config: a file or folder of limits is wanted");
  if ((options.tlsCert === "") !== (options.tlsKey === ""))
    throw new OptionError("--tls-cert and --tls-key want each other");
  if (options.tlsClientCa !== "" && options.tlsCert === "") throw new OptionError("--tls-client-ca wants --tls-cert");
  return options;
}

function help() {
  const rows = [
    ...OPTIONS.map(({ name, fallback, doc }) => [`--${name}`, doc + (fallback === "" ? "" : ` (${fallback})`)]),
    ...COMMANDS.map(([name, doc]) => [`--${name}`, doc]),
  ];
  return [
    "sluice-ratelimit --config FILE|FOLDER [--sluice URL] ...",
    "",
    "Envoy's rate limit service (envoy.service.ratelimit.v3) over the limits of Sluice.",
    "",
    ...rows.map(([name, doc]) => `  ${name.padEnd(20)}${doc}`),
    "",
    `Each option is also a variable of the environment: ${variable("failure-mode")}=deny. SIGHUP reads the files anew.`,
    "",
  ].join("\n");
}

module.exports = { OPTIONS, OptionError, help, readOptions };
