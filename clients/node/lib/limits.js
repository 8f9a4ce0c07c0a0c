// Limits over LIMIT.*: for clients of ioredis and node-redis.
//   const limits = new LimitClient(redis);
//   const verdict = await limits.take("user:17", { algorithm: "rolling", max: 100, period: 60_000 });
"use strict";
const { UnexpectedReplyError, adapt, countOf, sendWaiting, wholeOf } = require("./client.js");

const ALGORITHMS = ["WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA", "LEAKY", "CALENDAR"];
const VERDICT = ["allowed", "limit", "remaining", "retry_ms", "reset_ms", "reset_at_ms"];
const INFO = ["algorithm", "limit", "period_ms", "burst", "used", "remaining", "reset_at_ms"];
const POLICY = ["algorithm", "max", "period_ms", "burst"];
const CALENDAR_POLICY = [...POLICY, "unit", "zone", "starts"];
const POLICY_TEXTS = ["algorithm", "unit", "zone"];

function algorithmWord({ algorithm }) {
  const word = String(algorithm).toUpperCase();
  if (!ALGORITHMS.includes(word)) throw new TypeError(`no algorithm: ${algorithm}; there are ${ALGORITHMS.join(", ")}`);
  return word;
}

/** How many values a reply has: an array, maybe of names and values in turn, or a map. */
function sizeOf(reply) {
  if (reply === null || typeof reply !== "object") return 1;
  if (!Array.isArray(reply)) return reply.size ?? Object.keys(reply).length;
  return String(reply[0]) === "algorithm" ? reply.length / 2 : reply.length;
}

function calendarWords({ max, unit, zone, starts }) {
  const words = ["CALENDAR", max, String(unit).toUpperCase()];
  if (zone !== undefined) words.push("ZONE", zone);
  return starts === undefined ? words : [...words, "STARTS", starts];
}

/** A limit in the words of LIMIT.TAKE. */
function limitWords(limit) {
  if (limit.policy !== undefined) return ["POLICY", limit.policy];
  if (algorithmWord(limit) === "CALENDAR") return calendarWords(limit);
  const words = [algorithmWord(limit), limit.max, limit.period];
  return limit.burst === undefined ? words : [...words, "BURST", limit.burst];
}

/** A limit in the words of LIMIT.ALL. */
function wordsOfSeveral(limit) {
  if (limit.policy !== undefined) return ["POLICY", limit.policy];
  const word = algorithmWord(limit);
  if (word === "CALENDAR") throw new TypeError("a calendar among several limits needs a policy");
  return [word, limit.max, limit.period, limit.burst ?? 0];
}

/** Asking again safely: with the same id the same verdict, and nothing more is taken. */
function nameWords({ id, idFor }) {
  if (id === undefined) {
    if (idFor !== undefined) throw new TypeError("idFor wants an id");
    return [];
  }
  return idFor === undefined ? ["ID", id] : ["ID", id, "FOR", idFor];
}

function verdictOf(reply) {
  const values = wholeOf("LIMIT.TAKE", reply, VERDICT);
  return {
    allowed: values.allowed === 1, limit: values.limit, remaining: values.remaining, retryMs: values.retry_ms,
    resetMs: values.reset_ms, resetAtMs: values.reset_at_ms, neverFits: values.retry_ms < 0,
  };
}

class LimitClient {
  #client;
  #prefix;

  /** redis: a connected client of ioredis or node-redis. prefix: stands before each key. */
  constructor(redis, { prefix = "" } = {}) {
    this.#client = adapt(redis);
    this.#prefix = prefix;
  }

  /** Any bytes may be a key. */
  #full(key) { return Buffer.isBuffer(key) ? Buffer.concat([Buffer.from(this.#prefix), key]) : this.#prefix + key; }

  /** Takes `cost` units, all or none; 0 asks without taking. peek: stores nothing. wait: parks the caller, in order,
   *  until they fit; `signal` ends that. ban: refuses everything for so long after a refusal. shadow: counts apart.
   *  id: asked again with it, as the answer was lost, the request counts once; idFor: for so long. */
  async take(key, limit, { cost, peek, wait, ban, shadow, signal, id, idFor } = {}) {
    const words = ["LIMIT.TAKE", this.#full(key), ...limitWords(limit)];
    for (const [word, value] of [["COST", cost], ["BAN", ban]]) if (value !== undefined) words.push(word, value);
    if (peek) words.push("PEEK");
    if (shadow) words.push("SHADOW");
    words.push(...nameWords({ id, idFor }));
    if (!wait) return verdictOf(await this.#client.send(...words));
    const refund = () => this.refund(key, cost ?? 1).catch(() => {});
    const late = (reply) => (verdictOf(reply).allowed ? refund() : undefined);
    return verdictOf(await sendWaiting(this.#client, [...words, "WAIT", wait], signal, late));
  }

  /** Takes from all of them or from none: [{ key, limit, cost }]. options: id and idFor, as of take. */
  async takeAll(requests, options = {}) {
    const words = requests.flatMap(({ limit, cost = 1 }) => [...wordsOfSeveral(limit), cost]);
    const keys = requests.map(({ key }) => this.#full(key));
    const reply = await this.#client.send("LIMIT.ALL", keys.length, ...keys, ...words, ...nameWords(options));
    if (!Array.isArray(reply)) throw new UnexpectedReplyError("LIMIT.ALL", reply);
    const [allowed, ...verdicts] = reply;
    return { allowed: countOf("LIMIT.ALL", allowed) === 1, verdicts: verdicts.map(verdictOf) };
  }

  /** Gives back what was taken and not used. What remains now; null when the limit is whole. options: id and idFor. */
  async refund(key, units = 1, options = {}) {
    const left = await this.#client.send("LIMIT.REFUND", this.#full(key), units, ...nameWords(options));
    return left === null ? null : countOf("LIMIT.REFUND", left);
  }

  /** What is known of a limit; null when it is whole. */
  async info(key) {
    const reply = await this.#client.send("LIMIT.INFO", this.#full(key));
    if (sizeOf(reply) === 0) return null;
    const { period_ms: periodMs, reset_at_ms: resetAtMs, ...same } = wholeOf("LIMIT.INFO", reply, INFO, ["algorithm"]);
    return { ...same, periodMs, resetAtMs };
  }

  /** A limit by a name, to be changed in one place: take(key, { policy: name }). */
  async setPolicy(name, limit) {
    const reply = await this.#client.send("LIMIT.POLICY", "SET", name, ...limitWords(limit));
    if (String(reply) !== "OK") throw new UnexpectedReplyError("LIMIT.POLICY", reply);
  }

  /** The limit of that name, or null. */
  async getPolicy(name) {
    const reply = await this.#client.send("LIMIT.POLICY", "GET", name);
    if (sizeOf(reply) === 0) return null;
    const names = sizeOf(reply) > POLICY.length ? CALENDAR_POLICY : POLICY;
    const { algorithm, max, period_ms: period, burst, ...rest } = wholeOf("LIMIT.POLICY", reply, names, POLICY_TEXTS);
    if (!ALGORITHMS.includes(algorithm)) throw new UnexpectedReplyError("LIMIT.POLICY", reply);
    return names === POLICY ? { algorithm, max, period, burst } : { algorithm, max, ...rest };
  }

  async deletePolicy(name) { return countOf("LIMIT.POLICY", await this.#client.send("LIMIT.POLICY", "DEL", name)) === 1; }

  async policies() {
    const names = await this.#client.send("LIMIT.POLICY", "LIST");
    if (!Array.isArray(names)) throw new UnexpectedReplyError("LIMIT.POLICY", names);
    return names.map(String);
  }
}

module.exports = { LimitClient };
