// The parts that need no server: requests are checked, keys are unique, metrics add up, options make sense.
"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { keyOf } = require("../lib/limiter.js");
const { Metrics } = require("../lib/metrics.js");
const { OPTIONS, help, readOptions } = require("../lib/options.js");
const { readRequest } = require("../lib/request.js");

const one = (more) => ({ domain: "d", descriptors: [{ entries: [{ key: "k", value: "v" }], ...more }] });

test("a request is taken in its bounds", () => {
  assert.deepStrictEqual(readRequest(one()), {
    domain: "d",
    descriptors: [{ entries: [{ key: "k", value: "v" }], override: null, hits: 1, back: false }],
  });
  assert.strictEqual(readRequest({ ...one(), hitsAddend: 7 }).descriptors[0].hits, 7);
  assert.strictEqual(readRequest({ ...one({ hitsAddend: { value: "0" } }), hitsAddend: 7 }).descriptors[0].hits, 0);
  assert.strictEqual(readRequest(one({ hitsAddend: {} })).descriptors[0].hits, 0, "a wrapper of nothing is a 0");
  assert.strictEqual(readRequest(one({ hitsAddend: 5 })).descriptors[0].hits, 5, "JSON has no wrapper");
  assert.deepStrictEqual(readRequest(one({ limit: { unit: "WEEK" } })).descriptors[0].override, {
    max: 0,
    unit: "WEEK",
  });
  assert.strictEqual(
    readRequest({ domain: "d", descriptors: [{ entries: [{ key: "k" }] }] }).descriptors[0].entries[0].value,
    "",
  );
});

const BAD = [
  [null, "the request is no object"],
  [{ descriptors: one().descriptors }, "a request wants a domain"],
  [{ ...one(), domain: 1 }, "the domain is no text"],
  [{ ...one(), domain: "x".repeat(1_025) }, "the domain has 1025 characters, more than 1024"],
  [{ domain: "d" }, "a request wants descriptors"],
  [{ domain: "d", descriptors: [] }, "a request wants descriptors"],
  [{ domain: "d", descriptors: [null] }, "a descriptor is no object"],
  [{ domain: "d", descriptors: [{}] }, "a request wants entries"],
  [{ domain: "d", descriptors: Array(65).fill(one().descriptors[0]) }, "65 descriptors, more than 64"],
  [{ domain: "d", descriptors: [{ entries: Array(33).fill({ key: "k", value: "v" }) }] }, "33 entries, more than 32"],
  [{ domain: "d", descriptors: [{ entries: [{ value: "v" }] }] }, "the key of an entry is no text"],
  [{ domain: "d", descriptors: [{ entries: [{ key: "", value: "v" }] }] }, "the key of an entry is empty"],
  [{ domain: "d", descriptors: [{ entries: [{ key: "k", value: 7 }] }] }, "the value of an entry is no text"],
  [{ domain: "d", descriptors: [{ entries: [null] }] }, "the key of an entry is no text"],
  [{ ...one(), hitsAddend: -1 }, "hits_addend is no whole number of 0 to 4294967295"],
  [one({ hitsAddend: { value: "18446744073709551615" } }), "hits_addend is no whole number of 0 to 9007199254740991"],
  [one({ limit: { requestsPerUnit: 1 } }), "the limit of a descriptor has no unit that is known"],
  [one({ limit: { requestsPerUnit: 1, unit: "UNKNOWN" } }), "the limit of a descriptor has no unit that is known"],
  [one({ limit: { requestsPerUnit: 1, unit: 99 } }), "the limit of a descriptor has no unit that is known"],
  [one({ limit: { requestsPerUnit: 1, unit: "toString" } }), "the limit of a descriptor has no unit that is known"],
  [
    one({ limit: { requestsPerUnit: 1.5, unit: "DAY" } }),
    "the limit of a descriptor is no whole number of 0 to 4294967295",
  ],
];

test("and refused beyond them", () => {
  for (const [message, text] of BAD) {
    assert.throws(
      () => readRequest(message),
      { name: "RequestError", message: text },
      JSON.stringify(message)?.slice(0, 100),
    );
  }
});

test("no two limits share a key, whatever values hold", () => {
  const limit = { unit: "MINUTE", algorithm: "window" };
  assert.strictEqual(
    keyOf(
      "shop",
      [
        { key: "user", value: "17" },
        { key: "p", value: "a=b|c%" },
      ],
      limit,
    ),
    "minute:shop|user=17|p=a%3Db%7Cc%25",
  );
  const texts = ["", "a", "b", "|", "=", "%", "|a", "=a", "a=b", "a|b=c", "%7C", "%3D", "a%"];
  const keys = new Set();
  let count = 0;
  for (const unit of ["MINUTE", "HOUR"]) {
    for (const algorithm of ["window", "gcra"]) {
      for (const domain of texts) {
        for (const key of texts.slice(1)) {
          for (const value of texts) {
            for (const entries of [
              [{ key, value }],
              [
                { key, value: "" },
                { key: "a", value },
              ],
              [
                { key: "a", value: key },
                { key, value },
              ],
            ]) {
              keys.add(keyOf(domain, entries, { unit, algorithm }));
              count += 1;
            }
          }
        }
      }
    }
  }
  assert.strictEqual(keys.size, count);
});

test("a key has a bounded length, and tells long values apart", () => {
  const key = (value) => keyOf("d", [{ key: "k", value }], { unit: "DAY", algorithm: "window" });
  assert.strictEqual(key("x".repeat(1_000)).length, 256 + 2 + 64);
  assert.notStrictEqual(key("x".repeat(999)), key("x".repeat(1_000)));
  assert.ok(key("x".repeat(500)).endsWith("xxx"));
});

const part = (more) => ({ domain: "d", labels: ["k"], limit: { shadow: false }, hits: 1, back: false, ...more });
const verdict = (allowed, remaining) => ({ allowed, remaining, limit: 10 });
const lineOf = (metrics, name) =>
  metrics
    .text()
    .split("\n")
    .find((line) => line.startsWith(name))
    ?.slice(name.length);

test("hits count as within, near and over the limit", () => {
  const metrics = new Metrics({ seriesMax: 10, nearLimitRatio: 0.8 });
  const count = (name) => Number(lineOf(metrics, `ratelimit_service_rate_limit_${name}{domain="d",key1="k"}`));
  metrics.verdict(part({ hits: 7, verdict: verdict(true, 3) }));
  assert.deepStrictEqual([count("within_limit"), count("near_limit")], [7, 0]);
  metrics.verdict(part({ hits: 2, verdict: verdict(true, 1) }));
  assert.deepStrictEqual([count("within_limit"), count("near_limit")], [9, 1], "the ninth of ten is near");
  metrics.verdict(part({ hits: 1, verdict: verdict(true, 0) }));
  assert.deepStrictEqual([count("within_limit"), count("near_limit"), count("over_limit")], [10, 2, 0]);
  metrics.verdict(part({ hits: 3, verdict: verdict(false, 0) }));
  assert.deepStrictEqual([count("within_limit"), count("over_limit"), count("shadow_mode")], [10, 3, 0]);
  metrics.verdict(part({ limit: { shadow: true }, verdict: verdict(false, 0) }));
  assert.deepStrictEqual([count("over_limit"), count("shadow_mode")], [4, 1]);
  metrics.verdict(part({ hits: 5, back: true, verdict: verdict(true, 5) }));
  assert.strictEqual(count("within_limit"), 10, "what is given back is no hit");
});

test("series have a bound, and labels are escaped", () => {
  const metrics = new Metrics({ seriesMax: 2, nearLimitRatio: 0.8 });
  for (const label of ['a"\\\n', "b", "c", "d"]) metrics.hits(part({ labels: [label, "x"], hits: 2 }));
  const name = "ratelimit_service_rate_limit_total_hits";
  assert.strictEqual(lineOf(metrics, `${name}{domain="d",key1="a\\"\\\\\\n",key2="x"}`), " 2");
  assert.strictEqual(lineOf(metrics, `${name}{domain="d",key1="(others)"}`), " 4");
  assert.strictEqual(lineOf(metrics, `${name}{domain="d",key1="c"`), undefined);
  assert.strictEqual(lineOf(metrics, "sluice_ratelimit_series_refused"), " 2");
});

test("response times fall into buckets that add up", () => {
  const metrics = new Metrics({ seriesMax: 2, nearLimitRatio: 0.8 });
  for (const seconds of [0.0004, 0.001, 0.002, 5]) metrics.request(seconds);
  const bucket = (most) =>
    lineOf(metrics, `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="${most}"}`);
  assert.deepStrictEqual([0.0005, 0.001, 0.0025, 1, "+Inf"].map(bucket), [" 1", " 2", " 3", " 3", " 4"]);
});

test("options are words or variables, and words go first", () => {
  const read = (argv, env = {}) => readOptions(["--config", "x", ...argv], env);
  assert.strictEqual(read([]).timeout, 200);
  assert.strictEqual(read([], { RATELIMIT_TIMEOUT: "50" }).timeout, 50);
  assert.strictEqual(read(["--timeout", "60"], { RATELIMIT_TIMEOUT: "50" }).timeout, 60);
  assert.deepStrictEqual(read(["--listen", "[::1]:80"]).listen, { host: "::1", port: 80 });
  assert.deepStrictEqual(read(["--listen", ":80"]).listen, { host: "0.0.0.0", port: 80 });
  assert.deepStrictEqual(read(["--listen", "unix:/run/rl"]).listen, { socket: "/run/rl" });
  assert.strictEqual(read(["--http", "off"]).http, null);
  for (const { name } of OPTIONS) assert.ok(help().includes(`--${name} `), name);
});

const WRONG_OPTIONS = [
  [["--config", ""], "--config: a file or folder of limits is wanted"],
  [["--timeout", "0"], "--timeout: a whole number of 1 to 60000 is wanted, not 0"],
  [["--timeout", "1e3"], "--timeout: a whole number of 1 to 60000 is wanted, not 1e3"],
  [["--near-limit-ratio", "2"], "--near-limit-ratio: a number of 0 to 1 is wanted, not 2"],
  [["--failure-mode", "open"], "--failure-mode: one of error, allow, deny is wanted, not open"],
  [["--shadow-mode", "true"], "--shadow-mode: yes or no is wanted, not true"],
  [["--sluice", "http://me:secret@host"], "--sluice: redis://, rediss:// or the path of a socket is wanted"],
  [["--listen", "8081"], "--listen: HOST:PORT is wanted, not 8081"],
  [["--listen", "host:70000"], "--listen: HOST:PORT is wanted, not host:70000"],
  [
    ["--response-headers", "X Y"],
    "--response-headers: the begin of a header's name is wanted, as X-RateLimit, not X Y",
  ],
  [["--tls-cert", "x"], "--tls-cert and --tls-key want each other"],
  [["--tls-client-ca", "x"], "--tls-client-ca wants --tls-cert"],
];

test("an option that makes no sense is told of", () => {
  for (const [words, message] of WRONG_OPTIONS) {
    assert.throws(
      () => readOptions(["--config", "x", ...words], {}),
      { name: "OptionError", message },
      words.join(" "),
    );
  }
  assert.throws(() => readOptions([], { RATELIMIT_CONFIG: "x", RATELIMIT_TIMEOUT: "x" }), {
    message: "RATELIMIT_TIMEOUT: a whole number of 1 to 60000 is wanted, not x",
  });
  assert.throws(() => readOptions(["--nosuch", "1"], {}), { name: "OptionError" });
});
