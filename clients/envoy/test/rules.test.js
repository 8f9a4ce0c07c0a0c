// Which rule a descriptor matches: cases, and random ones beside a plain model.
"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { parseFiles } = require("../lib/config.js");

const limit = (max) => `rate_limit: {unit: minute, requests_per_unit: ${max}}`;

const entriesOf = (text) =>
  text.split(" ").map((entry) => ({ key: entry.split("=")[0], value: entry.slice(entry.indexOf("=") + 1) }));

const RULES = `
domain: shop
descriptors:
  - {key: ip, ${limit(1)}}
  - {key: ip, value: 50.0.0.5, ${limit(2)}}
  - {key: ip, value: 50.*, ${limit(3)}}
  - {key: ip, value: 50.0.*, ${limit(4)}}
  - key: kind
    value: letter
    descriptors:
      - {key: to, ${limit(5)}}
      - {key: to, value: a*, ${limit(6)}}
      - {key: all, value: "*", ${limit(7)}}
  - {key: kind, ${limit(8)}}
  - key: both
    ${limit(9)}
    descriptors:
      - {key: more, ${limit(10)}}
  - {key: a_b, ${limit(11)}}
`;

const CASES = [
  ["ip=1.1.1.1", 1, "any value"],
  ["ip=50.0.0.5", 2, "the value itself goes first"],
  ["ip=50.1.1.1", 3, "then a wildcard"],
  ["ip=50.0.0.1", 3, "the first that fits, in the order of the file"],
  ["ip=", 1, "an empty value is a value"],
  ["kind=letter to=bob", 5, "one level down"],
  ["kind=letter to=ann", 6, "a wildcard one level down"],
  ["kind=letter all=anything", 7, "a wildcard that fits all"],
  ["kind=letter", undefined, "a rule that only leads on limits nothing"],
  ["kind=parcel", 8, "another branch"],
  ["kind=parcel to=bob", undefined, "longer than the rules"],
  ["kind=letter from=bob", undefined, "no such key"],
  ["both=x", 9, "a rule may limit"],
  ["both=x more=y", 10, "and lead on"],
  ["both=x more=y most=z", undefined, "longer than the rules"],
  ["a_b=c", 11, "the key alone"],
  ["a=b", undefined, "a key and a value do not make up another key"],
  ["a=b_c", undefined, "in no way"],
  ["nosuch=x", undefined, "no rule"],
];

test("a descriptor matches as the reference service says", () => {
  const rules = parseFiles([["f", RULES]]);
  for (const [text, max, why] of CASES)
    assert.strictEqual(rules.find("shop", entriesOf(text))?.limit.max, max, `${text}: ${why}`);
  assert.strictEqual(rules.find("elsewhere", entriesOf("ip=1.1.1.1")), undefined);
});

test("counters are named by the rule, or by values where that is asked for", () => {
  const rules = parseFiles([
    [
      "f",
      `
domain: shop
descriptors:
  - {key: plain, ${limit(1)}}
  - {key: wild, value: foo*, ${limit(1)}}
  - {key: shown, value_to_metric: true, descriptors: [{key: user, ${limit(1)}}]}
  - {key: hidden, descriptors: [{key: user, detailed_metric: true, ${limit(1)}}]}
  - {key: shared, value: img/*, share_threshold: true, detailed_metric: true, ${limit(1)}}
`,
    ],
  ]);
  const found = (text) => rules.find("shop", entriesOf(text));
  assert.deepStrictEqual(found("plain=a").labels, ["plain"]);
  assert.deepStrictEqual(found("wild=foobar").labels, ["wild_foo*"]);
  assert.deepStrictEqual(found("shown=a user=b").labels, ["shown_a", "user"]);
  assert.deepStrictEqual(found("hidden=a user=b").labels, ["hidden_a", "user_b"]);
  assert.deepStrictEqual(found("shared=img/a.png").labels, ["shared_img/*"]);
  assert.deepStrictEqual(
    found("wild=foobar").entries,
    [{ key: "wild", value: "foobar" }],
    "each value counts by itself",
  );
  assert.deepStrictEqual(
    found("shared=img/a.png").entries,
    [{ key: "shared", value: "img/*" }],
    "all values count as one",
  );
});

/** The same numbers for the same seed. */
function numbers(seed) {
  let state = seed >>> 0;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** The rule that a list of descriptors holds for entries, by trying them one after the other. */
function model(descriptors, [entry, ...rest]) {
  const fits = (want) => descriptors.find(({ key, value }) => key === entry.key && want(value));
  const here =
    fits((value) => value !== "" && value === entry.value) ??
    fits((value) => value.endsWith("*") && entry.value.startsWith(value.slice(0, -1))) ??
    fits((value) => value === "");
  if (here === undefined) return undefined;
  return rest.length === 0 ? here.rate_limit?.requests_per_unit : model(here.descriptors, rest);
}

function descriptorsOf(next, depth) {
  const all = new Map();
  for (let count = 4 + next(5); count > 0; count -= 1) {
    const [key, value] = ["ab"[next(2)], ["", "x", "xy", "x*", "xy*", "*"][next(6)]];
    if (all.has(`${key} ${value}`)) continue;
    all.set(`${key} ${value}`, {
      key,
      value,
      ...(next(3) > 0 && { rate_limit: { unit: "second", requests_per_unit: next(1e6) } }),
      descriptors: depth === 0 ? [] : descriptorsOf(next, depth - 1),
    });
  }
  return [...all.values()];
}

test("random trees match as a plain model says", () => {
  const seed = Number(process.env.SLUICE_SEED ?? Date.now() % 1e9);
  let matched = 0;
  for (let round = 0; round < 200; round += 1) {
    const next = numbers(seed + round);
    const descriptors = descriptorsOf(next, 2);
    const rules = parseFiles([["f", JSON.stringify({ domain: "d", descriptors })]]);
    for (let at = 0; at < 30; at += 1) {
      const entries = Array.from({ length: 1 + next(3) }, () => ({
        key: "ab"[next(2)],
        value: ["", "x", "xy", "xyz", "q"][next(5)],
      }));
      const found = rules.find("d", entries)?.limit.max;
      assert.strictEqual(
        found,
        model(descriptors, entries),
        `SLUICE_SEED=${seed + round}: ${JSON.stringify({ descriptors, entries })}`,
      );
      matched += found === undefined ? 0 : 1;
    }
  }
  assert.ok(matched > 1_000, `${matched} descriptors matched`);
});
