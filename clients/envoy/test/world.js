// A program of this test's own, in this process, over the test's private Sluice, and clients for it.
"use strict";
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { readOptions } = require("../lib/options.js");
const { Program } = require("../lib/program.js");
const { RateLimitService, call, grpc, health, newer } = require("./envoy.js");

/** A folder that is gone after the test. */
function folder(t) {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), "sluice-ratelimit-"));
  t.after(() => fs.rmSync(place, { recursive: true }));
  return place;
}

/** Waits until `holds()` is true. */
async function until(holds, what) {
  for (const end = Date.now() + 20_000; !(await holds());) {
    if (Date.now() > end) throw new Error(`in vain: ${what ?? holds}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** A program with the rules of `yaml`. words: options as on the command line. */
async function serve(t, url, yaml, ...words) {
  const file = path.join(folder(t), "limits.yaml");
  fs.writeFileSync(file, yaml);
  const log = [];
  const options = readOptions(
    [
      "--config",
      file,
      "--sluice",
      url,
      "--listen",
      "127.0.0.1:0",
      "--http",
      "127.0.0.1:0",
      "--timeout",
      "20000",
      "--stop-grace",
      "0",
      ...words,
    ],
    {},
  );
  const program = new Program(options, (text) => log.push(text));
  const { grpcPort, httpPort } = await program.start();
  const address = `127.0.0.1:${grpcPort}`;
  const insecure = grpc.credentials.createInsecure();
  const clients = {
    envoy: new RateLimitService(address, insecure),
    newer: new newer.RateLimitService(address, insecure),
    health: new (health().Health)(address, insecure),
  };
  t.after(async () => {
    for (const client of Object.values(clients)) client.close();
    await program.stop();
  });
  const world = {
    program,
    log,
    file,
    clients,
    address,
    http: `http://127.0.0.1:${httpPort}`,
    ask: (message) => call(clients.envoy, "ShouldRateLimit", { domain: "shop", ...message }),
    askNewer: (message) => call(clients.newer, "ShouldRateLimit", { domain: "shop", ...message }),
    /** What of the service is served. */
    health: async (service = "") => (await call(clients.health, "check", { service })).status,
    /** The counters of one rule, by the names of the metrics. */
    metrics: async () => (await fetch(`${world.http}/metrics`)).text(),
  };
  await until(async () => /sluice_ratelimit_connected 1/.test(await world.metrics()), "a connection");
  return world;
}

module.exports = { folder, serve, until };
