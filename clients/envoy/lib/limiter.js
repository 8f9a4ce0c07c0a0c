// What is asked of Sluice for one request: LIMIT.ALL for the limits that are enforced, which takes from all of them or
// from none, and beside it one command each for those that only watch (SHADOW) and for what is given back.
//
// A limit's key is made so that no two of them can share one, whatever bytes a client sends along as a value:
//   ratelimit:minute:shop|user=17|path=%3D...    prefix, unit (and algorithm), domain, entries; %, | and = are escaped
// and it has a bounded length. A limit that changes keeps what is used; with another unit or algorithm it begins anew.
"use strict";
const { createHash } = require("node:crypto");
const { LimitClient } = require("@sluice/client");

const KEY_MAX = 512; // characters; a longer key ends with its SHA-256 instead
const KEY_KEPT = 256;

const RESERVED = /[%|=]/g;
const escaped = (text) => text.replace(RESERVED, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

function keyOf(domain, entries, { unit, algorithm }) {
  const kind = algorithm === "window" ? unit.toLowerCase() : `${unit.toLowerCase()}-${algorithm}`;
  let key = `${kind}:${escaped(domain)}`;
  for (const entry of entries) key += `|${escaped(entry.key)}=${escaped(entry.value)}`;
  if (key.length <= KEY_MAX) return key;
  return `${key.slice(0, KEY_KEPT)}|#${createHash("sha256").update(key).digest("hex")}`;
}

const limitOf = ({ algorithm, max, period, burst }) => ({ algorithm, max, period, burst });

/** One part for each key, as the server wants no key twice: hits add up, and of two limits the tighter one holds. */
function merged(parts) {
  const byKey = new Map();
  for (const part of parts) {
    const same = byKey.get(part.key);
    if (same === undefined) {
      byKey.set(part.key, { key: part.key, limit: limitOf(part.limit), cost: part.hits, parts: [part] });
      continue;
    }
    same.cost += part.hits;
    if (part.limit.max < same.limit.max) same.limit = limitOf(part.limit);
    same.parts.push(part);
  }
  return [...byKey.values()];
}

class Limiter {
  #limits;

  /** redis: a client of ioredis or node-redis. prefix: stands before each key. */
  constructor(redis, { prefix }) {
    this.#limits = new LimitClient(redis, { prefix });
  }

  /** Asks for parts { key, limit, hits, shadow, back } and writes to each its `verdict`, as LimitClient gives it.
   *  take: false when the request is refused already; then nothing is taken, but all is told. */
  async ask(parts, { take }) {
    const enforced = merged(parts.filter((part) => !part.shadow && !part.back));
    const asked = [];
    if (take && enforced.length > 0) asked.push(this.#takeAll(enforced));
    if (!take) asked.push(...enforced.map((request) => this.#take(request, { peek: true })));
    asked.push(
      ...merged(parts.filter((part) => part.shadow && !part.back)).map((request) =>
        this.#take(request, { shadow: true }),
      ),
    );
    asked.push(...merged(parts.filter((part) => part.back)).map((request) => this.#giveBack(request)));
    await Promise.all(asked);
  }

  async #takeAll(requests) {
    const { verdicts } = await this.#limits.takeAll(requests);
    requests.forEach(({ parts }, at) =>
      parts.forEach((part) => {
        part.verdict = verdicts[at];
      }),
    );
  }

  async #take({ key, limit, cost, parts }, options) {
    const verdict = await this.#limits.take(key, limit, { cost, ...options });
    parts.forEach((part) => {
      part.verdict = verdict;
    });
  }

  /** The answer to a refund has no times, so they are asked for, in the same breath. */
  async #giveBack({ key, limit, cost, parts }) {
    const [, verdict] = await Promise.all([
      cost === 0 ? null : this.#limits.refund(key, cost),
      this.#limits.take(key, limit, { cost: 0, peek: true }),
    ]);
    parts.forEach((part) => {
      part.verdict = { ...verdict, allowed: true };
    });
  }
}

module.exports = { Limiter, keyOf };
