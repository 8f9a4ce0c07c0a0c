// The library redlock over five servers, of which some are killed by who reads this, for tests/smoke/balancers.py:
//   node redlock_five.js port port port port port
// Says what it has done, a line a step, and waits for a line before the next one.
"use strict";
const readline = require("node:readline");
const Redis = require("ioredis-5");
const { default: Redlock, ExecutionError } = require("redlock");

const LEASE_MS = 20000;
const clients = process.argv.slice(2).map((port) => {
  const client = new Redis({
    port: Number(port), retryStrategy: () => 100, maxRetriesPerRequest: 0, enableOfflineQueue: false,
  });
  client.on("error", () => {});
  return client;
});
const locks = new Redlock(clients, { retryCount: 3, retryDelay: 50 });
locks.on("error", () => {});
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function main() {
  await Promise.all(clients.map((client) => new Promise((resolve) => client.once("ready", resolve))));
  let lock = await locks.acquire(["door"], LEASE_MS);
  console.log(`taken over ${clients.length}`);
  await lines.next();
  lock = await lock.extend(LEASE_MS);
  const other = await locks.acquire(["door"], LEASE_MS).catch((fault) => fault);
  if (!(other instanceof ExecutionError)) throw new Error("taken twice");
  await lock.release();
  await locks.acquire(["door"], LEASE_MS);
  console.log("extended, given back and taken over 3");
  await lines.next();
  const refused = await locks.acquire(["window"], LEASE_MS).catch((fault) => fault);
  if (!(refused instanceof ExecutionError)) throw new Error("taken from a minority");
  console.log("refused over 2");
  await lines.next();
  process.exit(0);
}

main().catch((fault) => {
  console.log(String(fault));
  process.exit(1);
});
