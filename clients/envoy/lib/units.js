// The units of a limit, by the names that configuration and protocol have for them, and how long each is. A month is
// 30 days and a year 365, as in the reference service.
"use strict";

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

const UNIT_MS = {
  SECOND,
  MINUTE: 60 * SECOND,
  HOUR: 60 * 60 * SECOND,
  DAY,
  WEEK: 7 * DAY,
  MONTH: 30 * DAY,
  YEAR: 365 * DAY,
};

/** The most requests per unit that the protocol has a field for. */
const REQUESTS_MAX = 2 ** 32 - 1;

module.exports = { REQUESTS_MAX, UNIT_MS };
