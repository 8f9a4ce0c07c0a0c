// Files of the reference service are read; what is wrong in one is told with its place.
"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { loadConfig, parseFiles } = require("../lib/config.js");
const { folder } = require("./world.js");

const read = (text, options) => [...parseFiles([["f.yaml", text]], options).lines()];
const fault = (text) => {
  try {
    read(text);
  } catch (error) {
    assert.strictEqual(error.name, "ConfigError");
    return error.message;
  }
  throw new Error(`no fault in:\n${text}`);
};

test("every word of a file is read", () => {
  assert.deepStrictEqual(
    read(`
# A comment.
domain: shop
descriptors:
  - key: path
    value: /cart
    detailed_metric: true
    value_to_metric: false
    rate_limit: {unit: SECOND, requests_per_unit: 500, name: cart, replaces: [{name: slow}, {name: fast}]}
    descriptors:
      - key: user
        shadow_mode: true
        rate_limit: {unit: week, requests_per_unit: 0}
      - key: user
        value: 007
        rate_limit: {unlimited: true, name: bond}
  - key: file
    value: img/*
    share_threshold: true
    rate_limit: {unit: year, requests_per_unit: 4294967295, algorithm: ROLLING, burst: 10}
  - key: open
  - key: empty
    value:
    rate_limit:
    descriptors:
`),
    [
      "shop.path_/cart: unit=SECOND requests_per_unit=500 shadow_mode=false algorithm=window",
      "shop.path_/cart.user_007: unlimited",
      "shop.path_/cart.user: unit=WEEK requests_per_unit=0 shadow_mode=true algorithm=window",
      "shop.file_img/*: unit=YEAR requests_per_unit=4294967295 shadow_mode=false algorithm=rolling",
    ],
  );
});

test("anchors stand for what they name", () => {
  assert.deepStrictEqual(
    read(`
domain: shop
descriptors:
  - key: a
    rate_limit: &ten {unit: minute, requests_per_unit: 10}
  - key: b
    rate_limit: *ten
`),
    ["a", "b"].map((key) => `shop.${key}: unit=MINUTE requests_per_unit=10 shadow_mode=false algorithm=window`),
  );
});

const FAULTS = [
  ["", "f.yaml: the file is empty"],
  ["- 1", "f.yaml:1: a map is wanted here"],
  ["descriptors: []", "f.yaml:1: a file wants a domain"],
  ["domain: [a]", "f.yaml:1: a text is wanted here"],
  ["domain: a\nkeys: 1", "f.yaml:2: no word of this map: keys; there are domain, descriptors"],
  ["domain: a\n1: 1", "f.yaml:2: no word of this map: 1; there are domain, descriptors"],
  ["domain: a\n__proto__: 1", "f.yaml:2: no word of this map: __proto__; there are domain, descriptors"],
  ["domain: a\ndomain: b", "f.yaml:2: Map keys must be unique"],
  ["domain: a\n---\ndomain: b", "f.yaml:2: a second document begins here; a file holds one"],
  ["domain: !mine a", "f.yaml:1: Unresolved tag: !mine"],
  ["domain: 'a", "f.yaml:1: Missing closing 'quote"],
  ["domain: a\ndescriptors: {key: b}", "f.yaml:2: a list is wanted here"],
  ["domain: a\ndescriptors:\n  - b", "f.yaml:3: a map is wanted here"],
  ["domain: a\ndescriptors:\n  - value: b", "f.yaml:3: a descriptor wants a key"],
  ["domain: a\ndescriptors:\n  - key: b*", "f.yaml:3: a * stands at the end of a value, not of a key"],
  [
    "domain: a\ndescriptors:\n  - {key: b, value: c, share_threshold: true}",
    "f.yaml:3: share_threshold wants a value that ends with a *",
  ],
  ["domain: a\ndescriptors:\n  - {key: b, shadow_mode: 'true'}", "f.yaml:3: true or false is wanted here"],
  [
    "domain: a\ndescriptors:\n  - {key: b, value: c}\n  - {key: b, value: c}",
    "f.yaml:4: the descriptor b_c is there already",
  ],
  ["domain: a\ndescriptors:\n  - key: b\n  - key: b", "f.yaml:4: the descriptor b is there already"],
  ["domain: a\ndescriptors:\n  - key: b\n    rate_limit: *x", "f.yaml:4: there is no anchor &x"],
  [
    "domain: a\ndescriptors:\n  - key: b\n    quota_mode: true",
    "f.yaml:4: quota_mode is not served here: a limit that is to refuse nothing is one with shadow_mode",
  ],
  [
    `domain: a\ndescriptors:\n  - key: ${"x".repeat(1_025)}`,
    "f.yaml:3: a text of 1025 characters: at most 1024 are taken",
  ],
];

const LIMIT_FAULTS = [
  ["{}", "a rate_limit wants unit, or unlimited: true"],
  ["{unit: minute}", "a rate_limit wants requests_per_unit, or unlimited: true"],
  [
    "{unit: fortnight, requests_per_unit: 1}",
    "no unit: fortnight; there are second, minute, hour, day, week, month, year",
  ],
  ["{unit: minute, requests_per_unit: -1}", "a whole number of 0 to 4294967295 is wanted here"],
  ["{unit: minute, requests_per_unit: 1.5}", "a whole number of 0 to 4294967295 is wanted here"],
  ["{unit: minute, requests_per_unit: '1'}", "a whole number of 0 to 4294967295 is wanted here"],
  ["{unit: minute, requests_per_unit: 4294967296}", "a whole number of 0 to 4294967295 is wanted here"],
  ["{unlimited: true, unit: minute}", "a limit that is unlimited has no unit"],
  ["{unlimited: true, requests_per_unit: 1}", "a limit that is unlimited has no requests_per_unit"],
  ["{unit: minute, requests_per_unit: 1, replaces: [{}]}", "what is replaced wants a name"],
  ["{unit: minute, requests_per_unit: 1, name: n, replaces: [{name: n}]}", "a limit cannot replace its own name, n"],
  [
    "{unit: minute, requests_per_unit: 1, algorithm: best}",
    "no algorithm: best; there are window, rolling, sliding, log, gcra, leaky",
  ],
  ["{unit: minute, requests_per_unit: 1, burst: 5}", "the algorithm window has no burst; rolling and gcra have one"],
];

test("what is wrong is told with its place", () => {
  for (const [text, message] of FAULTS) assert.strictEqual(fault(text), message, text);
  for (const [limit, message] of LIMIT_FAULTS) {
    assert.strictEqual(
      fault(`domain: a\ndescriptors:\n  - key: b\n    rate_limit: ${limit}`),
      `f.yaml:4: ${message}`,
      limit,
    );
  }
});

test("depth, and what aliases make of a small file, have bounds", () => {
  const nested = (depth) => `domain: a\ndescriptors: ${"[{key: k, descriptors: ".repeat(depth)}[]${"}]".repeat(depth)}`;
  assert.deepStrictEqual(read(nested(32)), []);
  assert.strictEqual(fault(nested(33)), "f.yaml:2: descriptors are nested deeper than 32");
  const level = (at) =>
    `  - {key: k${at}, descriptors: &l${at} [${"0123456789"
      .split("")
      .map((digit) => `{key: k, value: v${digit}, descriptors: ${at === 0 ? "[]" : `*l${at - 1}`}}`)
      .join(", ")}]}`;
  const bomb = `domain: a\ndescriptors:\n${Array.from({ length: 20 }, (_, at) => level(at)).join("\n")}`;
  assert.match(fault(bomb), /^f.yaml:\d+: more than 100000 descriptors$/);
});

test("wildcards of one key have a bound", () => {
  const wildcards = (count) =>
    JSON.stringify({
      domain: "a",
      descriptors: Array.from({ length: count }, (_, at) => ({ key: "k", value: `${at}*` })),
    });
  assert.deepStrictEqual(read(wildcards(1_000)), []);
  assert.strictEqual(fault(wildcards(1_001)), "f.yaml:1: more than 1000 wildcards");
});

test("a folder stands for its files", (t) => {
  const place = folder(t);
  const limit = "rate_limit: {unit: minute, requests_per_unit: 1}";
  assert.throws(() => loadConfig(place), {
    name: "ConfigError",
    message: `${place}: no file in it ends with .yaml or .yml`,
  });
  fs.writeFileSync(path.join(place, "b.yaml"), `domain: b\ndescriptors: [{key: k, ${limit}}]`);
  fs.writeFileSync(path.join(place, "a.yml"), `domain: a\ndescriptors: [{key: k, ${limit}}]`);
  for (const name of [".hidden.yaml", "notes.txt"]) fs.writeFileSync(path.join(place, name), "not read");
  assert.deepStrictEqual(loadConfig(place).domains, ["a", "b"]);

  const again = path.join(place, "c.yaml");
  fs.writeFileSync(again, `domain: a\ndescriptors: [{key: other, ${limit}}]`);
  assert.throws(() => loadConfig(place), {
    message: `${again}:1: the domain a is there already; merge-domains puts several files together`,
  });
  const merged = loadConfig(place, { mergeDomains: true });
  for (const key of ["k", "other"]) assert.ok(merged.find("a", [{ key, value: "" }]));

  fs.writeFileSync(again, `# ${"x".repeat(4 << 20)}\n`);
  assert.throws(() => loadConfig(place), { message: `${again}: 4194307 bytes, more than 4194304` });
  assert.throws(() => loadConfig(path.join(place, "nosuch")), { name: "ConfigError", message: /ENOENT/ });
});
