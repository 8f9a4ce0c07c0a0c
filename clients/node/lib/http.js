// What Express and Fastify share: asks a limit about a request, and says it in the IETF's headers
// (draft-ietf-httpapi-ratelimit-headers: RateLimit-Policy and RateLimit; Retry-After is HTTP's own).
"use strict";
const net = require("node:net");

const TIMEOUT_MS = 500;
const REFUSED = 429;
const NEVER_FITS = 413; // a cost above the limit: no waiting helps
const NO_ANSWER = 503;

/** The limiter cannot be asked: `cause` is what went wrong. */
class LimiterUnavailableError extends Error {
  constructor(cause) {
    super(`the limit cannot be asked: ${cause.message}`, { cause });
    this.name = "LimiterUnavailableError";
  }
}

const seconds = (ms) => Math.max(0, Math.ceil(ms / 1000));

/** The headers of a verdict. */
function rateLimitHeaders(verdict, { name, period, legacyHeaders }) {
  const window = period === undefined ? "" : `;w=${Math.max(1, seconds(period))}`;
  const headers = {
    "RateLimit-Policy": `"${name}";q=${verdict.limit}${window}`,
    "RateLimit": `"${name}";r=${verdict.remaining};t=${seconds(verdict.resetMs)}`,
  };
  if (legacyHeaders) {
    headers["X-RateLimit-Limit"] = String(verdict.limit);
    headers["X-RateLimit-Remaining"] = String(verdict.remaining);
    headers["X-RateLimit-Reset"] = String(Math.ceil(verdict.resetAtMs / 1000));
  }
  if (!verdict.allowed && !verdict.neverFits) headers["Retry-After"] = String(Math.max(1, seconds(verdict.retryMs)));
  return headers;
}

function within(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Who an address stands for: an IPv6 network of 64 bits is one household or one host, which has all of its
 *  addresses; an IPv4 address that comes in IPv6 is that. */
function addressKey(address) {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped || !net.isIPv6(address)) return mapped ? mapped[1] : address;
  const [head, tail] = address.replace(/%.*$/, "").replace(/\d+\.\d+\.\d+\.\d+$/, "0:0").split("::")
    .map((part) => part.split(":").filter(Boolean));
  const groups = tail ? [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail] : head;
  return `${groups.slice(0, 4).map((group) => parseInt(group, 16).toString(16)).join(":")}::/64`;
}

function addressOf(request) {
  if (!request.ip) throw new Error("the request has no address (ip); hand in a `key` function");
  return addressKey(request.ip);
}

/** A function of a request that resolves to {status, headers, verdict, error}: status is 0 when it may go on. */
function requestLimiter(limits, options) {
  const { limit, key = addressOf, cost, skip, name = "default", prefix = "http:", failOpen = true, onError,
    timeout = TIMEOUT_MS, legacyHeaders = false } = options;
  if (!/^[ !#-[\]-~]+$/.test(name)) throw new TypeError("name must be printable ASCII without quotes and backslashes");
  if (!limit) throw new TypeError("a limit is needed: { algorithm, max, period } or { policy }");

  const unavailable = (cause, request) => {
    const error = new LimiterUnavailableError(cause);
    onError?.(error, request);
    return { status: failOpen ? 0 : NO_ANSWER, headers: {}, error };
  };

  // What the application's own functions throw is the application's.
  return async (request) => {
    const chosen = typeof limit === "function" ? await limit(request) : limit;
    if (!chosen || (skip && await skip(request))) return { status: 0, headers: {} };
    const units = typeof cost === "function" ? await cost(request) : cost;
    const id = `${prefix}${name}:${await key(request)}`;
    let verdict;
    try {
      verdict = await within(limits.take(id, chosen, { cost: units }), timeout);
    } catch (cause) {
      return unavailable(cause, request);
    }
    const headers = rateLimitHeaders(verdict, { name, period: chosen.period, legacyHeaders });
    return { status: statusOf(verdict), headers, verdict };
  };
}

function statusOf({ allowed, neverFits }) {
  if (allowed) return 0;
  return neverFits ? NEVER_FITS : REFUSED;
}

const MESSAGES = {
  [REFUSED]: "Too Many Requests",
  [NEVER_FITS]: "This request costs more than the limit ever allows",
  [NO_ANSWER]: "The rate limit cannot be asked",
};

module.exports = { LimiterUnavailableError, addressKey, MESSAGES, rateLimitHeaders, requestLimiter };
