// ioredis and node-redis as clients of a cluster:
//   node cluster_node.js ioredis|ioredis-5|redis|redis-5 port            its own calls
//   node cluster_node.js ioredis|ioredis-5|redis|redis-5 port through    goes on through a failover
// `port` is that of any of its servers. See tests/smoke/cluster_clients.py.
"use strict";
const assert = require("node:assert");

const SKIPPED = 77;
const [name, port] = [process.argv[2], Number(process.argv[3])];
const needs = { ioredis: 20, redis: 20 }[name] || 18;
if (Number(process.versions.node.split(".")[0]) < needs) {
  console.log(`skipped: ${name} needs Node ${needs}, this is ${process.version}`);
  process.exit(SKIPPED);
}

const RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0';
const KEYS = Array.from({ length: 300 }, (_, number) => `key:${number}`);

const PATIENCE = 20000; // ms
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Tries again what a server that is going refuses.
async function patiently(call) {
  for (const end = Date.now() + PATIENCE; ; await pause(50)) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

// Until standard input ends: what was written is read again.
async function through(cluster) {
  let going = true;
  process.stdin.on("end", () => { going = false; }).resume();
  for (let round = 1; going; ++round) {
    await Promise.all(KEYS.slice(0, 60).map((key) => `${name}:${key}`).map(async (key) => {
      await patiently(() => cluster.set(key, `${round}`));
      const read = await patiently(() => cluster.get(key));
      assert.strictEqual(read, `${round}`, `${key} was set to ${round}`);
    }));
    console.log(round);
  }
  process.exit(0);
}

async function ofIoredis() {
  const { Cluster } = require(name);
  const cluster = new Cluster([{ host: "127.0.0.1", port }]);
  cluster.on("error", () => {}); // it connects again by itself
  if (process.argv[4] === "through") return through(cluster);
  for (const key of KEYS) assert.strictEqual(await cluster.set(key, "v", "PX", 60000, "NX"), "OK");
  for (const key of KEYS) assert.strictEqual(await cluster.get(key), "v");
  assert.strictEqual(await cluster.eval(RELEASE, 1, KEYS[0], "v"), 1);
  const answers = await cluster.multi().incr("{t}a").incr("{t}a").exec();
  assert.deepStrictEqual(answers.map(([, value]) => value), [1, 2]);
  const piped = await cluster.pipeline().set("{t}b", "1").get("{t}b").exec();
  assert.deepStrictEqual(piped.map(([, value]) => value), ["OK", "1"]);
  await assert.rejects(cluster.mget("a", "b"), /CROSSSLOT|All keys/);
  assert.strictEqual((await cluster.call("LIMIT.TAKE", "user:1", "GCRA", "10", "1000")).length > 0, true);
  const sizes = await Promise.all(cluster.nodes("master").map((node) => node.dbsize()));
  assert.ok(sizes.every((size) => size > 0) && sizes.length >= 2, `${sizes}`);
  cluster.disconnect();
}

async function ofNodeRedis() {
  const { createCluster } = require(name);
  const cluster = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
  cluster.on("error", () => {});
  await cluster.connect();
  if (process.argv[4] === "through") return through(cluster);
  for (const key of KEYS) assert.strictEqual(await cluster.set(key, "v", { PX: 60000, NX: true }), "OK");
  for (const key of KEYS) assert.strictEqual(await cluster.get(key), "v");
  assert.strictEqual(await cluster.eval(RELEASE, { keys: [KEYS[0]], arguments: ["v"] }), 1);
  assert.deepStrictEqual(await cluster.multi().incr("{t}a").incr("{t}a").exec(), [1, 2]);
  const sizes = await Promise.all(cluster.masters.map(async (node) => (await cluster.nodeClient(node)).dbSize()));
  assert.ok(sizes.every((size) => size > 0) && sizes.length >= 2, `${sizes}`);
  await (cluster.close || cluster.quit).call(cluster);
}

(name.startsWith("ioredis") ? ofIoredis() : ofNodeRedis()).catch((error) => {
  console.error(error);
  process.exit(1);
});
