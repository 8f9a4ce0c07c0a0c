// The rules of all domains, and which of them a descriptor matches.
//
// A domain has a tree: each level maps the key of an entry to what its value may be: exactly one, one that begins with
// the text before a `*`, or any. A descriptor matches the rule at which its last entry ends, so one that is longer or
// shorter than the configured path matches none. At each entry the exact value goes before a wildcard, wildcards go in
// the order of the file, and both go before the key alone; there is no way back to another branch.
"use strict";

/** One level of a tree. */
class Level {
  #keys = new Map();

  /** Adds a rule. False: there is one with the same key and value. */
  add(rule) {
    let slot = this.#keys.get(rule.key);
    if (slot === undefined) this.#keys.set(rule.key, (slot = { values: new Map(), prefixes: [], any: undefined }));
    if (rule.value === "") {
      if (slot.any !== undefined) return false;
      slot.any = rule;
      return true;
    }
    if (slot.values.has(rule.value)) return false;
    slot.values.set(rule.value, rule);
    if (rule.value.endsWith("*")) slot.prefixes.push({ prefix: rule.value.slice(0, -1), rule });
    return true;
  }

  /** How many wildcards a key has; each may be tried for each entry. */
  wildcards(key) {
    return this.#keys.get(key)?.prefixes.length ?? 0;
  }

  /** The rule that an entry leads to; undefined when none. */
  next({ key, value }) {
    const slot = this.#keys.get(key);
    if (slot === undefined) return undefined;
    return slot.values.get(value) ?? slot.prefixes.find(({ prefix }) => value.startsWith(prefix))?.rule ?? slot.any;
  }

  /** All rules at this level, for a listing. */
  *[Symbol.iterator]() {
    for (const { values, any } of this.#keys.values()) {
      yield* values.values();
      if (any !== undefined) yield any;
    }
  }
}

/** A rule: { key, value, limit, level, detailedMetric, valueToMetric, shareThreshold }. `value` is empty where any
 *  matches, and ends with a `*` in a wildcard. `limit` is null where the rule only leads on. */
const label = ({ key, value }) => (value === "" ? key : `${key}_${value}`);

class Rules {
  #domains = new Map();

  get domains() {
    return [...this.#domains.keys()];
  }

  has(domain) {
    return this.#domains.has(domain);
  }

  /** The tree of a domain, made on first use. */
  domain(name) {
    let level = this.#domains.get(name);
    if (level === undefined) this.#domains.set(name, (level = new Level()));
    return level;
  }

  /** What a descriptor of `domain` matches: { limit, entries, labels }, or undefined. `entries` are what is counted by:
   *  the descriptor's own, with the pattern in place of a value that shares its threshold. `labels` name counters. */
  find(domain, entries) {
    let level = this.#domains.get(domain);
    const path = [];
    for (const entry of entries) {
      const rule = level?.next(entry);
      if (rule === undefined) return undefined;
      path.push(rule);
      level = rule.level;
    }
    const last = path.at(-1);
    if (!last?.limit) return undefined;
    const shown = (rule, entry) =>
      (last.detailedMetric || rule.valueToMetric) && !rule.shareThreshold ? label(entry) : label(rule);
    return {
      limit: last.limit,
      entries: entries.map((entry, at) =>
        path[at].shareThreshold ? { key: entry.key, value: path[at].value } : entry,
      ),
      labels: path.map((rule, at) => shown(rule, entries[at])),
    };
  }

  /** One line for each limit, as /rlconfig shows them. */
  *lines() {
    for (const [domain, level] of this.#domains) yield* linesOf(level, domain);
  }
}

function* linesOf(level, path) {
  for (const rule of level) {
    const here = `${path}.${label(rule)}`;
    if (rule.limit) yield `${here}: ${describe(rule.limit)}`;
    yield* linesOf(rule.level, here);
  }
}

function describe(limit) {
  if (limit.unlimited) return "unlimited";
  return `unit=${limit.unit} requests_per_unit=${limit.max} shadow_mode=${limit.shadow} algorithm=${limit.algorithm}`;
}

module.exports = { Level, Rules, label };
