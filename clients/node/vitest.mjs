// vitest: a fixture `sluice`, which is a space of its own for each test, also for those that run concurrently.
//   import { test } from "@sluice/client/vitest";
//   test("a TTL", async ({ sluice }) => { const client = new Redis(sluice.url); await sluice.clock.freeze(); ... });
import { afterAll, test as base } from "vitest";
import sluice from "./index.js";

let starting; // the server of this file

function server() {
  starting ??= sluice.Server.start();
  return starting;
}

// This module may live longer than a file (isolate: false); the next test that asks starts a server anew.
afterAll(async () => {
  const started = await starting;
  starting = undefined;
  await started?.stop();
});

const fixtures = {
  sluice: async ({}, use) => {
    const space = (await server()).space();
    await space.journal.start();
    try {
      await use(space);
    } finally {
      await space.delete();
    }
  },
};

/** Adds the fixture to a `test` that has others already. */
export const withSluice = (test) => test.extend(fixtures);
export const test = withSluice(base);
export const it = test;
