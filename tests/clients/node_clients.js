// ioredis and node-redis, the newest and the last that Debian's Node 18 runs:
//   node node_clients.js ioredis|ioredis-5|redis|redis-5 port
"use strict";
const assert = require("node:assert");

const SKIPPED = 77;  // ctest's SKIP_RETURN_CODE
const [name, port] = [process.argv[2], Number(process.argv[3])];
const needs = { ioredis: 20, redis: 20 }[name] || 18;
if (Number(process.versions.node.split(".")[0]) < needs) {
  console.log(`skipped: ${name} needs Node ${needs}, this is ${process.version}`);
  process.exit(SKIPPED);
}

function keysOf(count) {
  return Array.from({ length: count }, (_, number) => `key:${number}`).sort();
}

// The values of a LIMIT.TAKE's answer, which is a map in RESP3; ioredis 6 makes that name, value, ...
function valuesOf(answer) {
  if (answer instanceof Map) return [...answer.values()];
  if (!Array.isArray(answer)) return Object.values(answer);
  return answer[0] === "allowed" ? answer.filter((_, place) => place % 2 === 1) : answer;
}

async function limits(send) {
  const take = async (...words) => valuesOf(await send('LIMIT.TAKE', ...words)).map(Number);
  assert.deepStrictEqual(
      (await take('user:17', 'ROLLING', '10', '60000')).slice(0, 4), [1, 10, 9, 0]);
  assert.strictEqual((await take('user:17', 'ROLLING', '10', '60000', 'COST', '10'))[0], 0);
  assert.strictEqual((await take('shaped', 'GCRA', '50', '1000'))[0], 1);
  assert.strictEqual((await take('shaped', 'GCRA', '50', '1000', 'WAIT', '10000'))[0], 1);
  await send('LBUCKET.COUNT', 'bucket', '45');
  assert.strictEqual(await send('LBUCKET.GET', 'bucket'), '1');
  assert.deepStrictEqual(await send('CL.THROTTLE', 'cell', '15', '30', '60'), [0, 16, 15, -1, 2]);
}

// Collects what a client hears; `next` waits for it.
function hearing() {
  const heard = [], waiting = [];
  return {
    take(...words) { waiting.length ? waiting.shift()(words) : heard.push(words); },
    next() { return heard.length ? Promise.resolve(heard.shift()) : new Promise((take) => waiting.push(take)); },
  };
}

async function ioredisMessages(Redis, other) {
  const listener = new Redis({ port });
  const ears = hearing();
  listener.on("message", (channel, text) => ears.take(channel, text));
  listener.on("pmessage", (pattern, channel, text) => ears.take(pattern, channel, text));
  assert.strictEqual(await listener.subscribe("news", "sport"), 2);
  assert.strictEqual(await listener.psubscribe("n*"), 3);
  assert.strictEqual(await other.publish("news", "hello"), 2);
  assert.deepStrictEqual(await ears.next(), ["news", "hello"]);
  assert.deepStrictEqual(await ears.next(), ["n*", "news", "hello"]);
  if (name === "ioredis-5") await assert.rejects(listener.get("key"), /subscriber mode/);  // RESP2
  await listener.unsubscribe("news", "sport");
  await listener.punsubscribe("n*");
  assert.strictEqual(await listener.get("nosuch"), null);
  await listener.quit();
}

async function nodeRedisMessages(listener, other) {
  const ears = hearing();
  await listener.subscribe("news", (text, channel) => ears.take(channel, text));
  await listener.pSubscribe("n*", (text, channel) => ears.take("pattern", channel, text));
  await listener.sSubscribe("shard", (text, channel) => ears.take(channel, text));
  assert.strictEqual(await other.publish("news", "hello"), 2);
  assert.deepStrictEqual(await ears.next(), ["news", "hello"]);
  assert.deepStrictEqual(await ears.next(), ["pattern", "news", "hello"]);
  assert.strictEqual(await other.sPublish("shard", "x"), 1);
  assert.deepStrictEqual(await ears.next(), ["shard", "x"]);
  await listener.unsubscribe("news");
  await listener.pUnsubscribe("n*");
  await listener.sUnsubscribe("shard");
}

// A client that keeps what it has read until it is told that it has changed (RESP3).
async function nodeRedisCache(url, other) {
  const { createClient, BasicClientSideCache } = require(name);
  if (!BasicClientSideCache) return;
  const cache = new BasicClientSideCache({ ttl: 0, maxEntries: 100, evictPolicy: "LRU" });
  const client = await createClient({ url, RESP: 3, clientSideCache: cache }).connect();
  await other.set("cached", "1");
  for (let i = 0; i < 3; ++i) assert.strictEqual(await client.get("cached"), "1");
  assert.strictEqual(cache.stats().hitCount, 2);
  await other.set("cached", "2");
  for (let tries = 0; await client.get("cached") !== "2"; ++tries) {
    assert.ok(tries < 1000, "no invalidation came");
    await new Promise((wait) => setTimeout(wait, 5));
  }
  await client.close();
}

async function ioredis() {
  const Redis = require(name).default || require(name);
  const one = new Redis({ port, connectionName: "one" });
  const other = new Redis({ port });
  await one.flushall();

  assert.strictEqual(await one.set("lock", "me", "PX", 60000, "NX"), "OK");
  assert.strictEqual(await other.set("lock", "you", "PX", 60000, "NX"), null);
  await one.watch("lock");
  assert.strictEqual(await one.get("lock"), "me");
  assert.deepStrictEqual(await one.multi().del("lock").exec(), [[null, 1]]);
  await one.set("lock", "me");
  await one.watch("lock");
  await other.set("lock", "you");
  assert.strictEqual(await one.multi().del("lock").exec(), null);

  for (let count = 1; count <= 3; ++count) {
    assert.deepStrictEqual(await one.multi().incr("hits").pexpire("hits", 60000).exec(),
                           [[null, count], [null, 1]]);
  }
  assert.ok(await one.pttl("hits") > 0);
  assert.strictEqual(await one.get("window"), null);
  assert.strictEqual(await one.incr("window"), 1);
  assert.strictEqual(await one.pexpire("window", 1000), 1);

  const pipeline = one.pipeline();
  for (const key of keysOf(2000)) pipeline.set(key, "v", "EX", 1000);
  assert.ok((await pipeline.exec()).every(([error, answer]) => !error && answer === "OK"));
  const seen = new Set();
  for await (const keys of one.scanStream({ match: "key:*", count: 100 })) keys.forEach((k) => seen.add(k));
  assert.deepStrictEqual([...seen].sort(), keysOf(2000));

  await ioredisMessages(Redis, other);
  await assert.rejects(one.incr("lock"), /^ReplyError: ERR value is not an integer or out of range$/);
  assert.strictEqual(await one.client("GETNAME"), "one");
  const id = await one.client("ID");
  assert.strictEqual(Number(await other.client("KILL", "ID", id)), 1);
  assert.strictEqual(await one.get("lock"), "you");  // on a new connection, after its ready check
  assert.notStrictEqual(await one.client("ID"), id);
  assert.strictEqual(await one.client("GETNAME"), "one");
  if (/sluice_version/.test(await one.info())) await limits((...words) => one.call(...words));
  await Promise.all([one.quit(), other.quit()]);
}

async function nodeRedis(protocol) {
  const { createClient, WatchError } = require(name);
  const url = `redis://127.0.0.1:${port}`;
  const one = createClient({ url, RESP: protocol, name: "one" });
  const other = createClient({ url, RESP: protocol });
  for (const client of [one, other]) client.on("error", () => {});  // it reconnects by itself
  await Promise.all([one.connect(), other.connect()]);
  await one.flushAll();

  assert.strictEqual(await one.set("lock", "me", { NX: true, PX: 60000 }), "OK");
  assert.strictEqual(await other.set("lock", "you", { NX: true, PX: 60000 }), null);
  await one.watch("lock");
  assert.strictEqual(await one.get("lock"), "me");
  assert.deepStrictEqual(await one.multi().del("lock").exec(), [1]);
  await one.set("lock", "me");
  await one.watch("lock");
  await other.set("lock", "you");
  await assert.rejects(one.multi().del("lock").exec(), WatchError);

  for (let count = 1; count <= 3; ++count) {
    assert.deepStrictEqual(await one.multi().incr("hits").pExpire("hits", 60000).exec(), [count, 1]);
  }
  assert.ok(await one.pTTL("hits") > 0);

  const answers = await Promise.all(keysOf(2000).map((key) => one.set(key, "v", { EX: 1000 })));
  assert.ok(answers.every((answer) => answer === "OK"));
  const seen = new Set();
  for await (const keys of one.scanIterator({ MATCH: "key:*", COUNT: 100 })) {
    [].concat(keys).forEach((key) => seen.add(key));
  }
  assert.deepStrictEqual([...seen].sort(), keysOf(2000));

  const listener = await one.duplicate().connect();
  await nodeRedisMessages(listener, other);
  await listener.close();
  if (protocol === 3) await nodeRedisCache(url, other);
  await assert.rejects(one.incr("lock"), /ERR value is not an integer or out of range/);
  assert.deepStrictEqual({ ...await one.configGet("maxmemory-policy") }, { "maxmemory-policy": "noeviction" });
  const id = await one.clientId();
  const back = new Promise((resolve) => one.once("ready", resolve));
  await other.sendCommand(["CLIENT", "KILL", "ID", String(id)]);
  await back;
  assert.strictEqual(await one.get("lock"), "you");
  assert.strictEqual(await one.clientGetName(), "one");
  if (/sluice_version/.test(await one.info())) await limits((...words) => one.sendCommand(words));
  await Promise.all([one.close(), other.close()]);
}

async function main() {
  if (name.startsWith("ioredis")) return ioredis();
  for (const protocol of [2, 3]) await nodeRedis(protocol);
}

main().then(() => console.log("ok"), (error) => {
  console.error(`${name}:`, error);
  process.exit(1);
});
