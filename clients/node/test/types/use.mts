// Read by the compiler alone: the types as an application meets them.
import express from "express";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { LimitClient, LockClient, LockLostError, Server, type Limit, type Space } from "@sluice/client";
import { rateLimit } from "@sluice/client/express";
import { rateLimit as plugin, rateLimitHook } from "@sluice/client/fastify";
import { useSluice as useJest } from "@sluice/client/jest";
import { useSluice } from "@sluice/client/node-test";
import { test } from "@sluice/client/vitest";

const perUser: Limit = { algorithm: "rolling", max: 100, period: 60_000, burst: 200 };

export async function use(): Promise<string> {
  const locks = new LockClient(new Redis());
  const limits = new LimitClient(createClient(), { prefix: "limit:" });
  const done: number = await locks.withLock("door", { wait: 100, priority: 5, permits: { take: 1, of: 3 } }, async (lock) => {
    lock.signal.throwIfAborted();
    return lock.token;
  });
  const lock = await locks.tryAcquire("door", { shared: true });
  if (lock?.signal.reason instanceof LockLostError) console.log(lock.signal.reason.code, done);
  const { retryMs } = await limits.take("user:17", perUser, { cost: 2 });
  await limits.take("user:17", { policy: "free" }, { id: "request-1", idFor: 5_000 });
  await limits.takeAll([{ key: "user:17", limit: perUser }], { id: "request-2" });
  await limits.refund("user:17", 1, { id: "request-3" });
  // @ts-expect-error: no such algorithm
  await limits.take("user:17", { algorithm: "random", max: 1, period: 1 });

  express().use(rateLimit(limits, { limit: perUser, key: (req: express.Request) => req.ip ?? "", failOpen: false }));
  const fastify = Fastify();
  await fastify.register(plugin, { limits, limit: perUser });
  fastify.get("/", { onRequest: rateLimitHook(limits, { limit: (request) => request.url ? perUser : null }) }, () => "");

  const server = await Server.start({ seed: 1 });
  const space: Space = server.space();
  const fault = await space.faults.on("EXEC", { after: true }).close();
  // @ts-expect-error: no such state
  await space.faults.on().state("ASLEEP");
  return `${retryMs} ${await fault.hits()} ${(await useSluice().spaceFor({ after() {} })).url} ${useJest().url}`;
}

test("a fixture", async ({ sluice }) => {
  await sluice.clock.advance(10);
});
