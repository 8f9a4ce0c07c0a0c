// Locks of Node.js libraries: redis-semaphore (mutex, semaphore, multi) and redlock:
//   node lock_libraries.js semaphore|redlock port
"use strict";
const assert = require("node:assert");
const Redis = require("ioredis-5");

const port = Number(process.argv[3]);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function semaphore() {
  const { Mutex, Semaphore, MultiSemaphore, RedlockMutex, TimeoutError } = require("redis-semaphore");
  const [one, two] = [new Redis({ port }), new Redis({ port })];
  const options = { acquireTimeout: 10000, lockTimeout: 3000, retryInterval: 10, refreshInterval: 200 };
  const hasty = { ...options, acquireTimeout: 300 };

  const mutex = new Mutex(one, "resource", options);
  const rival = new Mutex(two, "resource", options);
  await mutex.acquire();
  await assert.rejects(new Mutex(two, "resource", hasty).acquire(), TimeoutError);
  await sleep(3200);  // refreshed past its lockTimeout
  assert.strictEqual(await rival.tryAcquire(), false);
  const waiting = rival.acquire();
  await mutex.release();
  await waiting;
  await rival.release();

  const holders = [1, 2, 3].map(() => new Semaphore(one, "pool", 2, options));
  const turnedAway = new Semaphore(one, "pool", 2, hasty);
  await holders[0].acquire();
  await holders[1].acquire();
  await assert.rejects(turnedAway.acquire(), TimeoutError);
  await holders[0].release();
  await holders[2].acquire();
  await Promise.all([holders[1].release(), holders[2].release()]);
  assert.strictEqual(await one.zcard("semaphore:pool"), 0);

  const big = new MultiSemaphore(one, "permits", 3, 2, options);
  const small = new MultiSemaphore(two, "permits", 3, 2, options);
  await big.acquire();
  await assert.rejects(new MultiSemaphore(two, "permits", 3, 2, hasty).acquire(), TimeoutError);
  await big.release();
  await small.acquire();
  await small.release();

  const red = new RedlockMutex([one], "red", options);
  await red.acquire();
  await red.release();
  one.disconnect();
  two.disconnect();
}

async function redlock() {
  const { default: Redlock, ResourceLockedError, ExecutionError } = require("redlock");
  const client = new Redis({ port });
  const locks = new Redlock([client], { retryCount: 2, retryDelay: 20, automaticExtensionThreshold: 1500 });
  const lock = await locks.acquire(["a", "b"], 5000);
  await assert.rejects(locks.acquire(["b"], 1000), ExecutionError);
  const longer = await lock.extend(9000);
  assert.ok(await client.pttl("a") > 5000);
  await longer.release();
  assert.strictEqual(await client.exists("a", "b"), 0);

  let extended = false;
  await locks.using(["c"], 2000, async (signal) => {
    await sleep(2500);
    extended = !signal.aborted && await client.exists("c") === 1;
  });
  assert.ok(extended, "extended while it was in use");
  const lost = await locks.acquire(["d"], 30);
  await sleep(60);
  await locks.acquire(["d"], 1000);
  await assert.rejects(lost.release(), ExecutionError);
  assert.ok(ResourceLockedError);
  client.disconnect();
}

({ semaphore, redlock })[process.argv[2]]().then(() => {
  console.log("ok");
  process.exit(0);
}, (error) => {
  console.error(error);
  process.exit(1);
});
