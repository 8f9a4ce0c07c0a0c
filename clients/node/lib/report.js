// What a test of node:test that has failed says of its space: the requests and how the clock was moved, once.
"use strict";
const { SENT_TO } = require("./double.js");

const SENT = /; the last \d+ of \d+ requests: [^]*?(?=\n {4}at |$)/; // at the end of a message, before the stack

/** The error of an expectation lists the requests, which the report shows with their answers. */
function leaveOutRequests(error, journal) {
  const at = [error, error?.cause].find((each) => each?.[SENT_TO] === journal);
  if (!at) return;
  for (const each of [error, at]) {
    each.message = each.message.replace(SENT, "");
    each.stack = each.stack?.replace(SENT, "");
  }
}

/** t: the test's context in a hook behind it, which knows since Node 20.12 whether it has passed. */
async function reportFailure(t, space) {
  if (typeof t?.diagnostic !== "function" || t.passed !== false) return;
  const lines = await space.history().catch((error) => [String(error)]);
  if (!lines.length) return;
  leaveOutRequests(t.error, space.journal);
  t.diagnostic("sluice: the last requests of this test, and how the clock was moved");
  for (const line of lines) t.diagnostic(line);
}

module.exports = { reportFailure };
