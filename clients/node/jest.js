// jest, and others that have its hooks as globals:
//   const sluice = useSluice();
//   test("a TTL", async () => { const client = new Redis(sluice.url); await sluice.clock.freeze(); ... });
"use strict";
const { useSluice } = require("./lib/hooks.js");

/** A server for this file (or this describe), a space for each test. */
module.exports.useSluice = (options) => {
  const { beforeAll, afterAll, beforeEach, afterEach } = globalThis;
  if (typeof beforeAll !== "function") {
    throw new Error("@sluice/client/jest is for test files that jest runs, with its globals injected");
  }
  return useSluice({ beforeAll, afterAll, beforeEach, afterEach }, options);
};
