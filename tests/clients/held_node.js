// A lock of clients/node that is held while servers come and go, for tests/smoke/held_locks.py:
//   node held_node.js ioredis|ioredis-6|redis|redis-6 sentinel|cluster port...      ports of Sentinels, or of a cluster
// What it says is in held_redis_py.py.
"use strict";
const assert = require("node:assert");
const path = require("node:path");
const readline = require("node:readline");
const { setTimeout: sleep } = require("node:timers/promises");

// What standard output says is for the test alone: node-redis 5 writes errors of its own with console.log.
const say = (line) => process.stdout.write(`${line}\n`);
console.log = console.error;

const SKIPPED = 77;
const [name, kind, ...ports] = process.argv.slice(2);
if (Number(process.versions.node.split(".")[0]) < 20 && name.endsWith("-6")) {
  say(`${name} needs Node 20, this is ${process.version}`);
  process.exit(SKIPPED);
}
const package_ = path.join(__dirname, "../../clients/node");
const module_ = require(path.join(package_, "node_modules", name));
const { LimitClient, LockClient, LockLostError } = require(package_);
const nodes = ports.map((port) => ({ host: "127.0.0.1", port: Number(port) }));

function overIoredis() {
  const { Cluster = module_.Cluster, Redis = module_ } = module_;
  if (kind === "cluster") return new Cluster(nodes, { redisOptions: { commandTimeout: 2000 } });
  return new Redis({ sentinels: nodes, name: "mymaster", retryStrategy: () => 50, sentinelRetryStrategy: () => 50,
    connectTimeout: 500, commandTimeout: 2000 });
}

// Version 5 that asks Sentinels waits for ever for a master that dies before the Sentinels notice, unless it is to give up.
function overNodeRedis() {
  const reconnectStrategy = (retries) => retries < 3 && 50;
  const socket = { connectTimeout: 500, ...(kind === "sentinel" && { reconnectStrategy }) };
  const commandOptions = { timeout: 2000 };
  if (kind === "cluster") {
    return module_.createCluster({ rootNodes: nodes.map((one) => ({ socket: one })), defaults: { socket, commandOptions } });
  }
  return module_.createSentinel({ name: "mymaster", sentinelRootNodes: nodes, scanInterval: 100,
    nodeClientOptions: { socket, commandOptions } });
}

async function takeEverywhere(limits) {
  await limits.setPolicy("five", { algorithm: "window", max: 5, period: 3_600_000 });
  const verdicts = await Promise.all(Array.from({ length: 20 }, (_, n) => limits.take(`user:${n}`, { policy: "five" })));
  assert.ok(verdicts.every(({ allowed }) => allowed));
  assert.deepStrictEqual(await limits.policies(), ["five"]);
  assert.ok((await limits.take("user:0", { policy: "five" }, { cost: 4, wait: 1000 })).allowed);
  assert.ok(await limits.deletePolicy("five"));
  assert.deepStrictEqual(await limits.policies(), []);
}

async function main() {
  const client = name.startsWith("ioredis") ? overIoredis() : overNodeRedis();
  client.on("error", () => {});
  if (!name.startsWith("ioredis")) await client.connect();
  await takeEverywhere(new LimitClient(client, { prefix: "limit:" }));
  const locks = new LockClient(client, { lease: 60_000, renewEvery: 100 });
  const first = await locks.acquire("door");
  const waiting = locks.acquire("door", { wait: 30_000 });
  if (await Promise.race([waiting, sleep(300, "waits")]) !== "waits" || !await first.release()) {
    throw new Error("it did not wait");
  }
  const lock = await waiting;
  lock.signal.addEventListener("abort", () => say(`lost ${lock.signal.reason.code}`));
  say(`held ${lock.token}`);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      say(`done ${line === "renew" ? await lock.renew() : await lock.fenced("SET", "{door}result", "mine")}`);
    } catch (error) {
      say(error instanceof LockLostError ? `lost ${error.code}` : `failed ${error}`);
    }
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
