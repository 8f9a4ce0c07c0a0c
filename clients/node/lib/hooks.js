// A server for a file of tests, and a space of its own for each test, on the hooks that node:test and jest both have.
"use strict";
const { reportFailure } = require("./report.js");
const { Server } = require("./server.js");

const PARTS = ["url", "host", "port", "username", "password", "clock", "faults", "journal"];

/** What useSluice gives: the parts of the current test's space, and the server. */
class CurrentSpace {
  server = undefined;
  space = undefined;

  #here(part) {
    if (!this[part]) throw new Error("useSluice() has a server and a space only while a test runs");
    return this[part];
  }

  /** A further space, for a test that runs beside others: gone when the test `t` of node:test is over. */
  async spaceFor(t) {
    const made = this.#here("server").space();
    t.after(async () => {
      await reportFailure(t, made);
      await made.delete();
    });
    await made.journal.start();
    return made;
  }

  execute(...words) { return this.#here("space").execute(...words); }

  static {
    for (const part of PARTS) {
      Object.defineProperty(CurrentSpace.prototype, part, { get() { return this.#here("space")[part]; } });
    }
  }
}

/** hooks: { beforeAll, afterAll, beforeEach, afterEach }. options: those of Server.start. */
function useSluice(hooks, options) {
  const current = new CurrentSpace();
  hooks.beforeAll(async () => { current.server = await Server.start(options); });
  hooks.beforeEach(async () => {
    current.space = current.server.space();
    await current.space.journal.start();
  });
  hooks.afterEach(async (...[t]) => { // jest wants to be called back by a function with a parameter
    const { space } = current;
    current.space = undefined;
    if (!space) return;
    await reportFailure(t, space);
    await space.delete();
  });
  hooks.afterAll(async () => { if (current.server) await current.server.stop(); });
  return current;
}

module.exports = { useSluice };
