// What is served over HTTP beside gRPC: /metrics for Prometheus, /healthcheck, /rlconfig with the rules in use, and
// /json, which takes a request as JSON and answers 200 or 429 with the response as JSON.
"use strict";
const { createServer } = require("node:http");

const BODY_BYTES_MAX = 64 << 10;
const CONNECTIONS_MAX = 256;
const REQUEST_MS = 10_000;

const STATUS = { RequestError: 400, BusyError: 503, AwayError: 503 };

/** proto3's JSON: a duration is a text in seconds, and what an entry does not say is not there. */
function jsonOf(response) {
  const statuses = response.statuses.map(({ durationUntilReset, ...status }) => ({
    ...status,
    ...(durationUntilReset && { durationUntilReset: `${durationUntilReset.seconds}s` }),
  }));
  return JSON.stringify({ ...response, statuses });
}

/** Fields may be named as in the protocol (hits_addend) or in camel case, as JSON of it usually is. */
const camel = (key) => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

function messageOf(body) {
  return JSON.parse(body, function revive(key, value) {
    if (camel(key) === key || Array.isArray(this)) return value;
    Object.defineProperty(this, camel(key), { value, enumerable: true, configurable: true, writable: true });
    return undefined;
  });
}

async function bodyOf(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function json(request, { service, onBug }) {
  const body = await bodyOf(request);
  if (body === null) return { status: 413, text: `a body of more than ${BODY_BYTES_MAX} bytes\n` };
  let message;
  try {
    message = messageOf(body);
  } catch {
    return { status: 400, text: "the body is no JSON\n" };
  }
  try {
    const response = await service.shouldRateLimit(message);
    return {
      status: response.overallCode === "OVER_LIMIT" ? 429 : 200,
      type: "application/json",
      text: `${jsonOf(response)}\n`,
    };
  } catch (error) {
    if (STATUS[error.name] === undefined) onBug(error);
    return {
      status: STATUS[error.name] ?? 500,
      text: `${STATUS[error.name] === undefined ? "an internal fault" : error.message}\n`,
    };
  }
}

const ROUTES = {
  "GET /metrics": (request, { metrics, gauges }) => ({
    type: "text/plain; version=0.0.4",
    text: metrics.text(gauges()),
  }),
  "GET /healthcheck": (request, { serving }) => (serving() ? { text: "OK\n" } : { status: 503, text: "NOT_SERVING\n" }),
  "GET /rlconfig": (request, { service }) => ({ text: [...service.rules.lines(), ""].join("\n") }),
  "POST /json": json,
};

async function answer(request, response, parts) {
  const name = `${request.method} ${request.url.split("?")[0]}`;
  const {
    status = 200,
    type = "text/plain; charset=utf-8",
    text,
  } = Object.hasOwn(ROUTES, name)
    ? await ROUTES[name](request, parts)
    : { status: 404, text: "there is nothing here\n" };
  response.writeHead(status, { "content-type": type, ...(status === 413 && { connection: "close" }) });
  response.end(text);
}

/** parts: service, metrics, serving() whether it is healthy, gauges() what is so now, onBug(error). */
function createHttpServer(parts) {
  const limits = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS };
  const server = createServer(limits, (request, response) => {
    // A client that goes away in the middle of its request is no trouble of ours.
    answer(request, response, parts).catch(() => response.destroy());
  });
  server.maxConnections = CONNECTIONS_MAX;
  return server;
}

module.exports = { createHttpServer };
