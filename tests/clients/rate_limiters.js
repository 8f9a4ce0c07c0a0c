// rate-limiter-flexible, through ioredis and node-redis, and Bottleneck:
//   node rate_limiters.js flexible|bottleneck port
"use strict";
const assert = require("node:assert");
const Redis = require("ioredis-5");

const port = Number(process.argv[3]);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function consumes(Limiter, options) {
  const limiter = new Limiter({ points: 3, duration: 2, ...options });
  for (let left = 2; left >= 0; --left) {
    assert.strictEqual((await limiter.consume("alice")).remainingPoints, left);
  }
  const refused = await limiter.consume("alice").catch((answer) => answer);
  assert.ok(refused.msBeforeNext > 0 && refused.msBeforeNext <= 2000, JSON.stringify(refused));
  assert.strictEqual((await limiter.get("alice")).consumedPoints, 4);
  assert.strictEqual((await limiter.get("bob")), null);
  await limiter.reward("alice", 2);
  assert.strictEqual((await limiter.get("alice")).consumedPoints, 2);
  await limiter.penalty("alice", 1);
  await limiter.block("carol", 100);
  await assert.rejects(limiter.consume("carol").catch(() => { throw new Error("blocked"); }), /blocked/);
  assert.ok(await limiter.delete("alice"));
  assert.strictEqual((await limiter.consume("alice")).remainingPoints, 2);
}

async function flexible() {
  const { RateLimiterRedis, RateLimiterQueue, RLWrapperBlackAndWhite } = require("rate-limiter-flexible");
  const io = new Redis({ port });
  await consumes(RateLimiterRedis, { storeClient: io, keyPrefix: "io" });
  const node = await require("redis-5").createClient({ url: `redis://127.0.0.1:${port}` }).connect();
  await consumes(RateLimiterRedis, { storeClient: node, keyPrefix: "node", useRedisPackage: true });

  const window = new RateLimiterRedis({ storeClient: io, keyPrefix: "w", points: 1, duration: 1 });
  await window.consume("x");
  await assert.rejects(window.consume("x").catch(() => { throw new Error("full"); }), /full/);
  await sleep(1100);
  assert.strictEqual((await window.consume("x")).remainingPoints, 0);

  const blocking = new RateLimiterRedis(
    { storeClient: io, keyPrefix: "b", points: 1, duration: 1, blockDuration: 5 });
  await blocking.consume("x");
  const refused = await blocking.consume("x").catch((answer) => answer);
  assert.ok(refused.msBeforeNext > 4000, JSON.stringify(refused));

  const queue = new RateLimiterQueue(
    new RateLimiterRedis({ storeClient: io, keyPrefix: "q", points: 2, duration: 1 }));
  const started = Date.now();
  await Promise.all([1, 2, 3].map(() => queue.removeTokens(1)));
  assert.ok(Date.now() - started >= 300, "the third had to wait");
  const lists = new RLWrapperBlackAndWhite({ limiter: window, whiteList: ["vip"], blackList: ["bad"] });
  await lists.consume("vip");
  io.disconnect();
  await node.destroy();
}

async function bottleneck() {
  const Bottleneck = require("bottleneck");
  const options = { datastore: "ioredis", clientOptions: { port }, Redis, id: "jobs", clearDatastore: true };
  const limiter = new Bottleneck({ ...options, maxConcurrent: 2, minTime: 50 });
  await limiter.ready();
  const other = new Bottleneck({ ...options, clearDatastore: false });
  await other.ready();
  const started = Date.now();
  let running = 0, most = 0;
  const job = async (n) => {
    most = Math.max(most, ++running);
    await sleep(60);
    --running;
    return n * n;
  };
  const results = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) => (n % 2 ? limiter : other).schedule(() => job(n))));
  assert.deepStrictEqual(results, [1, 4, 9, 16, 25, 36]);
  assert.ok(most <= 2, `${most} at once`);
  assert.ok(Date.now() - started >= 5 * 50, "spaced");

  const reservoir = new Bottleneck({ ...options, id: "reservoir", reservoir: 2 });
  await reservoir.ready();
  await Promise.all([reservoir.schedule(async () => 1), reservoir.schedule(async () => 2)]);
  assert.strictEqual(await reservoir.currentReservoir(), 0);
  const third = reservoir.schedule(async () => 3);
  await sleep(100);
  await reservoir.incrementReservoir(1);
  assert.strictEqual(await third, 3);
  await Promise.all([limiter, other, reservoir].map((one) => one.disconnect(false)));
}

({ flexible, bottleneck })[process.argv[2]]().then(() => {
  console.log("ok");
  process.exit(0);
}, (error) => {
  console.error(error);
  process.exit(1);
});
