// ioredis against a test double: how it copes with faults.   node faults_ioredis.js port
"use strict";
const assert = require("node:assert");
const Redis = require("ioredis-5");

const port = Number(process.argv[2]);

async function main() {
  const tester = new Redis({ port });
  const fault = (...words) => tester.call("SLUICE.FAULT", "ADD", ...words);
  const clear = () => tester.call("SLUICE.FAULT", "CLEAR");

  // It connects again and sends what was not answered once more: an INCR that had run counts twice.
  const client = new Redis({ port, retryStrategy: () => 1 });
  await fault("COMMAND", "INCR", "AFTER", "CLOSE", "TIMES", "1");
  assert.strictEqual(await client.incr("counter"), 2);
  await fault("COMMAND", "GET", "TRUNCATE", "2", "TIMES", "1");
  assert.strictEqual(await client.get("counter"), "2");
  await clear();

  // A replica that was a master: it is left for the new one, and the command sent again.
  const leaving = new Redis({
    port, retryStrategy: () => 1,
    reconnectOnError: (error) => error.message.startsWith("READONLY") ? 2 : false,
  });
  await fault("COMMAND", "SET", "STATE", "READONLY", "TIMES", "1");
  assert.strictEqual(await leaving.set("key", "value"), "OK");
  await clear();

  // An error that is none of the connection is the caller's.
  await fault("COMMAND", "SET", "STATE", "OOM");
  await assert.rejects(client.set("key", "value"), /^ReplyError: OOM command not allowed/);
  await clear();

  // An answer that never comes ends with commandTimeout.
  const impatient = new Redis({ port, commandTimeout: 50, retryStrategy: () => 1 });
  await impatient.ping();
  await fault("COMMAND", "GET", "HANG");
  await assert.rejects(impatient.get("key"), /Command timed out/);
  await clear();

  await fault("COMMAND", "LRANGE", "SPLIT");
  await client.rpush("list", "a", "b", "c");
  assert.deepStrictEqual(await client.lrange("list", 0, -1), ["a", "b", "c"]);
  await clear();

  // After a failover it is there again by itself.
  await fault("COMMAND", "SET", "KEY", "trigger", "FAILOVER", "TIMES", "1");
  assert.strictEqual(await client.set("trigger", "1"), "OK");

  for (const each of [tester, client, leaving, impatient]) each.disconnect();
  console.log("ok");
}

main().catch((error) => { console.error(error); process.exit(1); });
