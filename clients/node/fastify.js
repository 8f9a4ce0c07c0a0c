// Fastify (4 and 5):
//   const limits = new LimitClient(redis);
//   await app.register(rateLimit, { limits, limit: { algorithm: "gcra", max: 10, period: 1000 } });
// For one route: { onRequest: rateLimitHook(limits, { limit }) }.
"use strict";
const { STATUS_CODES } = require("node:http");
const { LimiterUnavailableError, MESSAGES, addressKey, requestLimiter } = require("./lib/http.js");

/** A hook. `request.rateLimit` is the verdict; `onRefused(request, reply, verdict)` answers in its own words. */
function rateLimitHook(limits, options) {
  const ask = requestLimiter(limits, options);
  return async function onRequest(request, reply) {
    const { status, headers, verdict } = await ask(request);
    reply.headers(headers);
    request.rateLimit = verdict;
    if (!status) return undefined;
    reply.code(status);
    if (options.onRefused) return options.onRefused(request, reply, verdict);
    return reply.send({ statusCode: status, error: STATUS_CODES[status], message: MESSAGES[status] });
  };
}

/** A plugin for all routes of the instance it is registered at. */
async function rateLimit(fastify, { limits, ...options }) {
  if (!fastify.hasRequestDecorator("rateLimit")) fastify.decorateRequest("rateLimit", undefined);
  fastify.addHook("onRequest", rateLimitHook(limits, options));
}
rateLimit[Symbol.for("skip-override")] = true; // routes beside it are meant, too
rateLimit[Symbol.for("fastify.display-name")] = "@sluice/client/fastify";

module.exports = { LimiterUnavailableError, addressKey, rateLimit, rateLimitHook };
