// ShouldRateLimit: from a request and the rules of the moment to an answer. What is asked of Sluice is limiter.js's,
// what a message looks like request.js's.
//
//   1. Each descriptor finds its limit: the one that it brings along, or that of the rule it matches.
//   2. Limits that another one of this request replaces are left out.
//   3. Sluice is asked, unless no limit is left or those left need no counting.
//   4. Each descriptor gets its status; the request is over its limit if one of them is.
"use strict";
const { keyOf } = require("./limiter.js");
const { readRequest } = require("./request.js");
const { REQUESTS_MAX, UNIT_MS } = require("./units.js");

const OK = "OK";
const OVER_LIMIT = "OVER_LIMIT";

/** Too many requests wait for Sluice: RESOURCE_EXHAUSTED, or 503 over HTTP. */
class BusyError extends Error {
  constructor(message) {
    super(message);
    this.name = "BusyError";
  }
}

/** Sluice did not answer, or refused: UNAVAILABLE, or 503 over HTTP. `cause` is the Redis client's error. */
class AwayError extends Error {
  constructor(cause) {
    // ioredis names its own option there.
    const why = cause.message.includes("enableOfflineQueue") ? "there is no connection to it" : cause.message;
    super(`Sluice cannot be asked: ${why}`, { cause });
    this.name = "AwayError";
  }
}

const overrideLimit = ({ max, unit }) => ({
  unlimited: false,
  name: "",
  replaces: [],
  shadow: false,
  unit,
  max,
  period: UNIT_MS[unit],
  algorithm: "window",
});

const labelOf = ({ key, value }) => (value === "" ? key : `${key}_${value}`);

/** What a descriptor finds: { limit, entries, labels }, or undefined. In a domain that is not configured it is nothing,
 *  even where the descriptor brings a limit along. */
function findLimit(rules, domain, { entries, override }) {
  if (override === null) return rules.find(domain, entries);
  return rules.has(domain) ? { limit: overrideLimit(override), entries, labels: entries.map(labelOf) } : undefined;
}

/** The limits that are left of those found: none whose name another one of this request replaces. */
function withoutReplaced(found) {
  const replaced = new Set(found.flatMap((match) => match?.limit.replaces ?? []));
  return found.map((match) => (match && replaced.has(match.limit.name) ? undefined : match));
}

/** A limit of no requests at all needs no counting. */
const closedVerdict = (hits) => ({
  allowed: hits === 0,
  limit: 0,
  remaining: 0,
  retryMs: -1,
  resetMs: 0,
  neverFits: true,
});

const wholeSeconds = (ms) => Math.ceil(Math.max(0, ms) / 1_000);

function statusOf(part) {
  if (part === undefined) return { code: OK };
  if (part.limit.unlimited) return { code: OK, limitRemaining: REQUESTS_MAX };
  const {
    limit: { max, unit, name, shadow },
    verdict,
  } = part;
  return {
    code: verdict.allowed || shadow ? OK : OVER_LIMIT,
    currentLimit: { requestsPerUnit: max, unit, name },
    limitRemaining: Math.min(verdict.remaining, REQUESTS_MAX),
    durationUntilReset: { seconds: wholeSeconds(verdict.resetMs), nanos: 0 },
  };
}

/** The status that says most to a client: one that is over its limit, else the one with the least that remains. */
function tightest(statuses) {
  let found;
  for (const status of statuses) {
    if (!status.currentLimit) continue;
    const rank = status.code === OVER_LIMIT ? -1 : status.limitRemaining;
    if (found === undefined || rank < found.rank) found = { rank, status };
  }
  return found?.status;
}

function headersOf(prefix, { currentLimit, limitRemaining, durationUntilReset }) {
  return [
    { key: `${prefix}-Limit`, value: String(currentLimit.requestsPerUnit) },
    { key: `${prefix}-Remaining`, value: String(limitRemaining) },
    { key: `${prefix}-Reset`, value: String(durationUntilReset.seconds) },
  ];
}

/** How long until the whole request would fit; undefined where it never does, or the refusal was none of Sluice's. */
function retrySeconds(parts) {
  const refused = parts.filter((part) => part?.verdict && !part.verdict.allowed && !part.limit.shadow);
  if (refused.length === 0 || refused.some(({ verdict }) => verdict.neverFits)) return undefined;
  return Math.max(...refused.map(({ verdict }) => wholeSeconds(verdict.retryMs)));
}

class Service {
  #limiter;
  #metrics;
  #options;
  #rules;
  #inFlight = 0;

  /** options: failureMode (error, allow, deny), shadowMode, responseHeaders and requestHeaders (the begin of their
   *  names, or empty), inFlightMax. onAway(error): Sluice was asked, and did not answer. */
  constructor(limiter, metrics, rules, options) {
    this.#limiter = limiter;
    this.#metrics = metrics;
    this.#rules = rules;
    this.#options = options;
  }

  get inFlight() {
    return this.#inFlight;
  }

  get rules() {
    return this.#rules;
  }

  /** Requests that are under way go on with the rules that they found. */
  set rules(rules) {
    this.#rules = rules;
  }

  /** The answer, a RateLimitResponse as an object. Errors: RequestError, BusyError, AwayError. */
  async shouldRateLimit(message) {
    const began = process.hrtime.bigint();
    try {
      return await this.#answer(readRequest(message));
    } catch (error) {
      if (!(error instanceof AwayError)) this.#metrics.error("service_error");
      throw error;
    } finally {
      this.#metrics.request(Number(process.hrtime.bigint() - began) / 1e9);
    }
  }

  async #answer({ domain, descriptors }) {
    const found = withoutReplaced(descriptors.map((descriptor) => findLimit(this.#rules, domain, descriptor)));
    const parts = found.map((match, at) => match && partOf(domain, match, descriptors[at]));
    for (const part of parts) if (part) this.#metrics.hits(part);
    try {
      await this.#ask(parts.filter((part) => part && !part.limit.unlimited));
    } catch (error) {
      if (!(error instanceof AwayError) || this.#options.failureMode === "error") throw error;
      return this.#answerAlone(parts);
    }
    for (const part of parts) if (part?.verdict) this.#metrics.verdict(part);
    return this.#response(parts);
  }

  async #ask(parts) {
    const closed = parts.filter(({ limit }) => limit.max === 0);
    for (const part of closed) part.verdict = closedVerdict(part.back ? 0 : part.hits);
    const counted = parts.filter(({ limit }) => limit.max > 0);
    if (counted.length === 0) return;
    if (this.#inFlight >= this.#options.inFlightMax) {
      throw new BusyError(`${this.#inFlight} requests wait for Sluice already`);
    }
    this.#inFlight += 1;
    try {
      await this.#limiter.ask(counted, { take: closed.every(({ verdict, limit }) => verdict.allowed || limit.shadow) });
    } catch (error) {
      this.#metrics.error("redis_error");
      this.#options.onAway(error);
      throw new AwayError(error);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** What the failure mode says in place of Sluice; a limit in shadow refuses nothing now either. */
  #answerAlone(parts) {
    const { failureMode } = this.#options;
    this.#metrics.failure(failureMode);
    const refuses = (part) =>
      failureMode === "deny" && part !== undefined && !part.limit.unlimited && !part.limit.shadow;
    return this.#overall(parts.map((part) => ({ code: refuses(part) ? OVER_LIMIT : OK })));
  }

  #overall(statuses) {
    const over = statuses.some(({ code }) => code === OVER_LIMIT);
    if (over && this.#options.shadowMode) this.#metrics.globalShadow();
    return { overallCode: over && !this.#options.shadowMode ? OVER_LIMIT : OK, statuses };
  }

  #response(parts) {
    const { responseHeaders, requestHeaders } = this.#options;
    const statuses = parts.map(statusOf);
    const response = this.#overall(statuses);
    const shown = tightest(statuses);
    if (shown && requestHeaders) response.requestHeadersToAdd = headersOf(requestHeaders, shown);
    if (shown && responseHeaders) response.responseHeadersToAdd = headersOf(responseHeaders, shown);
    const retry = responseHeaders && response.overallCode === OVER_LIMIT ? retrySeconds(parts) : undefined;
    if (retry !== undefined) response.responseHeadersToAdd.push({ key: "Retry-After", value: String(retry) });
    return response;
  }
}

/** What is asked for and counted: { key, domain, labels, limit, hits, shadow, back }. */
function partOf(domain, { limit, entries, labels }, { hits, back }) {
  const key = limit.unlimited ? null : keyOf(domain, entries, limit);
  return { key, domain, labels, limit, hits, back, shadow: limit.shadow };
}

module.exports = { AwayError, BusyError, Service };
