// The configuration: YAML files of the reference service, read into Rules.
//
//   domain: shop
//   descriptors:
//     - key: user
//       rate_limit: {unit: minute, requests_per_unit: 60}
//
// A file is read whole or refused whole, with the place of the first fault: nothing is taken silently that would not
// have its effect. Sizes, depth and the number of rules have bounds, so that no file stops the program that reads it.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const YAML = require("yaml");
const { Level, Rules, label } = require("./rules.js");
const { REQUESTS_MAX, UNIT_MS } = require("./units.js");

const FILES_MAX = 1_000;
const FILE_BYTES_MAX = 4 << 20;
const RULES_MAX = 100_000;
const WILDCARDS_MAX = 1_000; // of one key at one place
const DEPTH_MAX = 32; // of descriptors: a request has no more entries
const TEXT_MAX = 1_024; // characters of a domain, key, value or name

const ALGORITHMS = ["window", "rolling", "sliding", "log", "gcra", "leaky"];
const WITH_BURST = ["rolling", "gcra"];

/** The configuration cannot be used; the message says where and why. */
class ConfigError extends Error {
  constructor(message) {
    super(message);
    this.name = "ConfigError";
  }
}

/** The text of one file while it is read: its tree, and where in the text a node stands. */
class Source {
  #lines = new YAML.LineCounter();
  #budget;

  /** budget: { rules }, how many descriptors may still be read; all files of a configuration spend from one. */
  constructor(name, text, budget) {
    this.name = name;
    this.#budget = budget;
    this.document = YAML.parseDocument(text, { lineCounter: this.#lines, strict: true, logLevel: "error" });
    const [fault] = [...this.document.errors, ...this.document.warnings];
    if (fault) throw new ConfigError(`${name}:${this.#lines.linePos(fault.pos[0]).line}: ${sentenceOf(fault)}`);
  }

  fail(node, sentence) {
    const line = node?.range ? `:${this.#lines.linePos(node.range[0]).line}` : "";
    throw new ConfigError(`${this.name}${line}: ${sentence}`);
  }

  /** One descriptor more: those that aliases repeat count each time, before they are read. */
  spend(node) {
    if (this.#budget.rules === 0) this.fail(node, `more than ${RULES_MAX} descriptors`);
    this.#budget.rules -= 1;
  }

  resolve(node) {
    if (!YAML.isAlias(node)) return node;
    return node.resolve(this.document) ?? this.fail(node, `there is no anchor &${node.source}`);
  }
}

/** What the parser says, without the place, which stands before it. */
function sentenceOf({ code, message }) {
  if (code === "MULTIPLE_DOCS") return "a second document begins here; a file holds one";
  return message.split("\n")[0].replace(/ at line \d+, column \d+:?$/, "");
}

const empty = (node) => node === null || node === undefined || (YAML.isScalar(node) && node.value === null);

/** How the words of a map are read: each gets the source, its node, and how deep its map stands. */
const text = (source, node) => {
  if (!YAML.isScalar(node)) source.fail(node, "a text is wanted here");
  const value = typeof node.value === "string" ? node.value : String(node.source ?? node.value);
  if (value.length > TEXT_MAX) source.fail(node, `a text of ${value.length} characters: at most ${TEXT_MAX} are taken`);
  return value;
};
const flag = (source, node) => {
  if (typeof node.value !== "boolean") source.fail(node, "true or false is wanted here");
  return node.value;
};
const number = (source, node) => {
  const { value } = node;
  if (!Number.isInteger(value) || value < 0 || value > REQUESTS_MAX) {
    source.fail(node, `a whole number of 0 to ${REQUESTS_MAX} is wanted here`);
  }
  return value;
};
const oneOf = (names, what) => (source, node) => {
  const word = text(source, node).toLowerCase();
  return names.includes(word) ? word : source.fail(node, `no ${what}: ${word}; there are ${names.join(", ")}`);
};
const mapOf = (grammar) => (source, node, depth) => readMap(source, node, grammar(), depth);
const listOf = (grammar) => (source, node, depth) => {
  if (!YAML.isSeq(node)) source.fail(node, "a list is wanted here");
  if (depth > DEPTH_MAX) source.fail(node, `descriptors are nested deeper than ${DEPTH_MAX}`);
  return node.items.map((item) => {
    source.spend(item);
    return readMap(source, source.resolve(item), grammar(), depth + 1);
  });
};

const REPLACES = { name: text };
const RATE_LIMIT = {
  unit: oneOf(
    Object.keys(UNIT_MS).map((unit) => unit.toLowerCase()),
    "unit",
  ),
  requests_per_unit: number,
  unlimited: flag,
  name: text,
  replaces: listOf(() => REPLACES),
  // Words of Sluice's own.
  algorithm: oneOf(ALGORITHMS, "algorithm"),
  burst: number,
};
const DESCRIPTOR = {
  key: text,
  value: text,
  rate_limit: mapOf(() => RATE_LIMIT),
  descriptors: listOf(() => DESCRIPTOR),
  shadow_mode: flag,
  detailed_metric: flag,
  value_to_metric: flag,
  share_threshold: flag,
};
const ROOT = { domain: text, descriptors: listOf(() => DESCRIPTOR) };

/** What the reference service has beside these, and why it is refused rather than read over. */
const NOT_SERVED = {
  quota_mode: "quota_mode is not served here: a limit that is to refuse nothing is one with shadow_mode",
};

/** A map's words as { word: value, node }; words that are empty are not there. */
function readMap(source, node, grammar, depth) {
  if (!YAML.isMap(node)) source.fail(node, "a map is wanted here");
  const values = { node };
  for (const { key, value } of node.items) {
    const word = YAML.isScalar(key) ? key.value : undefined;
    if (!Object.hasOwn(grammar, word)) {
      source.fail(
        key,
        Object.hasOwn(NOT_SERVED, word)
          ? NOT_SERVED[word]
          : `no word of this map: ${String(key)}; there are ${Object.keys(grammar).join(", ")}`,
      );
    }
    const resolved = source.resolve(value);
    if (!empty(resolved)) values[word] = grammar[word](source, resolved, depth);
  }
  return values;
}

/** Puts the rules of one file into `rules`. */
class Reader {
  #rules = new Rules();
  #budget = { rules: RULES_MAX };
  #mergeDomains;

  constructor(mergeDomains) {
    this.#mergeDomains = mergeDomains;
  }

  get rules() {
    return this.#rules;
  }

  read(name, content) {
    const source = new Source(name, content, this.#budget);
    const root = readMap(source, source.document.contents ?? source.fail(null, "the file is empty"), ROOT, 0);
    if (!root.domain) source.fail(root.node, "a file wants a domain");
    if (this.#rules.has(root.domain) && !this.#mergeDomains) {
      source.fail(root.node, `the domain ${root.domain} is there already; merge-domains puts several files together`);
    }
    this.#add(source, this.#rules.domain(root.domain), root.descriptors ?? []);
  }

  #add(source, level, descriptors) {
    for (const words of descriptors) {
      const rule = ruleOf(source, words);
      if (!level.add(rule)) source.fail(words.node, `the descriptor ${label(rule)} is there already`);
      if (level.wildcards(rule.key) > WILDCARDS_MAX) source.fail(words.node, `more than ${WILDCARDS_MAX} wildcards`);
      this.#add(source, rule.level, words.descriptors ?? []);
    }
  }
}

function ruleOf(source, words) {
  const { node, key, value = "" } = words;
  if (!key) source.fail(node, "a descriptor wants a key");
  if (value === "" && key.endsWith("*")) source.fail(node, "a * stands at the end of a value, not of a key");
  if (words.share_threshold && !value.endsWith("*"))
    source.fail(node, "share_threshold wants a value that ends with a *");
  return {
    key,
    value,
    level: new Level(),
    limit: words.rate_limit ? limitOf(source, words.rate_limit, words.shadow_mode ?? false) : null,
    detailedMetric: words.detailed_metric ?? false,
    valueToMetric: words.value_to_metric ?? false,
    shareThreshold: words.share_threshold ?? false,
  };
}

function limitOf(source, words, shadow) {
  const { node, unlimited = false, name = "", algorithm = "window", burst } = words;
  const replaces = (words.replaces ?? []).map(
    (entry) => entry.name || source.fail(entry.node, "what is replaced wants a name"),
  );
  if (name && replaces.includes(name)) source.fail(node, `a limit cannot replace its own name, ${name}`);
  if (unlimited) {
    for (const word of ["unit", "requests_per_unit", "algorithm", "burst"]) {
      if (words[word] !== undefined) source.fail(node, `a limit that is unlimited has no ${word}`);
    }
    return { unlimited, name, replaces, shadow };
  }
  for (const word of ["unit", "requests_per_unit"]) {
    if (words[word] === undefined) source.fail(node, `a rate_limit wants ${word}, or unlimited: true`);
  }
  if (burst !== undefined && !WITH_BURST.includes(algorithm)) {
    source.fail(node, `the algorithm ${algorithm} has no burst; ${WITH_BURST.join(" and ")} have one`);
  }
  const unit = words.unit.toUpperCase();
  return {
    unlimited,
    name,
    replaces,
    shadow,
    unit,
    max: words.requests_per_unit,
    period: UNIT_MS[unit],
    algorithm,
    burst,
  };
}

/** The names of the files that `place` stands for: its own, or where it is a folder its *.yaml and *.yml, in order, but
 *  for those that begin with a dot; one more than may be at most. */
function filesOf(place) {
  if (!fs.statSync(place).isDirectory()) return [place];
  const names = fs.readdirSync(place).filter((name) => /^[^.].*\.ya?ml$/.test(name));
  return names
    .sort()
    .slice(0, FILES_MAX + 1)
    .map((name) => path.join(place, name));
}

/** [[name, text]] of these files. */
function readFiles(place) {
  const found = filesOf(place);
  if (found.length === 0) throw new ConfigError(`${place}: no file in it ends with .yaml or .yml`);
  if (found.length > FILES_MAX) throw new ConfigError(`${place}: more than ${FILES_MAX} files`);
  return found.map((file) => {
    const { size } = fs.statSync(file);
    if (size > FILE_BYTES_MAX) throw new ConfigError(`${file}: ${size} bytes, more than ${FILE_BYTES_MAX}`);
    return [file, fs.readFileSync(file, "utf8")];
  });
}

/** The rules of files that were read. Errors: ConfigError. */
function parseFiles(files, { mergeDomains = false } = {}) {
  const reader = new Reader(mergeDomains);
  for (const [name, content] of files) reader.read(name, content);
  return reader.rules;
}

/** The rules of `place`, a file or a folder. Errors: ConfigError, also for what cannot be read. */
function loadConfig(place, options) {
  try {
    return parseFiles(readFiles(place), options);
  } catch (error) {
    throw error instanceof ConfigError ? error : new ConfigError(`${place}: ${error.message}`);
  }
}

module.exports = { ConfigError, DEPTH_MAX, TEXT_MAX, filesOf, loadConfig, parseFiles };
