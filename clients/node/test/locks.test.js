// LockClient over each client: grants, waits, renewals, and every way of losing a lock. Leases that are to end do so by
// the double's clock, or by the client's own with a lease of some ten milliseconds; nothing else takes time.
"use strict";
const assert = require("node:assert");
const { execFile } = require("node:child_process");
const { setTimeout: sleep } = require("node:timers/promises");
const { describe, test } = require("node:test");
const { aborted } = require("node:util");
const { LockClient, LockLostError } = require("@sluice/client");
const { useSluice } = require("@sluice/client/node-test");
const { clients } = require("./clients.js");

async function until(condition, what) {
  for (const end = Date.now() + 30_000; !await condition();) {
    assert.ok(Date.now() < end, `still not so: ${what}`);
    await sleep(2);
  }
}

for (const kind of clients) {
  describe(`locks over ${kind.name}`, () => {
    const sluice = useSluice();

    const opened = async (t, defaults) => {
      const client = await kind.open(sluice.url);
      t.after(() => kind.close(client));
      return { client, locks: new LockClient(client, defaults) };
    };
    const sent = (pattern) => sluice.journal.requests(pattern);
    const waiters = async (key) => (await sluice.execute("LOCK.WAITERS", key)).length;
    const lost = async (lock) => {
      await aborted(lock.signal, lock);
      assert.ok(lock.signal.reason instanceof LockLostError && !lock.held);
      assert.throws(() => lock.assertHeld(), LockLostError);
      return lock.signal.reason.code;
    };

    test("taken, seen by others, given back", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 5000, label: "test" });
      assert.ok(lock.held && Number.isSafeInteger(lock.token) && lock.remainingMs <= 4500);
      assert.strictEqual(await locks.tryAcquire("door"), null);
      await assert.rejects(locks.acquire("door"), { name: "LockNotGrantedError", key: "door" });
      assert.strictEqual(await lock.release(), true);
      assert.strictEqual(await lock.release(), true);
      assert.ok(!lock.held && !lock.signal.aborted);
      const next = await locks.acquire("door");
      assert.ok(next.token > lock.token);
      await next.release();
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 0);
    });

    test("waiting, first come first served, over connections of their own", async (t) => {
      const { client, locks } = await opened(t);
      const first = await locks.acquire("door");
      const order = [];
      const queue = [];
      for (const n of [1, 2, 3]) {
        queue.push(locks.withLock("door", { wait: 60_000 }, () => { order.push(n); }));
        await until(async () => await waiters("door") === n, "it waits");
      }
      assert.ok(await kind.call(client, "PING"));  // the shared connection is free
      await first.release();
      await Promise.all(queue);
      assert.deepStrictEqual(order, [1, 2, 3]);
    });

    test("a wait that is over", async (t) => {
      const { locks } = await opened(t);
      await sluice.clock.freeze();
      const holder = await locks.acquire("door", { lease: 60_000 });
      const waiting = locks.tryAcquire("door", { wait: 5000 });
      await until(async () => await waiters("door") === 1, "it waits");
      await sluice.clock.advance(5000);
      assert.strictEqual(await waiting, null);
      await holder.release();
    });

    test("a lease that was waited for begins with its grant", async (t) => {
      const { locks } = await opened(t);
      await sluice.clock.freeze();
      await sluice.execute("LOCK.ACQUIRE", "door", "other", "LEASE", 20_000);
      const waiting = locks.acquire("door", { wait: 30_000, lease: 10_000 });
      await until(async () => await waiters("door") === 1, "it waits");
      await sluice.clock.advance(20_000);  // which is no time at all by the clock of this process
      const lock = await waiting;
      assert.ok(lock.held && lock.remainingMs <= 9000 && lock.remainingMs > 0);
      await lock.release();
    });

    test("a wait that is given up", async (t) => {
      const { locks } = await opened(t);
      const holder = await locks.acquire("door");
      const stop = new AbortController();
      const waiting = locks.acquire("door", { wait: 60_000, signal: stop.signal });
      await until(async () => await waiters("door") === 1, "it waits");
      stop.abort(new Error("enough"));
      await assert.rejects(waiting, /enough/);
      assert.strictEqual(await waiters("door"), 0);
      await assert.rejects(locks.acquire("door", { wait: 60_000, signal: stop.signal }), /enough/);
      await holder.release();
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 0);
    });

    test("given up when it has just been granted", async (t) => {
      const { locks } = await opened(t);
      const holder = await locks.acquire("door");
      const answer = await sluice.faults.on("LOCK.ACQUIRE", { args: 7, after: true }).hang();  // seven words with WAIT
      const stop = new AbortController();
      const waiting = locks.acquire("door", { wait: 60_000, signal: stop.signal });
      await until(async () => await waiters("door") === 1, "it waits");
      await holder.release();
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 1);
      stop.abort(new Error("enough"));
      await until(async () => (await sent("CLIENT UNBLOCK *")).length, "the wait is to end");
      await answer.delete();
      await assert.rejects(waiting, /enough/);
      await until(async () => await sluice.execute("EXISTS", "door") === 0, "it was given back");
    });

    test("renewed while it is held", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 60_000, renewEvery: 5 });
      await until(async () => (await sent("LOCK.RENEW door *")).length >= 3, "it is renewed");
      assert.ok(lock.held);
      await lock.renew();
      await lock.release();
      const { length } = await sent("LOCK.RENEW door *");
      await sleep(30);
      assert.strictEqual((await sent("LOCK.RENEW door *")).length, length);
    });

    test("lost: thrown out", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { renewEvery: 5 });
      await sluice.execute("LOCK.BREAK", "door");
      assert.strictEqual(await lost(lock), "NOTHELD");
      assert.strictEqual(await lock.release(), false);
      await assert.rejects(lock.renew(), LockLostError);
      await assert.rejects(lock.fenced("SET", "result", "done"), { name: "LockLostError", code: "STALE" });
    });

    test("lost: a fenced write is too late", async (t) => {
      const { locks } = await opened(t);
      let mine;
      const work = locks.withLock("door", async (lock) => {
        mine = lock;
        await sluice.execute("LOCK.BREAK", "door");
        await sluice.execute("LOCK.ACQUIRE", "door", "other", "LEASE", 20_000);
        assert.ok(lock.held);  // it knows of nothing
        await lock.fenced("SET", "result", "mine");
      });
      await assert.rejects(work, (error) => error instanceof LockLostError && error.code === "STALE"
        && error.key === "door" && error.token === mine.token && /given to others/.test(error.cause.message));
      assert.strictEqual(await lost(mine), "STALE");
      assert.strictEqual(await sluice.execute("GET", "result"), null);
      const unheard = locks.withLock("desk", async (lock) => {
        await sluice.execute("LOCK.BREAK", "desk");
        await lock.fenced("SET", "result", "mine").catch(() => {});
      });
      await assert.rejects(unheard, { name: "LockLostError", code: "STALE" });
      await assert.rejects(locks.withLock("door 2", (lock) => lock.fenced("INCRBY", "n", "x")), /not an integer/);
    });

    test("lost: the server's lease is over", async (t) => {
      const { locks } = await opened(t);
      await sluice.clock.freeze();
      const lock = await locks.acquire("door", { lease: 10_000, renewEvery: 60 });
      await sluice.clock.advance(10_001);
      assert.strictEqual(await lost(lock), "NOTHELD");
    });

    test("lost: renewals are not answered, before the lease ends", async (t) => {
      const { locks } = await opened(t);
      const hang = await sluice.faults.on("LOCK.RENEW").hang();
      const begin = performance.now();
      const lock = await locks.acquire("door", { lease: 300 });
      assert.strictEqual(await lost(lock), "EXPIRED");
      assert.ok(performance.now() - begin >= 250);
      assert.ok((await sent("LOCK.RENEW *")).length === 1);
      await hang.delete();  // now it is answered, too late for this holder
      assert.strictEqual(await lock.release(), false);
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 0);
    });

    test("lost: the machine has slept", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 60_000, renewEvery: 30 });
      const { now } = Date;
      t.mock.method(Date, "now", () => now() + 60_000);  // the monotonic clock has stood still meanwhile
      assert.ok(!lock.held);
      assert.strictEqual(await lost(lock), "EXPIRED");
      t.mock.restoreAll();
    });

    test("lost: the machine has slept while a renewal was under way", async (t) => {
      const { locks } = await opened(t);
      const hang = await sluice.faults.on("LOCK.RENEW").hang();
      const lock = await locks.acquire("door", { lease: 90_000, renewEvery: 10 });
      await until(async () => await hang.hits() === 1, "it is renewed");
      const { now } = Date;
      t.mock.method(Date, "now", () => now() + 90_000);
      await hang.delete();  // now it is answered
      assert.strictEqual(await lost(lock), "EXPIRED");
      t.mock.restoreAll();
    });

    test("lost: no later because the wall clock steps back", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 200, renew: false });
      const { now } = Date;
      t.mock.method(Date, "now", () => now() - 3_600_000);
      assert.ok(lock.held);
      assert.strictEqual(await lost(lock), "EXPIRED");
      t.mock.restoreAll();
    });

    test("a lease of months", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 100 * 86_400_000 });
      await sleep(20);  // timers that long would fire at once
      assert.ok(lock.held && (await sent("LOCK.RENEW *")).length === 0);
      await lock.release();
    });

    test("lost: no renewal at all", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 50, renew: false });
      assert.strictEqual(await lost(lock), "EXPIRED");
      assert.strictEqual((await sent("LOCK.RENEW *")).length, 0);
    });

    test("lost: the process stood still", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 400 });
      for (const end = performance.now() + 410; performance.now() < end;);
      assert.ok(!lock.held && !lock.signal.aborted);  // no timer has run yet
      assert.throws(() => lock.assertHeld(), { code: "EXPIRED" });
      assert.strictEqual(await lost(lock), "EXPIRED");
      assert.strictEqual((await sent("LOCK.RENEW *")).length, 0);
    });

    test("a renewal that is lost on its way is sent again", async (t) => {
      const { locks } = await opened(t);
      const fault = await sluice.faults.on("LOCK.RENEW", { times: 3 }).error("BUSY not now");
      const lock = await locks.acquire("door", { lease: 60_000, renewEvery: 8 });
      await until(async () => (await sent("LOCK.RENEW *")).length >= 5, "it is renewed again");
      assert.ok(lock.held);
      assert.strictEqual(await fault.hits(), 3);
      assert.strictEqual(await lock.release(), true);
    });

    test("a failover is survived", async (t) => {
      const { locks } = await opened(t);
      const lock = await locks.acquire("door", { lease: 60_000, renewEvery: 8 });
      const fault = await sluice.faults.on("LOCK.RENEW", { times: 1 }).failover();
      await until(async () => (await sent("LOCK.RENEW *")).length >= 3, "it is renewed over a new connection");
      assert.ok(lock.held);
      assert.strictEqual(await fault.hits(), 1);
      assert.strictEqual(await lock.release(), true);
    });

    test("withLock", async (t) => {
      const { locks } = await opened(t);
      assert.strictEqual(await locks.withLock("door", async (lock) => {
        assert.strictEqual(await lock.fenced("SET", "result", 7), "OK");
        return 7;
      }), 7);
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 0);
      await assert.rejects(locks.withLock("door", () => { throw new Error("mine"); }), /mine/);
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 0);
      await assert.rejects(locks.withLock("door", async () => { await sluice.execute("LOCK.BREAK", "door"); }),
        LockLostError);
      const cut = await sluice.faults.on("LOCK.RELEASE", { after: true, times: 1 }).close();
      const work = locks.withLock("answer", () => 8);  // the answer to its release is lost
      if (kind.name.startsWith("ioredis")) await assert.rejects(work, LockLostError);  // which it sends again
      else assert.strictEqual(await work, 8);
      assert.strictEqual(await cut.hits(), 1);
      await assert.rejects(locks.withLock("door", { renewEvery: 5 }, async (lock) => {
        await sluice.execute("LOCK.BREAK", "door");
        await aborted(lock.signal, lock);
        lock.signal.throwIfAborted();
      }), { code: "NOTHELD" });
    });

    test("readers, permits, owners", async (t) => {
      const { locks } = await opened(t);
      const readers = [await locks.acquire("data", { shared: true }), await locks.acquire("data", { shared: true })];
      assert.strictEqual(await locks.tryAcquire("data"), null);
      for (const reader of readers) assert.ok(await reader.release());
      const taken = [await locks.acquire("pool", { permits: 3 }), await locks.acquire("pool", { permits: { take: 2, of: 3 } })];
      assert.strictEqual(await locks.tryAcquire("pool", { permits: 3 }), null);
      for (const lock of taken) assert.ok(await lock.release());
      const mine = { owner: "me" };
      const twice = [await locks.acquire("door", mine), await locks.acquire("door", mine)];
      assert.strictEqual(twice[0].token, twice[1].token);
      assert.ok(await twice[0].release());
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 1);
      assert.ok(await twice[1].release());
      assert.strictEqual(await sluice.execute("EXISTS", "door"), 0);
      const a = await locks.acquire("a", { owner: "one" });
      const b = await locks.acquire("b", { owner: "two" });
      const waiting = locks.acquire("b", { owner: "one", wait: 60_000 });
      await until(async () => await waiters("b") === 1, "it waits");
      await assert.rejects(locks.acquire("a", { owner: "two", wait: 60_000 }), /DEADLOCK/);
      await b.release();
      await (await waiting).release();
      await a.release();
    });

    test("a grant whose answer is lost holds nobody up", async (t) => {
      const { locks } = await opened(t);
      const holder = await locks.acquire("door");
      const cut = await sluice.faults.on("LOCK.ACQUIRE", { args: 7, after: true, times: 1 }).close();
      const waiting = locks.acquire("door", { wait: 60_000 });  // seven words with WAIT
      await until(async () => await waiters("door") === 1, "it waits");
      await holder.release();
      await assert.rejects(waiting);
      assert.strictEqual(await cut.hits(), 1);
      await until(async () => await sluice.execute("EXISTS", "door") === 0, "it was given back");
    });

    test("wrong words", async (t) => {
      const { client, locks } = await opened(t);
      for (const options of [{ lease: 0 }, { lease: NaN }, { lease: 1000, renewEvery: 1000 }, { minHold: -1 },
        { lease: 1000, margin: 900 }, { margin: -1 }, { margin: NaN }, { wait: -1 }, { wait: "soon" }]) {
        await assert.rejects(locks.acquire("door", options), RangeError);
      }
      await assert.rejects(locks.acquire("door", { shared: true, permits: 2 }), TypeError);
      assert.throws(() => new LockClient({}), TypeError);
      await kind.call(client, "SET", "string", "v");
      await assert.rejects(locks.acquire("string"), /WRONGTYPE/);
    });
  });
}

test("numbers that ioredis gives as text", async (t) => {
  const { LimitClient, Server } = require("@sluice/client");
  const server = await Server.start();
  const Redis = require("ioredis");
  const redis = new Redis(server.url, { stringNumbers: true });
  t.after(async () => {
    redis.disconnect();
    await server.stop();
  });
  const lock = await new LockClient(redis).acquire("door");
  await lock.renew();
  assert.strictEqual(await lock.release(), true);
  const limits = new LimitClient(redis);
  const five = { algorithm: "window", max: 5, period: 60_000 };
  assert.strictEqual((await limits.take("k", five, { cost: 3 })).remaining, 2);
  assert.strictEqual(await limits.refund("k", 2), 4);
  assert.deepStrictEqual((await limits.takeAll([{ key: "k", limit: five }])).verdicts.map(({ remaining }) => remaining), [3]);
});

test("timers keep no process alive", async (t) => {
  const { Server } = require("@sluice/client");
  const server = await Server.start();
  t.after(() => server.stop());
  const script = `
    const Redis = require("ioredis");
    const { LockClient } = require("@sluice/client");
    const redis = new Redis(${JSON.stringify(server.url)});
    new LockClient(redis).acquire("door").then((lock) => { redis.disconnect(); console.log(lock.held); });`;
  const output = await new Promise((resolve, reject) => {
    execFile(process.execPath, ["-e", script], { cwd: __dirname, timeout: 20_000 },
      (error, text) => (error ? reject(error) : resolve(text)));
  });
  assert.strictEqual(output, "true\n");
});
