// The program as a process: what it prints, which signals it follows, how it ends.
"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { useSluice } = require("@sluice/client/node-test");
const { RateLimitService, call, descriptor, grpc, health } = require("./envoy.js");
const { folder, until } = require("./world.js");

const sluice = useSluice();
const BIN = path.join(__dirname, "../bin/sluice-ratelimit.js");
const rules = (max, domain = "shop") => `domain: ${domain}
descriptors:
  - {key: user, rate_limit: {unit: hour, requests_per_unit: ${max}}}
`;
const insecure = () => grpc.credentials.createInsecure();

/** A process with these words. */
function run(t, words, env = {}) {
  const child = spawn(process.execPath, [BIN, ...words], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const state = {
    child,
    out: "",
    log: "",
    ended: new Promise((resolve) => {
      child.on("close", (code, signal) => resolve(code ?? signal));
    }),
  };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    state.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    state.log += text;
  });
  t.after(() => child.kill("SIGKILL"));
  return state;
}

/** A process that serves the rules in `place`. */
async function serve(t, place, { words = [], url = sluice.url, credentials = insecure() } = {}) {
  const state = run(
    t,
    [
      "--config",
      place,
      "--listen",
      "127.0.0.1:0",
      "--http",
      "127.0.0.1:0",
      "--timeout",
      "20000",
      "--config-interval",
      "20",
      ...words,
    ],
    { RATELIMIT_SLUICE: url },
  );
  await until(() => state.out.includes("\n") || state.child.exitCode !== null, "a ready program");
  const [, port, httpPort] =
    /^ready: gRPC on (\S+?), HTTP on (\d+)\n$/.exec(state.out) ?? assert.fail(state.out + state.log);
  const address = port.startsWith("/") ? `unix:${port}` : `localhost:${port}`;
  const client = new RateLimitService(address, credentials);
  t.after(() => client.close());
  await until(() => state.log.includes(" connected to Sluice\n"), "a connection");
  return {
    ...state,
    state,
    address,
    client,
    http: `http://127.0.0.1:${httpPort}`,
    ask: (message = {}, options) =>
      call(client, "ShouldRateLimit", { domain: "shop", descriptors: [descriptor("user=ann")], ...message }, options),
  };
}

/** The limit that rules in use have for a user. */
const limitOf = async (program) => (await program.ask()).statuses[0].currentLimit?.requestsPerUnit;

test("it stops when it is told to, and says so", async (t) => {
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, rules(5));
  for (const signal of ["SIGTERM", "SIGINT"]) {
    const program = await serve(t, place);
    assert.strictEqual((await program.ask()).overallCode, "OK");
    program.child.kill(signal);
    assert.strictEqual(await program.ended, 0);
    assert.match(
      program.state.log,
      new RegExp(`^\\S+Z limits of the domain shop\\n\\S+Z connected to Sluice\\n\\S+Z ${signal}: stopping\\n`),
    );
  }
});

test("a stop says NOT_SERVING first, and answers what is under way", async (t) => {
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, rules(5));
  const program = await serve(t, place, { words: ["--stop-delay", "300"] });
  const hang = await sluice.faults.on("LIMIT.ALL").hang();
  const waiting = program.ask();
  await until(
    async () => /in_flight 1\n/.test(await (await fetch(`${program.http}/metrics`)).text()),
    "a request under way",
  );
  const probe = new (health().Health)(program.address, insecure());
  t.after(() => probe.close());
  assert.strictEqual((await call(probe, "check", {})).status, "SERVING");
  program.child.kill("SIGTERM");
  await until(async () => (await call(probe, "check", {})).status === "NOT_SERVING", "it is told");
  await hang.delete();
  assert.strictEqual((await waiting).overallCode, "OK");
  assert.strictEqual(await program.ended, 0);
});

test("a stop waits for no request that never ends", async (t) => {
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, rules(5));
  const program = await serve(t, place, { words: ["--stop-grace", "50"] });
  const hang = await sluice.faults.on("LIMIT.ALL").hang();
  const waiting = program.ask().catch(({ code }) => code);
  await until(
    async () => /in_flight 1\n/.test(await (await fetch(`${program.http}/metrics`)).text()),
    "a request under way",
  );
  program.child.kill("SIGTERM");
  assert.strictEqual(await program.ended, 0);
  assert.ok([grpc.status.UNAVAILABLE, grpc.status.CANCELLED].includes(await waiting));
  await hang.delete();
});

test("files are read again when they change, and bad ones are told of", async (t) => {
  const place = folder(t);
  const write = (name, text) => fs.writeFileSync(path.join(place, name), text);
  write("a.yaml", rules(1));
  const program = await serve(t, place);
  assert.strictEqual(await limitOf(program), 1);

  write("a.yaml", rules(2));
  await until(async () => (await limitOf(program)) === 2, "a changed file");
  write("a.yaml", "domain: shop\ndescriptors: {");
  await until(() => /the former rules stay: \S+a.yaml:2: /.test(program.state.log), "the fault is told");
  assert.strictEqual(await limitOf(program), 2, "the former rules stay");
  assert.match(await (await fetch(`${program.http}/metrics`)).text(), /^ratelimit_service_config_load_error 1$/m);
  write("a.yaml", rules(3));
  await until(async () => (await limitOf(program)) === 3, "a mended file");

  fs.symlinkSync("me@host.4711", path.join(place, ".#a.yaml")); // an editor's lock, which leads nowhere
  fs.symlinkSync("nowhere", path.join(place, "c.yaml"));
  await until(() => /the former rules stay: .*ENOENT/.test(program.state.log), "a link that leads nowhere");
  fs.rmSync(path.join(place, "c.yaml"));
  write("b.yaml", rules(1, "other"));
  await until(() => program.state.log.includes("limits of 2 domains, shop, other"), "a new file");
  fs.rmSync(path.join(place, "b.yaml"));
  await until(() => program.state.log.trimEnd().endsWith("limits of the domain shop"), "a file that is gone");
});

test("a folder that is a link is followed to where it leads", async (t) => {
  const place = folder(t);
  for (const [name, max] of [
    ["one", 1],
    ["two", 2],
  ]) {
    fs.mkdirSync(path.join(place, name));
    fs.writeFileSync(path.join(place, name, "f.yaml"), rules(max));
  }
  const current = path.join(place, "current");
  fs.symlinkSync("one", current);
  const program = await serve(t, current);
  assert.strictEqual(await limitOf(program), 1);
  fs.symlinkSync("two", `${current}.new`);
  fs.renameSync(`${current}.new`, current);
  await until(async () => (await limitOf(program)) === 2, "the link leads elsewhere");
  fs.rmSync(current);
  await until(() => program.state.log.includes("the former rules stay: "), "a folder that is gone");
  assert.strictEqual(await limitOf(program), 2);
});

test("SIGHUP reads the files at once, also where nobody looks for changes", async (t) => {
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, rules(1));
  const program = await serve(t, place, { words: ["--config-interval", "0"] });
  fs.writeFileSync(place, rules(2));
  program.child.kill("SIGHUP");
  await until(async () => (await limitOf(program)) === 2, "SIGHUP");
});

test("without usable rules or with an address that is taken it does not start", async (t) => {
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, "domain: shop\ndescriptors:\n  - key: user\n    rate_limit: {unit: day}\n");
  const words = ["--config", place, "--sluice", sluice.url, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"];
  const bad = run(t, words);
  assert.strictEqual(await bad.ended, 1);
  assert.match(bad.log, /f.yaml:4: a rate_limit wants requests_per_unit/);

  const taken = http.createServer().listen(0, "127.0.0.1");
  t.after(() => taken.close());
  await until(() => taken.listening, "a listener");
  fs.writeFileSync(place, rules(1));
  const second = run(t, [...words, "--http", `127.0.0.1:${taken.address().port}`]);
  assert.strictEqual(await second.ended, 1);
  assert.match(second.log, /EADDRINUSE/);

  const wrong = run(t, ["--timeout", "never"]);
  assert.strictEqual(await wrong.ended, 2);
  assert.strictEqual(
    wrong.log,
    "--timeout: a whole number of 1 to 60000 is wanted, not never\nsluice-ratelimit --help shows all options.\n",
  );
});

test("it starts while Sluice is away, and goes on trying", async (t) => {
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, rules(1));
  const nobody = http.createServer().listen(0, "127.0.0.1");
  await until(() => nobody.listening, "a listener");
  const { port } = nobody.address();
  await new Promise((resolve) => {
    nobody.close(resolve);
  });
  const program = run(t, [
    "--config",
    place,
    "--sluice",
    `redis://127.0.0.1:${port}`,
    "--listen",
    "127.0.0.1:0",
    "--http",
    "off",
  ]);
  await until(
    () => program.out.includes("ready: gRPC on ") && program.log.includes("ECONNREFUSED"),
    "it serves and tells",
  );
  const client = new RateLimitService(`127.0.0.1:${/on (\d+)\n/.exec(program.out)[1]}`, insecure());
  const probe = new (health().Health)(`127.0.0.1:${/on (\d+)\n/.exec(program.out)[1]}`, insecure());
  t.after(() => {
    client.close();
    probe.close();
  });
  assert.strictEqual((await call(probe, "check", {})).status, "NOT_SERVING");
  await assert.rejects(call(client, "ShouldRateLimit", { domain: "shop", descriptors: [descriptor("user=ann")] }), {
    code: grpc.status.UNAVAILABLE,
  });
  program.child.kill("SIGTERM");
  assert.strictEqual(await program.ended, 0);
});

test("--check-config says what is wrong, or which limits there are", async (t) => {
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, rules(7));
  const good = run(t, ["--config", place, "--check-config"]);
  assert.strictEqual(await good.ended, 0);
  assert.strictEqual(good.out, "shop.user: unit=HOUR requests_per_unit=7 shadow_mode=false algorithm=window\n");
  fs.writeFileSync(place, "domain: shop\nnosuch: 1\n");
  const bad = run(t, ["--config", place, "--check-config"]);
  assert.strictEqual(await bad.ended, 1);
  assert.strictEqual(bad.log, `${place}:2: no word of this map: nosuch; there are domain, descriptors\n`);
});

test("the same over HTTP, with JSON", async (t) => {
  await sluice.clock.freeze(Date.UTC(2030, 0, 1));
  const place = path.join(folder(t), "f.yaml");
  fs.writeFileSync(place, rules(2));
  const program = await serve(t, place);
  const post = async (body) => {
    const answer = await fetch(`${program.http}/json`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return [answer.status, await answer.text()];
  };
  const entries = [{ key: "user", value: "ann" }];
  const currentLimit = { requestsPerUnit: 2, unit: "HOUR", name: "" };
  const [status, text] = await post({ domain: "shop", descriptors: [{ entries }], hits_addend: 2 });
  assert.deepStrictEqual(
    [status, JSON.parse(text)],
    [
      200,
      { overallCode: "OK", statuses: [{ code: "OK", currentLimit, limitRemaining: 0, durationUntilReset: "3600s" }] },
    ],
  );
  const [refused, why] = await post({ domain: "shop", descriptors: [{ entries }] });
  assert.deepStrictEqual([refused, JSON.parse(why).overallCode], [429, "OVER_LIMIT"]);
  const own = await post({
    domain: "shop",
    descriptors: [{ entries, limit: { requests_per_unit: 9, unit: "DAY" }, hitsAddend: 3 }],
  });
  assert.strictEqual(JSON.parse(own[1]).statuses[0].limitRemaining, 6);

  assert.deepStrictEqual(await post("{"), [400, "the body is no JSON\n"]);
  assert.deepStrictEqual(await post("[]"), [400, "a request wants a domain\n"]);
  assert.deepStrictEqual(await post({ domain: "shop", descriptors: [{ entries: 1 }] }), [
    400,
    "a request wants entries\n",
  ]);
  assert.deepStrictEqual(await post({ __proto__: null, domain: "shop", descriptors: "x" }), [
    400,
    "a request wants descriptors\n",
  ]);
  assert.deepStrictEqual(await post("x".repeat((64 << 10) + 1)), [413, "a body of more than 65536 bytes\n"]);
  const fault = await sluice.faults.on("LIMIT.ALL", { times: 1 }).error("LOADING soon");
  assert.deepStrictEqual(await post({ domain: "shop", descriptors: [{ entries }] }), [
    503,
    "Sluice cannot be asked: LOADING soon\n",
  ]);
  assert.strictEqual(await fault.hits(), 1);

  const get = async (name) => (await fetch(program.http + name)).text();
  assert.strictEqual(
    await get("/rlconfig"),
    "shop.user: unit=HOUR requests_per_unit=2 shadow_mode=false algorithm=window\n",
  );
  assert.strictEqual(await get("/healthcheck"), "OK\n");
  assert.strictEqual((await fetch(`${program.http}/json`)).status, 404);
  const cut = http.request(`${program.http}/json`, { method: "POST", headers: { "content-length": 10 } });
  cut.on("error", () => {});
  cut.write("x", () => cut.destroy());
  assert.strictEqual(await get("/healthcheck"), "OK\n", "a client that hangs up in the middle harms nobody");
});

test("over TLS, with certificates of clients, and over a socket", async (t) => {
  const place = folder(t);
  const made = path.join(place, "tls");
  fs.writeFileSync(path.join(place, "f.yaml"), rules(5));
  execFileSync("bash", [path.join(__dirname, "../../../tools/lib/throw_away_tls.sh"), made]);
  const read = (name) => fs.readFileSync(path.join(made, name));
  const [ca, key, cert] = ["ca.crt", "client.key", "client.crt"].map(read);
  const tls = ["--tls-cert", path.join(made, "server.crt"), "--tls-key", path.join(made, "server.key")];
  const open = await serve(t, place, { words: tls, credentials: grpc.credentials.createSsl(ca) });
  assert.strictEqual((await open.ask()).overallCode, "OK");

  const closed = await serve(t, place, {
    words: [...tls, "--tls-client-ca", path.join(made, "ca.crt")],
    credentials: grpc.credentials.createSsl(ca, key, cert),
  });
  assert.strictEqual((await closed.ask()).overallCode, "OK");
  const stranger = new RateLimitService(closed.address, grpc.credentials.createSsl(ca));
  t.after(() => stranger.close());
  await assert.rejects(
    call(stranger, "ShouldRateLimit", { domain: "shop", descriptors: [descriptor("user=ann")] }, { deadlineMs: 2_000 }),
  );

  const socket = await serve(t, place, { words: ["--listen", `unix:${path.join(place, "rl.sock")}`] });
  assert.strictEqual((await socket.ask()).overallCode, "OK");
});
