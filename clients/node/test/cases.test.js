// The cases that all clients share (clients/cases.json), played over each client, and over Express and Fastify.
"use strict";
const assert = require("node:assert");
const http = require("node:http");
const { describe, test } = require("node:test");
const express = require("express");
const Redis = require("ioredis");
const { LimitClient, LockClient } = require("@sluice/client");
const { addressKey, rateLimit } = require("@sluice/client/express");
const fastifyLimits = require("@sluice/client/fastify");
const { useSluice } = require("@sluice/client/node-test");
const cases = require("../../cases.json");
const { clients } = require("./clients.js");
const { madeUpServer } = require("./made_up.js");
const { Player } = require("./player.js");

for (const kind of clients) {
  describe(`cases over ${kind.name}`, () => {
    const sluice = useSluice();
    const answers = kind.protocol === 2; // those of the file

    for (const { name, steps, prefix } of [...cases.locks, ...cases.limits]) {
      test(name, async (t) => {
        const client = await kind.open(sluice.url);
        t.after(() => kind.close(client));
        const player = await Player.begin(sluice, {
          locks: new LockClient(client), limits: new LimitClient(client, { prefix }), answers });
        await player.play(steps);
      });
    }
  });
}

for (const kind of clients.filter(({ protocol }) => protocol === 2)) {
  describe(`answers over ${kind.name}`, () => {
    for (const { name, answers, steps } of cases.answers) {
      test(name, async (t) => {
        const client = await kind.open(await madeUpServer(t, answers));
        t.after(() => kind.close(client));
        const player = await Player.begin(null, { locks: new LockClient(client), limits: new LimitClient(client) });
        await player.play(steps);
      });
    }
  });
}

/** An application of each kind behind a limit, as its address. */
const applications = {
  express: async (t, limits, options) => {
    const app = express();
    app.use(rateLimit(limits, options));
    app.get("/", (req, res) => { res.send("served"); });
    const server = http.createServer(app);
    await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
    t.after(() => server.close());
    return `http://127.0.0.1:${server.address().port}/`;
  },
  fastify: async (t, limits, options) => {
    const app = require("fastify")();
    t.after(() => app.close());
    await app.register(fastifyLimits.rateLimit, { limits, ...options });
    app.get("/", (request, reply) => { reply.send("served"); });
    return app.listen({ port: 0, host: "127.0.0.1" });
  },
};

for (const [kind, application] of Object.entries(applications)) {
  const skip = kind === "fastify" && Number(process.versions.node.split(".")[0]) < 20 && "fastify 5 needs Node 20";
  describe(`cases over ${kind}`, { skip }, () => {
    const sluice = useSluice();

    for (const { name, options, steps } of cases.http) {
      test(name, async (t) => {
        const redis = new Redis(sluice.url);
        redis.on("error", () => {});
        t.after(() => redis.disconnect());
        const limits = new LimitClient(redis);
        const player = await Player.begin(sluice, { limits, answers: true });
        const { fail_open: failOpen, legacy_headers: legacyHeaders, ...same } = options;
        const seen = { errors: 0 };
        seen.url = await application(t, limits, {
          ...same, failOpen, legacyHeaders, key: ({ headers }) => headers["x-key"],
          cost: ({ headers }) => headers["x-cost"], onError: () => { seen.errors++; },
        });
        await player.playRequests(steps, seen);
      });
    }
  });
}

test("addresses", () => {
  for (const [address, key] of Object.entries(cases.addresses)) assert.strictEqual(addressKey(address), key, address);
});
