// Clients and libraries of Node.js behind Sentinel, for tests/smoke/sentinel_clients.py:
//   node sentinel_node.js ioredis|ioredis-5|redis|redis-5|redis-semaphore|rate-limiter-flexible port...
// Writes a number that grows; prints each that a replica has; goes on whatever happens.
"use strict";

const SKIPPED = 77;  // ctest's SKIP_RETURN_CODE
// What standard output says is for the test alone: node-redis 5 writes errors of its own with console.log.
const say = (line) => process.stdout.write(`${line}\n`);
console.log = console.error;

const [name, ...ports] = process.argv.slice(2);
const needs = { ioredis: 20, redis: 20 }[name] || 18;
if (Number(process.versions.node.split(".")[0]) < needs) {
  say(`${name} needs Node ${needs}, this is ${process.version}`);
  process.exit(SKIPPED);
}
const GROUP = "mymaster";
const WAIT_MS = 500;
const nodes = ports.map((port) => ({ host: "127.0.0.1", port: Number(port) }));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function overIoredis(module) {
  const { Redis = require(module) } = require(module);
  const client = new Redis({
    sentinels: nodes, name: GROUP, retryStrategy: () => 50, sentinelRetryStrategy: () => 50, connectTimeout: 500,
    maxRetriesPerRequest: null, commandTimeout: 2000,
  });
  client.on("error", () => {});
  return client;
}

async function ioredis(module) {
  const client = overIoredis(module);
  return async (number) => {
    await client.set("count", number);
    return await client.wait(1, WAIT_MS) > 0;
  };
}

// Version 5 waits for ever for a master that dies before the Sentinels notice, unless it is to give up.
async function nodeRedis(module) {
  const reconnectStrategy = (retries) => retries < 3 && 50;
  const client = require(module).createSentinel({
    name: GROUP, sentinelRootNodes: nodes, scanInterval: 100,
    nodeClientOptions: { socket: { connectTimeout: 500, reconnectStrategy }, commandOptions: { timeout: 2000 } },
  });
  client.on("error", () => {});
  await client.connect();
  return (number) => client.use(async (one) => {
    await one.set("count", String(number));
    return Number(await one.sendCommand(false, ["WAIT", "1", String(WAIT_MS)])) > 0;
  });
}

// A lock that is taken and given back.
async function semaphore() {
  const { Mutex } = require("redis-semaphore");
  const client = overIoredis("ioredis-5");
  return async () => {
    const mutex = new Mutex(client, "door", { acquireTimeout: 1000, lockTimeout: 500, retryInterval: 10 });
    await mutex.acquire();
    await mutex.release();
    return true;
  };
}

// A limiter that is asked.
async function limiter() {
  const { RateLimiterRedis } = require("rate-limiter-flexible");
  const limit = new RateLimiterRedis({ storeClient: overIoredis("ioredis-5"), points: 1000000, duration: 3600 });
  return async () => (await limit.consume("alice")).consumedPoints > 0;
}

const kinds = {
  ioredis, "ioredis-5": ioredis, redis: nodeRedis, "redis-5": nodeRedis, "redis-semaphore": semaphore,
  "rate-limiter-flexible": limiter,
};

async function main() {
  const write = await kinds[name](name);
  for (let number = 1;; ++number) {
    try {
      if (await write(number)) say(number);
    } catch (fault) {
      if (process.env.SHOW_FAULTS) console.error(String(fault));
    }
    await sleep(10);
  }
}

main();
