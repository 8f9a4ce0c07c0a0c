// What a request costs: the service asked over gRPC, beside LIMIT.ALL asked by LimitClient of clients/node with
// the same keys and limits. By hand: SLUICE_BIN=build/sluice node test/cost.js [REQUESTS [AT A TIME]]
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const Redis = require("ioredis");
const { LimitClient, Server } = require("@sluice/client");
const { RateLimitService, call, descriptor, grpc } = require("./envoy.js");

const [REQUESTS, AT_A_TIME] = [Number(process.argv[2] ?? 50_000), Number(process.argv[3] ?? 64)];
const USERS = 1_000;
const RULES = `domain: shop
descriptors:
  - {key: user, rate_limit: {unit: second, requests_per_unit: 1000000}}
  - {key: all, rate_limit: {unit: second, requests_per_unit: 4000000000}}
  - {key: free, rate_limit: {unlimited: true}}
`;

/** Calls `ask` so many times, so many at a time; what one took of the wall clock, in microseconds. */
async function time(ask, requests = REQUESTS) {
  let next = 0;
  const began = process.hrtime.bigint();
  const lane = async () => {
    while (next < requests) await ask((next += 1) % USERS);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  return Number(process.hrtime.bigint() - began) / 1e3 / requests;
}

/** CPU that a process has used so far, in microseconds. */
function cpuOf(pid) {
  const [user, system] = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13);
  return (Number(user) + Number(system)) * 10_000;
}

async function cost(name, pid, ask) {
  await time(ask, REQUESTS / 10); // the first requests warm everything up
  const before = cpuOf(pid);
  const wall = await time(ask);
  const cpu = (cpuOf(pid) - before) / REQUESTS;
  console.log(
    `${name}: ${wall.toFixed(1)} us a request, ${Math.round(1e6 / wall)} a second; ${cpu.toFixed(1)} us of CPU`,
  );
}

async function main() {
  const server = await Server.start();
  const url = `redis://127.0.0.1:${server.port}`;
  const place = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "sluice-ratelimit-")), "f.yaml");
  fs.writeFileSync(place, RULES);
  const words = ["--config", place, "--sluice", url, "--listen", "127.0.0.1:0", "--http", "off", "--timeout", "60000"];
  const child = spawn(process.execPath, [path.join(__dirname, "../bin/sluice-ratelimit.js"), ...words]);
  const port = await new Promise((resolve) => {
    child.stdout.setEncoding("utf8").once("data", (text) => resolve(/on (\d+)/.exec(text)[1]));
  });

  const redis = new Redis(url);
  const limits = new LimitClient(redis, { prefix: "plain:" });
  const limit = { algorithm: "window", period: 1_000 };
  await cost("LIMIT.ALL by LimitClient", process.pid, (at) =>
    limits.takeAll([
      { key: `minute:shop|user=${at}`, limit: { ...limit, max: 1_000_000 } },
      { key: "minute:shop|all=x", limit: { ...limit, max: 4_000_000_000 } },
    ]),
  );
  const client = new RateLimitService(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const ask = (...entries) =>
    call(client, "ShouldRateLimit", { domain: "shop", descriptors: entries.map((entry) => descriptor(entry)) });
  await cost("ShouldRateLimit over gRPC", child.pid, (at) => ask(`user=${at}`, "all=x"));
  await cost("the same, where no limit needs Sluice", child.pid, (at) => ask(`user-${at}=x`, "free=x"));

  client.close();
  redis.disconnect();
  child.kill();
  await server.stop();
  fs.rmSync(path.dirname(place), { recursive: true });
}

main();
