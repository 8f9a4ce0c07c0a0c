// Express (4 and 5), Connect and what takes their middleware:
//   app.use(rateLimit(new LimitClient(redis), { limit: { algorithm: "rolling", max: 100, period: 60_000 } }));
"use strict";
const { LimiterUnavailableError, MESSAGES, addressKey, requestLimiter } = require("./lib/http.js");

/** Middleware. `req.rateLimit` is the verdict; `onRefused(req, res, next, verdict)` answers in its own words. */
function rateLimit(limits, options) {
  const ask = requestLimiter(limits, options);
  return (req, res, next) => {
    ask(req).then(({ status, headers, verdict }) => {
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      req.rateLimit = verdict;
      if (!status) return next();
      res.statusCode = status;
      if (options.onRefused) return options.onRefused(req, res, next, verdict);
      res.setHeader("Content-Type", "text/plain; charset=utf-8");
      res.end(`${MESSAGES[status]}\n`);
    }).catch(next);
  };
}

module.exports = { LimiterUnavailableError, addressKey, rateLimit };
