// ioredis and locks: wait, hand-over, a holder that dies, many in turn.
//   node locks_node.js port
"use strict";
const assert = require("node:assert");

const port = Number(process.argv[2]);
const major = Number(process.versions.node.split(".")[0]);
const Redis = require(major >= 20 ? "ioredis" : "ioredis-5").default ||
              require(major >= 20 ? "ioredis" : "ioredis-5");

const take = (client, ...words) => client.call("LOCK.ACQUIRE", ...words);

// RESP3 answers come as maps or objects, RESP2's as arrays.
function tokenOf(grant) {
  if (Array.isArray(grant)) return grant[0] === "token" ? grant[1] : grant[0];
  return grant instanceof Map ? grant.get("token") : grant.token;
}

async function waiters(client, count) {
  for (const end = Date.now() + 20000; Date.now() < end;) {
    if ((await client.call("LOCK.WAITERS", "door")).length === count) return;
  }
  throw new Error("they never came to wait");
}

async function main() {
  const one = new Redis({ port });
  const other = new Redis({ port });
  await one.flushall();

  const first = tokenOf(await take(one, "door", "one", "LEASE", 60000));
  const waiting = take(other, "door", "other", "LEASE", 60000, "WAIT", 60000);
  await waiters(one, 1);
  assert.strictEqual(await one.call("LOCK.RELEASE", "door", "one"), 0);
  assert.ok(tokenOf(await waiting) > first);
  await assert.rejects(one.call("LOCK.RELEASE", "door", "one"), /NOTHELD/);
  await assert.rejects(one.call("FENCED", "door", first, "SET", "x", "1"), /STALE/);
  assert.strictEqual(await one.call("LOCK.RELEASE", "door", "other"), 0);

  // The holder dies: the lock was its session's.
  const holder = new Redis({ port, retryStrategy: null });
  await take(holder, "door", "holder", "SESSION");
  const next = take(other, "door", "next", "LEASE", 60000, "WAIT", 60000);
  await waiters(one, 1);
  holder.disconnect();
  await next;
  assert.strictEqual(await one.call("LOCK.RELEASE", "door", "next"), 0);

  // Ten clients, each adds to a number that only the lock guards.
  await one.set("sum", 0);
  await Promise.all(Array.from({ length: 10 }, async (_, index) => {
    const client = new Redis({ port });
    for (let i = 0; i < 20; ++i) {
      await take(client, "door", `adder-${index}`, "LEASE", 60000, "WAIT", 60000);
      const sum = Number(await client.get("sum"));
      await client.set("sum", sum + 1);
      await client.call("LOCK.RELEASE", "door", `adder-${index}`);
    }
    client.disconnect();
  }));
  assert.strictEqual(await one.get("sum"), "200");
  one.disconnect();
  other.disconnect();
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
