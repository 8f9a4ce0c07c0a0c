import Redis from "ioredis";
import { describe, expect } from "vitest";
import { test } from "@sluice/client/vitest";

test("a TTL", async ({ sluice }) => {
  const client = new Redis(sluice.url);
  await sluice.clock.freeze();
  await client.set("session", "alice", "EX", 1800);
  await sluice.clock.advance(1_800_000);
  expect(await client.get("session")).toBeNull();
  client.disconnect();
});

describe.concurrent("beside each other", () => {
  for (const n of [1, 2, 3]) {
    test(`a space each, ${n}`, async ({ sluice }) => {
      expect(await sluice.execute("INCR", "n")).toBe(1);
    });
  }
});
