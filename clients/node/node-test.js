// node:test:
//   const sluice = useSluice();
//   test("a TTL", async () => { const client = new Redis(sluice.url); await sluice.clock.freeze(); ... });
"use strict";
const { after, afterEach, before, beforeEach } = require("node:test");
const { useSluice } = require("./lib/hooks.js");

/** A server for this file (or this describe), a space for each test. */
module.exports.useSluice = (options) =>
  useSluice({ beforeAll: before, afterAll: after, beforeEach, afterEach }, options);
