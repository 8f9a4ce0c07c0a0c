// The service over gRPC, as Envoy asks it, over a Sluice whose clock stands still until a test moves it.
"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { useSluice } = require("@sluice/client/node-test");
const { call, descriptor, grpc } = require("./envoy.js");
const { serve, until } = require("./world.js");

const sluice = useSluice();
const START = Date.UTC(2030, 0, 1);
const MINUTE = 60_000;

const freeze = () => sluice.clock.freeze(START);
const user = (name) => descriptor(`user=${name}`);
const codes = ({ overallCode, statuses }) => [overallCode, ...statuses.map(({ code }) => code)];
const pairs = (headers) => headers.map(({ key, value }) => `${key}: ${value}`);

/** The count of a rule, named as in the reference service: domain.key1.key2. */
async function count(world, name, ...labels) {
  const text = `ratelimit_service_rate_limit_${name}{${["domain", ...labels.map((_, at) => `key${at + 1}`)]
    .map((key, at) => `${key}="${["shop", ...labels][at]}"`)
    .join(",")}} `;
  return Number(
    (await world.metrics())
      .split("\n")
      .find((line) => line.startsWith(text))
      ?.slice(text.length),
  );
}

const THREE = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 3, name: per-user}
`;

test("a limit is counted down, refuses, and is whole again", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, THREE);
  const currentLimit = { requestsPerUnit: 3, unit: "MINUTE", name: "per-user" };
  const status = (code, limitRemaining, seconds) => ({
    overallCode: code,
    statuses: [{ code, currentLimit, limitRemaining, durationUntilReset: { seconds } }],
  });
  const shown = ({
    overallCode,
    statuses: [{ code, currentLimit: limit, limitRemaining = 0, durationUntilReset }],
  }) => ({
    overallCode,
    statuses: [
      { code, currentLimit: limit, limitRemaining, durationUntilReset: { seconds: durationUntilReset.seconds } },
    ],
  });
  for (const left of [2, 1])
    assert.deepStrictEqual(shown(await world.ask({ descriptors: [user("ann")] })), status("OK", left, 60));
  await sluice.clock.advance(20_500);
  assert.deepStrictEqual(
    shown(await world.ask({ descriptors: [user("ann")] })),
    status("OK", 0, 40),
    "seconds are rounded up",
  );
  assert.deepStrictEqual(shown(await world.ask({ descriptors: [user("ann")] })), status("OVER_LIMIT", 0, 40));
  assert.deepStrictEqual(
    shown(await world.ask({ descriptors: [user("bob")] })),
    status("OK", 2, 60),
    "another value, another count",
  );
  await sluice.clock.advance(39_500);
  assert.deepStrictEqual(shown(await world.ask({ descriptors: [user("ann")] })), status("OK", 2, 60));
  assert.deepStrictEqual(
    await Promise.all(
      ["total_hits", "within_limit", "near_limit", "over_limit"].map((name) => count(world, name, "user")),
    ),
    [6, 5, 1, 1],
  );
});

test("each unit has its length", async (t) => {
  await freeze();
  const seconds = {
    second: 1,
    minute: 60,
    hour: 3_600,
    day: 86_400,
    week: 604_800,
    month: 2_592_000,
    year: 31_536_000,
  };
  const rules = Object.keys(seconds).map(
    (unit) => `  - {key: k, value: ${unit}, rate_limit: {unit: ${unit}, requests_per_unit: 1}}`,
  );
  const world = await serve(t, sluice.url, `domain: shop\ndescriptors:\n${rules.join("\n")}\n`);
  const { statuses } = await world.askNewer({
    descriptors: Object.keys(seconds).map((unit) => descriptor(`k=${unit}`)),
  });
  assert.deepStrictEqual(
    statuses.map(({ currentLimit, durationUntilReset }) => [currentLimit.unit, durationUntilReset.seconds]),
    Object.entries(seconds).map(([unit, span]) => [unit.toUpperCase(), span]),
  );
  await sluice.clock.advance(31_536_000_000 - 1);
  assert.deepStrictEqual(codes(await world.ask({ descriptors: [descriptor("k=year"), descriptor("k=month")] })), [
    "OVER_LIMIT",
    "OVER_LIMIT",
    "OK",
  ]);
  await sluice.clock.advance(1);
  assert.deepStrictEqual(codes(await world.ask({ descriptors: [descriptor("k=year")] })), ["OK", "OK"]);
});

const TWO = `
domain: shop
descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: all, rate_limit: {unit: minute, requests_per_unit: 5}}
`;

test("several limits are taken all or none", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, TWO);
  const both = (name) => world.ask({ descriptors: [user(name), descriptor("all=x"), descriptor("nosuch=x")] });
  const left = ({ statuses }) => statuses.map(({ limitRemaining = 0 }) => limitRemaining);
  for (const expected of [
    [1, 4, 0],
    [0, 3, 0],
  ])
    assert.deepStrictEqual(left(await both("ann")), expected);
  const refused = await both("ann");
  assert.deepStrictEqual(codes(refused), ["OVER_LIMIT", "OVER_LIMIT", "OK", "OK"]);
  assert.deepStrictEqual(left(refused), [0, 3, 0], "who is refused takes nothing from the others");
  assert.strictEqual(refused.statuses[2].currentLimit ?? null, null, "no rule, no limit");
  assert.deepStrictEqual(left(await both("bob")), [1, 2, 0]);
});

test("what no rule matches is let through, and costs no question", async (t) => {
  const world = await serve(t, sluice.url, TWO);
  await sluice.journal.start();
  assert.deepStrictEqual(
    codes(await world.ask({ descriptors: [descriptor("nosuch=x"), descriptor("user=a", "more=b")] })),
    ["OK", "OK", "OK"],
  );
  assert.deepStrictEqual(codes(await world.ask({ domain: "elsewhere", descriptors: [user("ann")] })), ["OK", "OK"]);
  assert.deepStrictEqual(await sluice.journal.requests("LIMIT.*"), []);
  await world.ask({ descriptors: [user("ann"), descriptor("all=x")] });
  assert.deepStrictEqual(
    (await sluice.journal.requests("LIMIT.*")).map(({ words }) => words.join(" ")),
    ["LIMIT.ALL 2 ratelimit:minute:shop|user=ann ratelimit:minute:shop|all=x WINDOW 2 60000 0 1 WINDOW 5 60000 0 1"],
  );
});

test("hits are taken as the request or the descriptor says", async (t) => {
  await freeze();
  const world = await serve(
    t,
    sluice.url,
    "domain: shop\ndescriptors:\n  - {key: k, rate_limit: {unit: hour, requests_per_unit: 10}}\n",
  );
  const left = async (message) =>
    (await world.askNewer(message)).statuses.map(({ code, limitRemaining = 0 }) => [code, limitRemaining]);
  const [a, b] = [descriptor("k=a"), descriptor("k=b")];
  assert.deepStrictEqual(await left({ descriptors: [a, { ...b, hitsAddend: { value: 2 } }], hitsAddend: 4 }), [
    ["OK", 6],
    ["OK", 8],
  ]);
  assert.deepStrictEqual(await left({ descriptors: [a], hitsAddend: 7 }), [["OVER_LIMIT", 6]], "all of them or none");
  assert.deepStrictEqual(
    await left({ descriptors: [a], hitsAddend: 11 }),
    [["OVER_LIMIT", 6]],
    "more than it ever has",
  );
  assert.deepStrictEqual(
    await left({ descriptors: [{ ...a, hitsAddend: { value: 0 } }] }),
    [["OK", 6]],
    "0 asks alone",
  );
  assert.deepStrictEqual(
    await left({ descriptors: [{ ...a, isNegativeHits: true }], hitsAddend: 3 }),
    [["OK", 9]],
    "given back",
  );
  assert.deepStrictEqual(
    await left({ descriptors: [{ ...a, isNegativeHits: true }], hitsAddend: 30 }),
    [["OK", 10]],
    "never beyond the limit",
  );
  assert.deepStrictEqual(
    await left({ descriptors: [b, b], hitsAddend: 4 }),
    [
      ["OK", 0],
      ["OK", 0],
    ],
    "the same twice is taken twice",
  );
  assert.deepStrictEqual(await left({ descriptors: [a, a], hitsAddend: 6 }), [
    ["OVER_LIMIT", 10],
    ["OVER_LIMIT", 10],
  ]);
});

test("a descriptor may bring its own limit", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, TWO);
  const own = (requestsPerUnit, unit, name = "ann") => ({ ...user(name), limit: { requestsPerUnit, unit } });
  const {
    statuses: [status],
  } = await world.ask({ descriptors: [own(7, "HOUR")] });
  assert.deepStrictEqual(
    [status.currentLimit.requestsPerUnit, status.currentLimit.unit, status.limitRemaining],
    [7, "HOUR", 6],
  );
  assert.deepStrictEqual(
    codes(await world.ask({ descriptors: [own(0, "DAY")] })),
    ["OVER_LIMIT", "OVER_LIMIT"],
    "a limit of nothing",
  );
  assert.deepStrictEqual(
    codes(
      await world.ask({ descriptors: [{ ...descriptor("nosuch=x"), limit: { requestsPerUnit: 1, unit: "DAY" } }] }),
    ),
    ["OK", "OK"],
  );
  assert.deepStrictEqual(
    codes(await world.ask({ domain: "elsewhere", descriptors: [own(0, "DAY")] })),
    ["OK", "OK"],
    "as in the reference service",
  );
  const tighter = await world.ask({ descriptors: [own(9, "MINUTE", "bob"), own(1, "MINUTE", "bob")] });
  assert.deepStrictEqual(
    codes(tighter),
    ["OVER_LIMIT", "OVER_LIMIT", "OVER_LIMIT"],
    "the same limit twice: the tighter one holds",
  );
});

test("unlimited, a limit of nothing, and what is replaced", async (t) => {
  await freeze();
  const world = await serve(
    t,
    sluice.url,
    `
domain: shop
descriptors:
  - {key: free, rate_limit: {unlimited: true}}
  - {key: shut, rate_limit: {unit: second, requests_per_unit: 0}}
  - {key: group, rate_limit: {unit: minute, requests_per_unit: 1, name: group}}
  - {key: user, value: vip, rate_limit: {unit: minute, requests_per_unit: 5, replaces: [{name: group}]}}
`,
  );
  const free = await world.ask({ descriptors: [descriptor("free=x")] });
  assert.deepStrictEqual(
    [codes(free), free.statuses[0].limitRemaining, free.statuses[0].currentLimit ?? null],
    [["OK", "OK"], 2 ** 32 - 1, null],
  );
  assert.strictEqual(await count(world, "total_hits", "free"), 1);

  const group = descriptor("group=x");
  assert.deepStrictEqual(codes(await world.ask({ descriptors: [descriptor("shut=x"), group] })), [
    "OVER_LIMIT",
    "OVER_LIMIT",
    "OK",
  ]);
  for (const left of [4, 3]) {
    const { overallCode, statuses } = await world.ask({ descriptors: [group, user("vip")] });
    assert.deepStrictEqual(
      [overallCode, statuses[0].currentLimit ?? null, statuses[1].limitRemaining],
      ["OK", null, left],
    );
  }
  assert.deepStrictEqual(codes(await world.ask({ descriptors: [group] })), ["OK", "OK"], "neither has taken from it");
  assert.deepStrictEqual(codes(await world.ask({ descriptors: [group] })), ["OVER_LIMIT", "OVER_LIMIT"]);
});

test("a limit in shadow counts and refuses nothing", async (t) => {
  await freeze();
  const world = await serve(
    t,
    sluice.url,
    `
domain: shop
descriptors:
  - {key: user, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: all, rate_limit: {unit: minute, requests_per_unit: 2}}
`,
  );
  const ask = () => world.ask({ descriptors: [user("ann"), descriptor("all=x")] });
  assert.deepStrictEqual(codes(await ask()), ["OK", "OK", "OK"]);
  assert.deepStrictEqual(codes(await ask()), ["OK", "OK", "OK"]);
  assert.deepStrictEqual(codes(await ask()), ["OVER_LIMIT", "OK", "OVER_LIMIT"]);
  assert.deepStrictEqual(
    await Promise.all(["total_hits", "over_limit", "shadow_mode"].map((name) => count(world, name, "user"))),
    [3, 2, 2],
  );
  assert.strictEqual(await count(world, "shadow_mode", "all"), 0);
});

test("the whole service in shadow lets all through, and says which limits would not", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, TWO, "--shadow-mode", "yes");
  for (let at = 0; at < 2; at += 1) await world.ask({ descriptors: [user("ann")] });
  assert.deepStrictEqual(codes(await world.ask({ descriptors: [user("ann")] })), ["OK", "OVER_LIMIT"]);
  assert.match(await world.metrics(), /^ratelimit_service_global_shadow_mode 1$/m);
});

test("a wildcard counts each value, or all of them as one", async (t) => {
  await freeze();
  const world = await serve(
    t,
    sluice.url,
    `
domain: shop
descriptors:
  - {key: each, value: img/*, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: shared, value: img/*, share_threshold: true, rate_limit: {unit: minute, requests_per_unit: 1}}
`,
  );
  const over = async (text) => (await world.ask({ descriptors: [descriptor(text)] })).overallCode;
  assert.deepStrictEqual(
    [await over("each=img/a"), await over("each=img/b"), await over("each=img/a")],
    ["OK", "OK", "OVER_LIMIT"],
  );
  assert.deepStrictEqual(
    [await over("shared=img/a"), await over("shared=img/b"), await over("shared=css/b")],
    ["OK", "OVER_LIMIT", "OK"],
  );
});

test("algorithms of Sluice's own", async (t) => {
  await freeze();
  const world = await serve(
    t,
    sluice.url,
    `
domain: shop
descriptors:
  - {key: even, rate_limit: {unit: second, requests_per_unit: 10, algorithm: gcra, burst: 1}}
  - {key: saved, rate_limit: {unit: second, requests_per_unit: 10, algorithm: rolling, burst: 50}}
`,
  );
  const hits = async (text, hitsAddend) =>
    (await world.ask({ descriptors: [descriptor(text)], hitsAddend })).overallCode;
  assert.deepStrictEqual(
    [await hits("even=x", 2), await hits("even=x", 1), await hits("saved=x", 50), await hits("saved=x", 1)],
    ["OK", "OVER_LIMIT", "OK", "OVER_LIMIT"],
  );
  await sluice.clock.advance(100);
  assert.deepStrictEqual([await hits("even=x", 1), await hits("saved=x", 1)], ["OK", "OK"]);
});

test("headers say what the tightest limit has left", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, TWO, "--response-headers", "X-RateLimit", "--request-headers", "RateLimit");
  const ask = () => world.ask({ descriptors: [descriptor("all=x"), user("ann")] });
  const first = await ask();
  assert.deepStrictEqual(pairs(first.responseHeadersToAdd), [
    "X-RateLimit-Limit: 2",
    "X-RateLimit-Remaining: 1",
    "X-RateLimit-Reset: 60",
  ]);
  assert.deepStrictEqual(pairs(first.requestHeadersToAdd), [
    "RateLimit-Limit: 2",
    "RateLimit-Remaining: 1",
    "RateLimit-Reset: 60",
  ]);
  await ask();
  await sluice.clock.advance(15_000);
  const refused = await ask();
  assert.deepStrictEqual(pairs(refused.responseHeadersToAdd), [
    "X-RateLimit-Limit: 2",
    "X-RateLimit-Remaining: 0",
    "X-RateLimit-Reset: 45",
    "Retry-After: 45",
  ]);
  assert.deepStrictEqual((await world.ask({ descriptors: [descriptor("nosuch=x")] })).responseHeadersToAdd ?? [], []);
  const never = await world.ask({ descriptors: [user("bob")], hitsAddend: 3 });
  assert.ok(!pairs(never.responseHeadersToAdd).some((pair) => pair.startsWith("Retry-After")), "no waiting helps");
});

test("no header is added unasked", async (t) => {
  const world = await serve(t, sluice.url, TWO);
  const { responseHeadersToAdd = [], requestHeadersToAdd = [] } = await world.ask({ descriptors: [user("ann")] });
  assert.deepStrictEqual([responseHeadersToAdd, requestHeadersToAdd], [[], []]);
});

test("a request that is wrong or too large is refused in words", async (t) => {
  const world = await serve(t, sluice.url, TWO);
  const refused = (message, code, details) => assert.rejects(world.ask(message), { code, details });
  await refused({ domain: "", descriptors: [user("ann")] }, grpc.status.INVALID_ARGUMENT, "a request wants a domain");
  await refused({ descriptors: [] }, grpc.status.INVALID_ARGUMENT, "a request wants descriptors");
  await refused(
    { descriptors: Array(65).fill(user("ann")) },
    grpc.status.INVALID_ARGUMENT,
    "65 descriptors, more than 64",
  );
  await refused(
    { descriptors: [{ ...user("ann"), limit: { requestsPerUnit: 1, unit: 42 } }] },
    grpc.status.INVALID_ARGUMENT,
    "the limit of a descriptor has no unit that is known",
  );
  await refused(
    { descriptors: Array(60).fill(descriptor(`user=${"x".repeat(1_500)}`)) },
    grpc.status.RESOURCE_EXHAUSTED,
    /larger than max/,
  );
  await world.ask({ descriptors: [user("ann")] });
  assert.match(await world.metrics(), /^ratelimit_service_should_rate_limit_error\{err_type="service_error"\} 4$/m);
});

test("while Sluice cannot answer, the failure mode does", async (t) => {
  for (const [mode, expected] of [
    ["allow", "OK"],
    ["deny", "OVER_LIMIT"],
    ["error", grpc.status.UNAVAILABLE],
  ]) {
    const world = await serve(t, sluice.url, TWO, "--failure-mode", mode);
    const ask = () =>
      world.ask({ descriptors: [user(mode), descriptor("nosuch=x")] }).then(
        (answer) => [answer.overallCode, ...answer.statuses.map(({ code }) => code)],
        ({ code }) => code,
      );
    await sluice.faults.on("LIMIT.ALL", { times: 1 }).error("LOADING soon");
    assert.deepStrictEqual(await ask(), mode === "error" ? expected : [expected, expected, "OK"], mode);
    assert.deepStrictEqual(await ask(), ["OK", "OK", "OK"], "and then it answers again");
    assert.ok(world.log.includes("Sluice cannot be asked: LOADING soon"), world.log.join("\n"));
    const metrics = await world.metrics();
    assert.match(metrics, /^ratelimit_service_should_rate_limit_error\{err_type="redis_error"\} 1$/m);
    const alone = new RegExp(`^sluice_ratelimit_answered_without_sluice\\{mode="${mode}"\\} 1$`, "m");
    assert.strictEqual(alone.test(metrics), mode !== "error");
  }
});

test("in shadow nothing is refused while Sluice is away, either", async (t) => {
  const rules = `${TWO}  - {key: soft, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}\n`;
  const deny = await serve(t, sluice.url, rules, "--failure-mode", "deny");
  const shadow = await serve(t, sluice.url, rules, "--failure-mode", "deny", "--shadow-mode", "yes");
  const fault = await sluice.faults.on({}).error("LOADING soon");
  const both = { descriptors: [user("ann"), descriptor("soft=x")] };
  assert.deepStrictEqual(codes(await deny.ask(both)), ["OVER_LIMIT", "OVER_LIMIT", "OK"]);
  assert.deepStrictEqual(codes(await deny.ask({ descriptors: [descriptor("soft=x")] })), ["OK", "OK"]);
  assert.deepStrictEqual(codes(await shadow.ask(both)), ["OK", "OVER_LIMIT", "OK"]);
  await fault.delete();
});

test("an answer that does not come is waited for no longer than it may take", async (t) => {
  const world = await serve(t, sluice.url, TWO, "--timeout", "50");
  const hang = await sluice.faults.on("LIMIT.ALL").hang();
  await assert.rejects(world.ask({ descriptors: [user("ann")] }), {
    code: grpc.status.UNAVAILABLE,
    details: /Sluice cannot be asked: Command timed out/,
  });
  await hang.delete();
});

test("requests that wait for Sluice are bounded", async (t) => {
  const world = await serve(t, sluice.url, TWO, "--in-flight-max", "2");
  const hang = await sluice.faults.on("LIMIT.ALL").hang();
  const waiting = ["a", "b"].map((name) => world.ask({ descriptors: [user(name)] }));
  await until(async () => /^sluice_ratelimit_in_flight 2$/m.test(await world.metrics()), "two requests in flight");
  await assert.rejects(world.ask({ descriptors: [user("c")] }), {
    code: grpc.status.RESOURCE_EXHAUSTED,
    details: "2 requests wait for Sluice already",
  });
  assert.deepStrictEqual(
    codes(await world.ask({ descriptors: [descriptor("nosuch=x")] })),
    ["OK", "OK"],
    "what needs no Sluice is answered",
  );
  await hang.delete();
  assert.deepStrictEqual(
    (await Promise.all(waiting)).map(({ overallCode }) => overallCode),
    ["OK", "OK"],
  );
});

test("a lost connection is made again, and nothing is sent twice", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, TWO);
  await sluice.faults.on("LIMIT.ALL", { times: 1, after: true }).close();
  await assert.rejects(world.ask({ descriptors: [user("ann")] }), { code: grpc.status.UNAVAILABLE });
  await until(async () => (await world.health()) === "SERVING", "the connection is back");
  const {
    statuses: [{ limitRemaining = 0 }],
  } = await world.ask({ descriptors: [user("ann")] });
  assert.strictEqual(limitRemaining, 0, "the first was taken once, and its answer lost");
});

test("a server that may only be read is left, for the one that has its name now", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, TWO);
  await sluice.faults.on("LIMIT.ALL", { times: 1 }).error("READONLY You can't write against a read only replica.");
  await assert.rejects(world.ask({ descriptors: [user("ann")] }), { code: grpc.status.UNAVAILABLE });
  await until(() => world.log.filter((line) => line === "connected to Sluice").length === 2, "a new connection");
  assert.deepStrictEqual(codes(await world.ask({ descriptors: [user("ann")] })), ["OK", "OK"]);
});

test("a limit that changes keeps what is used", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, THREE);
  await world.ask({ descriptors: [user("ann")], hitsAddend: 3 });
  require("node:fs").writeFileSync(world.file, THREE.replace("3", "6"));
  world.program.reload();
  const {
    statuses: [status],
  } = await world.ask({ descriptors: [user("ann")] });
  assert.deepStrictEqual(
    [status.code, status.currentLimit.requestsPerUnit, status.limitRemaining],
    ["OK", 6, 2],
    "the window is open still",
  );
  await sluice.clock.advance(MINUTE);
});

test("a key of another type in Sluice is Sluice's refusal", async (t) => {
  const world = await serve(t, sluice.url, THREE);
  await sluice.execute("SET", "ratelimit:minute:shop|user=ann", "x");
  await assert.rejects(world.ask({ descriptors: [user("ann")] }), {
    code: grpc.status.UNAVAILABLE,
    details: /WRONGTYPE/,
  });
});

test("random requests are allowed as a plain model says", async (t) => {
  await freeze();
  const world = await serve(t, sluice.url, TWO);
  let state = Number(process.env.SLUICE_SEED ?? Date.now() % 1e9) >>> 0;
  const seed = state;
  const next = (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  const most = { user: 2, all: 5 };
  const windows = new Map();
  let now = 0;
  for (let round = 0; round < 400; round += 1) {
    if (next(4) === 0) {
      const span = next(40_000);
      await sluice.clock.advance(span);
      now += span;
    }
    const hits = 1 + next(3);
    const names = [`user=${"abc"[next(3)]}`, "all=x"].filter(() => next(3) > 0);
    if (names.length === 0) continue;
    const used = names.map((name) =>
      windows.get(name)?.end > now ? windows.get(name) : { used: 0, end: now + MINUTE },
    );
    const fits = names.map((name, at) => used[at].used + hits <= most[name.split("=")[0]]);
    const all = fits.every(Boolean);
    if (all) names.forEach((name, at) => windows.set(name, { used: used[at].used + hits, end: used[at].end }));
    const answer = await world.ask({ descriptors: names.map((name) => descriptor(name)), hitsAddend: hits });
    assert.deepStrictEqual(
      codes(answer),
      [all ? "OK" : "OVER_LIMIT", ...fits.map((fit) => (fit ? "OK" : "OVER_LIMIT"))],
      `SLUICE_SEED=${seed}, round ${round}`,
    );
  }
});

test("the health service follows the connection", async (t) => {
  const world = await serve(t, sluice.url, TWO);
  const name = "envoy.service.ratelimit.v3.RateLimitService";
  await until(async () => (await world.health()) === "SERVING", "served");
  assert.strictEqual(await world.health(name), "SERVING");
  await assert.rejects(world.health("nosuch"), { code: grpc.status.NOT_FOUND });
  const watched = [];
  const watch = world.clients.health.watch({ service: name });
  watch.on("data", ({ status }) => watched.push(status));
  watch.on("error", () => {});
  await until(() => watched.length === 1, "a first status");
  await sluice.faults.on("HELLO").error("LOADING soon");
  await sluice.faults.on("INFO").error("LOADING soon");
  await sluice.faults.on("LIMIT.ALL").close();
  await assert.rejects(world.ask({ descriptors: [user("ann")] }), { code: grpc.status.UNAVAILABLE });
  await until(() => watched.includes("NOT_SERVING"), "the loss is told");
  await until(async () => (await fetch(`${world.http}/healthcheck`)).status === 503, "over HTTP, too");
  await sluice.faults.clear();
  await until(() => watched.at(-1) === "SERVING", "and the return");
  assert.strictEqual((await fetch(`${world.http}/healthcheck`)).status, 200);
  watch.cancel();
});
