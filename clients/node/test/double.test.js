// The test double: processes, clock, faults, journal, spaces.
"use strict";
const assert = require("node:assert");
const { execFile, execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");
const { after, before, describe, test } = require("node:test");
const Redis = require("ioredis");
const { Server } = require("@sluice/client");
const { useSluice } = require("@sluice/client/node-test");

async function until(condition, what) {
  for (const end = Date.now() + 30_000; !await condition();) {
    assert.ok(Date.now() < end, `still not so: ${what}`);
    await sleep(5);
  }
}

/** Its new parent may not have asked for it yet. */
function ended(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, "latin1").split(")").pop().trim()[0] === "Z";
  } catch {
    return true;
  }
}

describe("a space for each test", () => {
  const sluice = useSluice();

  for (const round of [1, 2]) {
    test(`empty, ${round}`, async () => {
      assert.strictEqual(await sluice.execute("INCR", "n"), 1);
    });
  }

  test("the clock", async () => {
    await sluice.clock.freeze(new Date("2030-01-01"));
    await sluice.execute("SET", "session", "alice", "PX", 1500);
    await sluice.clock.advance(1499);
    assert.strictEqual(await sluice.execute("GET", "session"), "alice");
    assert.strictEqual(await sluice.clock.next(), 1);
    assert.strictEqual(await sluice.execute("GET", "session"), null);
    assert.strictEqual(await sluice.clock.next(), null);
    assert.strictEqual(await sluice.clock.now(), Date.parse("2030-01-01") + 1500);
    await sluice.execute("SET", "session", "bob", "PX", 1500);
    await sluice.clock.set(await sluice.clock.now() + 3_600_000);
    assert.strictEqual(await sluice.execute("PTTL", "session"), 1500);
    await sluice.clock.run();
    const begin = await sluice.clock.now();
    await until(async () => await sluice.clock.now() > begin, "time passes");
  });

  test("faults", async (t) => {
    const client = new Redis(sluice.url, { retryStrategy: () => 1 });
    t.after(() => client.disconnect());
    const fault = await sluice.faults.on("INCR", { after: true, times: 1 }).close();
    assert.strictEqual(await client.incr("counter"), 2); // it was sent again
    assert.deepStrictEqual([await fault.seen(), await fault.hits()], [1, 1]);
    assert.strictEqual(await fault.delete(), true);
    assert.strictEqual(await fault.delete(), false);
    await assert.rejects(fault.hits(), /not there any more/);
    const faults = [
      await sluice.faults.on("GET", { key: "user:*" }).state("READONLY"), await sluice.faults.on("DECR").error("NO way"),
      await sluice.faults.on({ probability: 0.25, name: "w*" }).delay(1.4, { real: true }),
    ];
    await assert.rejects(client.get("user:17"), /READONLY/);
    await assert.rejects(client.decr("k"), /NO way/);
    assert.deepStrictEqual(await faults[2].words(), ["NAME", "w*", "PROB", "0.25", "BEFORE", "DELAY", "1", "REAL"]);
    assert.deepStrictEqual((await sluice.faults.list()).map(({ id }) => id), faults.map(({ id }) => id));
    assert.strictEqual(await sluice.faults.clear(), 3);
    assert.throws(() => sluice.faults.on("GET", { time: 1 }), /no condition 'time'/);
  });

  test("the journal", async (t) => {
    const client = new Redis(sluice.url);
    t.after(() => client.disconnect());
    await client.set("lock", "me", "PX", 1000, "NX");
    await client.del("lock");
    await sluice.journal.expectOrdered("SET lock me PX * NX", "DEL lock");
    await assert.rejects(sluice.journal.expect("EXPIRE lock *"), { name: "AssertionError", message: /which no request/ });
    const [{ words, answer, fault }] = await sluice.journal.requests("SET *");
    assert.deepStrictEqual([words.slice(0, 3), answer, fault], [["set", "lock", "me"], "+OK", null]);
    assert.match(await sluice.journal.export(), /> del lock/);
  });

  test("tests that run beside each other", async (t) => {
    await Promise.all([1, 2, 3].map((n) => t.test(`${n}`, async (inner) => {
      const space = await sluice.spaceFor(inner);
      assert.strictEqual(await space.execute("INCR", "n"), 1);
    })));
  });
});

describe("spaces", () => {
  let server;
  before(async () => { server = await Server.start(); });
  after(() => server.stop());

  test("copies, ports, names", async () => {
    const [fixture, copy] = [server.space("fixture"), server.space("tests/a.js::t[x-@:/?#%41]")];
    await fixture.execute("SET", "k", "v");
    await copy.copyFrom(fixture);
    assert.strictEqual(await copy.execute("GET", "k"), "v");
    const clients = [new Redis(copy.url), new Redis(await copy.listen())];
    assert.deepStrictEqual(await Promise.all(clients.map((client) => client.get("k"))), ["v", "v"]);
    for (const client of clients) client.disconnect();
    await copy.reset();
    assert.strictEqual(await copy.execute("DBSIZE"), 0);
    await copy.delete();
    assert.deepStrictEqual((await server.spaces()).map(({ name }) => name), ["default", "fixture"]);
  });

  test("what could not enter its space runs nowhere", async () => {
    const wrong = server.space("with blanks");
    await assert.rejects(Promise.all([wrong.execute("SET", "stray", 1), wrong.reset()]), /no blanks/);
    assert.strictEqual(await server.execute("EXISTS", "stray"), 0);
  });

  test("large answers, and many at once", async () => {
    const long = "é".repeat(1 << 20);
    await server.execute("SET", "long", long);
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.execute("GET", "long")));
    assert.ok(answers.every((answer) => answer === long));
  });
});

describe("processes", () => {
  test("options and a seed", async () => {
    const servers = await Promise.all([1, 2].map(() => Server.start({ seed: 17, options: { maxclients: 77 } })));
    const popped = await Promise.all(servers.map(async (server) => {
      assert.deepStrictEqual(await server.execute("CONFIG", "GET", "maxclients"), ["maxclients", "77"]);
      await server.execute("SADD", "s", ...Array.from({ length: 100 }, (_, n) => n));
      return server.execute("SPOP", "s", 10);
    }));
    assert.deepStrictEqual(popped[0], popped[1]);
    await Promise.all(servers.map((server) => server.stop()));
  });

  test("no program, no server", async (t) => {
    const { SLUICE_BIN, PATH } = process.env;
    t.after(() => Object.assign(process.env, { SLUICE_BIN, PATH }));
    await assert.rejects(Server.start({ bin: "/nowhere/sluice" }), { name: "BinaryNotFoundError", message: /bin names/ });
    await assert.rejects(Server.start({ bin: "/bin/true" }), { name: "ServerError", message: /exit status 0/ });
    await assert.rejects(Server.start({ options: { nonsense: 1 } }), { name: "ServerError", message: /Bad directive/ });
    delete process.env.SLUICE_BIN;
    process.env.PATH = "/nowhere";
    const sentence = /linux-x64 and linux-arm64.*tools\/run.*set SLUICE_BIN/;
    await assert.rejects(Server.start(), { name: "BinaryNotFoundError", message: sentence });
  });

  test("a program that is not executable", async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sluice-program-"));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    const bin = path.join(folder, "sluice");
    fs.writeFileSync(bin, "");
    await assert.rejects(Server.start({ bin }), { name: "BinaryNotFoundError", message: /is no program/ });
    fs.writeFileSync(bin, "#!/nowhere/interpreter\n");
    fs.chmodSync(bin, 0o755);
    await assert.rejects(Server.start({ bin }), { name: "ServerError", message: /could not be started/ });
    const elf = Buffer.alloc(64);
    elf.write("\x7fELF\x02\x01\x01", "latin1");
    elf.writeUInt16LE(243, 18); // RISC-V
    fs.writeFileSync(bin, elf);
    await assert.rejects(Server.start({ bin }),
      { name: "ServerError", message: /is a program for another processor, and this machine is/ });
  });

  test("a port that is taken", async (t) => {
    const taken = net.createServer();
    await new Promise((resolve) => { taken.listen(0, "127.0.0.1", resolve); });
    const { port } = taken.address();
    await assert.rejects(Server.start({ options: { port } }), { name: "ServerError", message: /in use/ });
    await new Promise((resolve) => { taken.close(resolve); });
    const server = await Server.start({ options: { port } });
    t.after(() => server.stop());
    assert.deepStrictEqual([server.port, await server.execute("PING")], [port, "PONG"]);
  });

  test("the program of this platform's package", async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sluice-package-"));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    const carried = path.join(folder, "carried");
    const home = path.join(folder, "@sluice", `server-${process.platform}-${process.arch}`);
    fs.mkdirSync(home, { recursive: true });
    fs.writeFileSync(path.join(home, "index.js"), `exports.program = ${JSON.stringify(carried)};`);
    fs.symlinkSync(process.env.SLUICE_BIN, carried);
    const script = 'console.log(require("./lib/binary.js").findBinary())';
    const { SLUICE_BIN, ...environment } = { ...process.env, NODE_PATH: folder };
    const find = (env) => execFileSync(process.execPath, ["-e", script], {
      cwd: path.join(__dirname, ".."), env, encoding: "utf8", stdio: "pipe" }).trim();
    assert.strictEqual(find(environment), carried);
    assert.strictEqual(find({ ...environment, SLUICE_BIN }), path.resolve(SLUICE_BIN));
    fs.unlinkSync(carried);
    fs.writeFileSync(carried, "");
    assert.throws(() => find(environment), /not executable/);
  });

  test("stopping", async () => {
    const server = await Server.start();
    await server.execute("PING");
    assert.match(server.log(), /test double/);
    const { pid } = server;
    await Promise.all([server.stop(), server.stop()]);
    assert.ok(ended(pid) && !server.alive);
    await assert.rejects(server.execute("PING"), { name: "ConnectionLostError" });
  });

  test("a server that dies", async () => {
    const server = await Server.start();
    const waiting = server.execute("BLPOP", "never", 0);
    process.kill(server.pid, "SIGKILL");
    await assert.rejects(waiting, { name: "ConnectionLostError" });
    await until(() => !server.alive, "it is told");
    await server.stop();
  });

  const script = (end) => `
    const { Server } = require("@sluice/client");
    Server.start().then(async (server) => {
      await server.execute("PING");
      process.stdout.write(String(server.pid), () => { ${end} });
    });`;

  for (const end of ["process.kill(process.pid, 'SIGKILL')", "process.exit(3)", "throw new Error('no')", ""]) {
    test(`a process that ends: ${end || "nothing is left to do"}`, async () => {
      const pid = await new Promise((resolve) => {
        execFile(process.execPath, ["-e", script(end)], { cwd: __dirname }, (_, output) => resolve(Number(output)));
      });
      assert.ok(pid > 0);
      await until(() => ended(pid), "the server has ended");
    });
  }
});

test("the package that is installed", async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sluice-package-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const run = (program, ...words) => execFileSync(program, words, { cwd: folder, encoding: "utf8" });
  const source = path.join(__dirname, "..");
  const packed = JSON.parse(run("npm", "pack", "--json", source))[0];
  const files = packed.files.map((file) => file.path);
  assert.ok(files.includes("index.d.ts") && files.includes("lib/server.js") && files.includes("vitest.d.mts"), files);
  assert.ok(!files.some((file) => file.startsWith("test/")), files);
  fs.mkdirSync(`${folder}/node_modules/@sluice`, { recursive: true });
  run("tar", "xf", packed.filename);
  fs.renameSync(`${folder}/package`, `${folder}/node_modules/@sluice/client`);
  fs.writeFileSync(`${folder}/use.mjs`, `
    import { LockClient, Server } from "@sluice/client";
    import { rateLimit } from "@sluice/client/express";
    const server = await Server.start();
    console.log(typeof LockClient, typeof rateLimit, await server.execute("PING"));`);
  assert.strictEqual(run(process.execPath, "use.mjs"), "function function PONG\n");
});

describe("runners", () => {
  /** The output of another runner, whose tests are in test/runners. */
  const play = (...words) => new Promise((resolve) => {
    const env = { ...process.env, NO_COLOR: "1", NODE_TEST_CONTEXT: undefined };  // not a child of this runner
    const runner = spawn(process.execPath, words, { cwd: `${__dirname}/..`, env });
    let output = "";
    for (const stream of [runner.stdout, runner.stderr]) stream.on("data", (data) => { output += data; });
    runner.on("close", (code) => resolve({ code, output }));
  });

  test("node:test, and what it says of a failure", async (t) => {
    const { code, output } = await play("--test", "--test-reporter=tap", "test/runners/failing.cjs");
    assert.strictEqual(code, 1, output);
    assert.match(output, /# tests 7[^]*# pass 2\b/);
    const [major, minor] = process.versions.node.split(".").map(Number);
    if (major < 20 || (major === 20 && minor < 12)) return t.skip("its hooks do not know of failures");
    const said = output.split("\n").map((line) => line.trim()).filter((line) => /^# (\\?#|SLUICE|sluice:)/.test(line));
    const told = said.map((line) => line.slice(2).replaceAll("\\", "").replace(/\(client \d+\)/, "(client)"))
      .filter((line) => !/^#\d+ auth/.test(line));
    const heading = "sluice: the last requests of this test, and how the clock was moved";
    assert.deepStrictEqual(told.map((line) => line.replace(/^#\d+ /, "")), [
      heading, "SLUICE.CLOCK FREEZE +OK", "set lock me PX 1500 (client) +OK", "SLUICE.CLOCK ADVANCE 1000 +OK",
      'get lock (client) "me"', "SLUICE.CLOCK NEXT :500", "get lock (client) (nil)",
      heading, "get door (client) (nil)",
      heading, "get aside (client) (nil)",
    ], output);
    assert.ok(/expected GET window/.test(output) && !/requests: #/.test(output), output);
  });

  test("vitest", async () => {
    for (const more of [["--pool=forks"], ["--pool=threads"], ["--pool=threads", "--no-isolate"]]) {
      const { code, output } = await play("node_modules/vitest/vitest.mjs", "run", "--root", "test/runners", ...more);
      assert.ok(code === 0 && /Tests +8 passed/.test(output), output);
    }
  });

  test("jest", async () => {
    const { code, output } = await play("node_modules/jest/bin/jest.js", "--config", "test/runners/jest.config.js");
    assert.ok(code === 0 && /Tests: +3 passed/.test(output), output);
  });

  test("types", async () => {
    const { code, output } = await play("node_modules/typescript/bin/tsc", "--project", "test/types");
    assert.ok(code === 0, output);
  });
});
