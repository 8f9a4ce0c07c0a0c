// LimitClient over each client, and the middleware: verdicts and headers by a frozen clock.
"use strict";
const assert = require("node:assert");
const http = require("node:http");
const { setTimeout: sleep } = require("node:timers/promises");
const { describe, test } = require("node:test");
const express = require("express");
const Redis = require("ioredis");
const { LimitClient } = require("@sluice/client");
const { addressKey, rateLimit } = require("@sluice/client/express");
const fastifyLimits = require("@sluice/client/fastify");
const { useSluice } = require("@sluice/client/node-test");
const { clients } = require("./clients.js");

const NOW = Date.parse("2030-01-01");
const FIVE = { algorithm: "window", max: 5, period: 60_000 };

async function until(condition, what) {
  for (const end = Date.now() + 30_000; !await condition();) {
    assert.ok(Date.now() < end, `still not so: ${what}`);
    await sleep(2);
  }
}

for (const kind of clients) {
  describe(`limits over ${kind.name}`, () => {
    const sluice = useSluice();

    const opened = async (t, options) => {
      await sluice.clock.freeze(NOW);
      const client = await kind.open(sluice.url);
      t.after(() => kind.close(client));
      return new LimitClient(client, options);
    };

    test("a window", async (t) => {
      const limits = await opened(t, { prefix: "limit:" });
      assert.deepStrictEqual(await limits.take("user:17", FIVE, { cost: 5 }),
        { allowed: true, limit: 5, remaining: 0, retryMs: 0, resetMs: 60_000, resetAtMs: NOW + 60_000,
          neverFits: false });
      await sluice.clock.advance(20_000);
      const refused = { allowed: false, limit: 5, remaining: 0, retryMs: 40_000, resetMs: 40_000, resetAtMs: NOW + 60_000,
        neverFits: false };
      assert.deepStrictEqual(await limits.take("user:17", FIVE, { peek: true }), refused);
      assert.deepStrictEqual(await limits.take("user:17", FIVE, { shadow: true }), refused);
      assert.deepStrictEqual(await limits.info("user:17"), {
        algorithm: "WINDOW", limit: 5, periodMs: 60_000, burst: 0, used: 5, remaining: 0, resetAtMs: NOW + 60_000 });
      assert.strictEqual(await limits.refund("user:17", 2), 2);
      assert.strictEqual(await limits.refund("nobody"), null);
      assert.strictEqual(await limits.info("nobody"), null);
      assert.strictEqual(await sluice.execute("EXISTS", "limit:user:17"), 1);
      const tooMuch = await limits.take("user:17", FIVE, { cost: 6 });
      assert.deepStrictEqual([tooMuch.allowed, tooMuch.retryMs, tooMuch.neverFits], [false, -1, true]);
      assert.deepStrictEqual(await limits.take("unused", FIVE, { cost: 0 }),
        { allowed: true, limit: 5, remaining: 5, retryMs: 0, resetMs: 0, resetAtMs: NOW + 20_000, neverFits: false });
      assert.strictEqual(await limits.info("unused"), null);
    });

    test("asked again", async (t) => {
      const limits = await opened(t);
      const first = await limits.take("k", FIVE, { cost: 2, id: "7f3a" });
      assert.deepStrictEqual(await limits.take("k", FIVE, { cost: 2, id: "7f3a", idFor: 1000 }), first);
      assert.strictEqual((await limits.info("k")).used, 2);
      await assert.rejects(limits.take("k", FIVE, { id: "7f3a" }), /another request/);
    });

    test("all algorithms", async (t) => {
      const limits = await opened(t);
      for (const algorithm of ["WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA", "LEAKY"]) {
        assert.ok((await limits.take(algorithm, { algorithm, max: 2, period: 1000 })).allowed, algorithm);
      }
      const { limit } = await limits.take("burst", { algorithm: "rolling", max: 10, period: 1000, burst: 50 });
      assert.strictEqual(limit, 50);
      const monthly = { algorithm: "calendar", max: 5, unit: "month", zone: "Europe/Berlin", starts: 15 };
      assert.strictEqual((await limits.take("calendar", monthly)).remaining, 4);
      await limits.setPolicy("monthly", monthly);
      assert.strictEqual((await limits.take("calendar", { policy: "monthly" })).remaining, 3);
      assert.strictEqual((await limits.getPolicy("monthly")).algorithm, "CALENDAR");
      await assert.rejects(limits.take("k", { algorithm: "random", max: 1, period: 1 }), TypeError);
      await assert.rejects(limits.take("WINDOW", { algorithm: "log", max: 2, period: 1000 }), /limiter is WINDOW/);
    });

    test("policies, and several at once", async (t) => {
      const limits = await opened(t);
      await limits.setPolicy("free", FIVE);
      assert.deepStrictEqual(await limits.getPolicy("free"), { algorithm: "WINDOW", max: 5, period: 60_000, burst: 0 });
      assert.deepStrictEqual(await limits.policies(), ["free"]);
      const both = [{ key: "a", limit: { policy: "free" }, cost: 3 }, { key: "b", limit: FIVE }];
      const first = await limits.takeAll(both);
      assert.deepStrictEqual([first.allowed, ...first.verdicts.map(({ remaining }) => remaining)], [true, 2, 4]);
      const second = await limits.takeAll(both);
      assert.deepStrictEqual([second.allowed, ...second.verdicts.map(({ allowed }) => allowed)], [false, false, true]);
      assert.strictEqual((await limits.info("b")).used, 1);
      assert.deepStrictEqual([await limits.deletePolicy("free"), await limits.deletePolicy("free")], [true, false]);
      assert.strictEqual(await limits.getPolicy("free"), null);
    });

    test("waiting for its turn", async (t) => {
      const limits = await opened(t);
      await limits.take("user:17", FIVE, { cost: 5 });
      const waiting = limits.take("user:17", FIVE, { wait: 120_000 });
      await until(async () => (await sluice.execute("INFO", "clients")).includes("blocked_clients:1"), "it waits");
      await sluice.clock.advance(60_000);
      assert.strictEqual((await waiting).allowed, true);
      await limits.take("user:17", FIVE, { cost: 4 });
      const stop = new AbortController();
      const given = limits.take("user:17", FIVE, { wait: 120_000, signal: stop.signal });
      await until(async () => (await sluice.execute("INFO", "clients")).includes("blocked_clients:1"), "it waits");
      stop.abort(new Error("enough"));
      await assert.rejects(given, /enough/);
      assert.strictEqual((await limits.info("user:17")).used, 5);
    });
  });
}

describe("middleware", () => {
  const sluice = useSluice();

  const limitsOf = async (t, options = {}) => {
    await sluice.clock.freeze(NOW);
    const redis = new Redis(sluice.url, options);
    redis.on("error", () => {});
    t.after(() => redis.disconnect());
    return new LimitClient(redis);
  };

  const served = async (t, handler) => {
    const server = http.createServer(handler);
    await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
    t.after(() => server.close());
    return `http://127.0.0.1:${server.address().port}/`;
  };

  /** An application of each kind behind a limit: what a GET of it answers. */
  const frameworks = {
    express: async (t, limits, options) => {
      const app = express();
      app.set("env", "test");
      app.use(rateLimit(limits, options));
      app.get("/", (req, res) => { res.send(`${req.rateLimit?.remaining}`); });
      app.use((error, req, res, next) => { res.status(500).send(error.message); });
      return served(t, app);
    },
    fastify: async (t, limits, options) => {
      const app = require("fastify")();
      t.after(() => app.close());
      await app.register(fastifyLimits.rateLimit, { limits, ...options });
      app.get("/", (request, reply) => { reply.send(`${request.rateLimit?.remaining}`); });
      return app.listen({ port: 0, host: "127.0.0.1" });
    },
  };
  const get = async (url, headers = {}) => {
    const answer = await fetch(url, { headers: { connection: "close", ...headers } });
    return { status: answer.status, text: await answer.text(), header: (name) => answer.headers.get(name) };
  };

  for (const [name, application] of Object.entries(frameworks)) {
    const skip = name === "fastify" && Number(process.versions.node.split(".")[0]) < 20 && "fastify 5 needs Node 20";

    test(`${name}: headers`, { skip }, async (t) => {
      const url = await application(t, await limitsOf(t), { limit: { ...FIVE, max: 2 }, name: "api", legacyHeaders: true });
      const first = await get(url);
      assert.deepStrictEqual([first.status, first.text], [200, "1"]);
      assert.strictEqual(first.header("RateLimit-Policy"), '"api";q=2;w=60');
      assert.strictEqual(first.header("RateLimit"), '"api";r=1;t=60');
      assert.strictEqual(first.header("Retry-After"), null);
      assert.strictEqual(first.header("X-RateLimit-Limit"), "2");
      assert.strictEqual(first.header("X-RateLimit-Remaining"), "1");
      assert.strictEqual(first.header("X-RateLimit-Reset"), String(NOW / 1000 + 60));
      await sluice.clock.advance(20_001);
      assert.strictEqual((await get(url)).status, 200);
      const refused = await get(url);
      assert.strictEqual(refused.status, 429);
      assert.match(refused.text, /Too Many Requests/);
      assert.strictEqual(refused.header("RateLimit"), '"api";r=0;t=40');
      assert.strictEqual(refused.header("Retry-After"), "40");
      await sluice.clock.next();
      assert.strictEqual((await get(url)).status, 200);
    });

    test(`${name}: who, how much, which`, { skip }, async (t) => {
      const url = await application(t, await limitsOf(t), {
        limit: (request) => (request.headers.plan === "none" ? null : { ...FIVE, max: 3 }),
        key: async (request) => request.headers.user ?? "nobody",
        cost: (request) => Number(request.headers.cost ?? 1),
        skip: (request) => request.headers.user === "admin",
        onRefused: (request, ...rest) => (name === "express" ? rest[0].end("mine") : rest[0].send("mine")),
      });
      assert.strictEqual((await get(url, { user: "a", cost: "3" })).status, 200);
      const refused = await get(url, { user: "a" });
      assert.deepStrictEqual([refused.status, refused.text], [429, "mine"]);
      assert.strictEqual((await get(url, { user: "b" })).text, "2");
      const never = await get(url, { user: "b", cost: "4" });
      assert.deepStrictEqual([never.status, never.header("Retry-After")], [413, null]);
      for (const headers of [{ user: "admin", cost: "9" }, { user: "a", plan: "none" }]) {
        const free = await get(url, headers);
        assert.deepStrictEqual([free.status, free.text, free.header("RateLimit")], [200, "undefined", null]);
      }
      assert.strictEqual(await sluice.execute("EXISTS", "http:default:b"), 1);
    });

    test(`${name}: a policy`, { skip }, async (t) => {
      const limits = await limitsOf(t);
      await limits.setPolicy("free", FIVE);
      const answer = await get(await application(t, limits, { limit: { policy: "free" } }));
      assert.strictEqual(answer.header("RateLimit-Policy"), '"default";q=5');
    });

    for (const failOpen of [true, false]) {
      test(`${name}: ${failOpen ? "open" : "closed"} while the limit cannot be asked`, { skip }, async (t) => {
        const errors = [];
        const url = await application(t, await limitsOf(t), {
          limit: FIVE, failOpen, timeout: 200, onError: (error) => errors.push(error.message) });
        const expected = failOpen ? 200 : 503;
        const loading = await sluice.faults.on("LIMIT.TAKE", { times: 1 }).state("LOADING");
        assert.strictEqual((await get(url)).status, expected);
        await loading.delete();
        await sluice.faults.on("LIMIT.TAKE", { times: 1 }).hang();
        assert.strictEqual((await get(url)).status, expected);
        assert.match(errors[0], /loading/);
        assert.match(errors[1], /no answer within 200 ms/);
        await sluice.faults.clear();
        assert.strictEqual((await get(url)).status, 200);
        assert.strictEqual(errors.length, 2);
      });
    }

    test(`${name}: an error of the application's own is its own`, { skip }, async (t) => {
      const url = await application(t, await limitsOf(t), { limit: FIVE, key: () => { throw new Error("my fault"); } });
      const answer = await get(url);
      assert.strictEqual(answer.status, 500);
      assert.match(answer.text, /my fault/);
    });
  }

  test("addresses", () => {
    const same = {
      "10.1.2.3": "10.1.2.3", "::ffff:10.1.2.3": "10.1.2.3", "::FFFF:10.1.2.3": "10.1.2.3", "::1": "0:0:0:0::/64",
      "::": "0:0:0:0::/64", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:0DB8:1:2::": "2001:db8:1:2::/64",
      "2001:db8::1": "2001:db8:0:0::/64", "1::2:3:4:5:6": "1:0:0:2::/64", "fe80::1%eth0": "fe80:0:0:0::/64",
      "64:ff9b::10.1.2.3": "64:ff9b:0:0::/64", "a socket": "a socket",
    };
    for (const [address, key] of Object.entries(same)) assert.strictEqual(addressKey(address), key, address);
  });

  test("wrong options", async (t) => {
    const limits = await limitsOf(t);
    assert.throws(() => rateLimit(limits, { limit: FIVE, name: 'a"b' }), TypeError);
    assert.throws(() => rateLimit(limits, {}), TypeError);
  });
});
