// Tests that fail, for double.test.js, which looks at what is said of them.
"use strict";
const assert = require("node:assert");
const { test } = require("node:test");
const Redis = require("ioredis");
const { useSluice } = require("@sluice/client/node-test");

const sluice = useSluice();

/** What the test sends to that space, over a connection that asks nothing else. */
async function sent(space, work) {
  const client = new Redis(space.url, { enableReadyCheck: false, disableClientInfo: true });
  await work(client).finally(() => client.disconnect());
}

test("passes", () => sent(sluice, (client) => client.get("passed")));

test("a lease", () => sent(sluice, async (client) => {
  await sluice.clock.freeze();
  await client.set("lock", "me", "PX", 1500);
  await sluice.clock.advance(1000);
  assert.strictEqual(await client.get("lock"), "me");
  await sluice.clock.next();
  assert.strictEqual(await client.get("lock"), "me");
}));

test("an expectation", async () => {
  await sent(sluice, (client) => client.get("door"));
  await sluice.journal.expect("GET window");
});

test("nothing was sent", () => assert.fail("at all"));

test("beside each other", async (t) => {
  await Promise.all([
    t.test("passes", async (inner) => sent(await sluice.spaceFor(inner), (client) => client.get("fine"))),
    t.test("fails", async (inner) => {
      await sent(await sluice.spaceFor(inner), (client) => client.get("aside"));
      assert.fail("here");
    }),
  ]);
});
