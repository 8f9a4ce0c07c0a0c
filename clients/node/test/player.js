// Plays the steps of a shared case (clients/cases.json; clients/README.md says what each step means) on the clients of
// this package, against a test double whose clock stands at 2030-01-01.
"use strict";
const assert = require("node:assert");
const { setTimeout: sleep } = require("node:timers/promises");
const { aborted } = require("node:util");
const { LockLostError, LockNotGrantedError, UnexpectedReplyError } = require("@sluice/client");

const NOW = Date.parse("2030-01-01");
const OURS = /^(LOCK\.|LIMIT\.|FENCED$)/;
// A case's names of what a value of ours has.
const NAMES = {
  retry: "retryMs", reset: "resetMs", reset_at: "resetAtMs", period: "periodMs", never_fits: "neverFits",
};

/** A word that is no text stands as { hex: "ff00" }. */
const bytes = (word) => (word?.hex === undefined ? word : Buffer.from(word.hex, "hex"));
const words = (step) => (typeof step === "string" ? step.split(" ") : step.map(bytes));
const camel = (options = {}) => Object.fromEntries(Object.entries(options).map(([name, value]) =>
  [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), bytes(value)]));

class OwnError extends Error {}

/** Whether an error is what a case says of it. */
function assertRaised(error, { error: kind, code, key, token, text }) {
  const kinds = {
    LockLost: () => error instanceof LockLostError,
    LockNotGranted: () => error instanceof LockNotGrantedError,
    Argument: () => error instanceof RangeError || error instanceof TypeError,
    Server: () => /^(ReplyError|ErrorReply|SimpleError|BlobError)$/.test(`${error.name}`) ||
      /^(ErrorReply|SimpleError|BlobError)$/.test(error.constructor.name),
    Connection: () => !/^(ReplyError|ErrorReply|SimpleError)$/.test(error.constructor.name) && /clos/i.test(error.message),
    Own: () => error instanceof OwnError,
    UnexpectedReply: () => error instanceof UnexpectedReplyError,
  };
  assert.ok(kinds[kind]?.(), `${kind} was expected, not ${error.stack}`);
  if (kind === "Server") assert.strictEqual(error.message.split(" ")[0], code);
  else if (code) assert.strictEqual(error.code, code);
  if (key) assert.strictEqual(error.key, key);
  if (token) assert.strictEqual(error.token, token);
  if (text) assert.strictEqual(error.message, text);
}

/** A value of ours in the words of the cases. */
function plain(value) {
  if (value?.verdicts) return { allowed: value.allowed, remaining: value.verdicts.map(({ remaining }) => remaining) };
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const named = Object.fromEntries(Object.entries(NAMES).filter(([, ours]) => ours in value)
    .map(([name, ours]) => [name, value[ours]]));
  const same = Object.entries(value).filter(([name]) => !Object.values(NAMES).includes(name));
  return { ...Object.fromEntries(same), ...named, ...(named.retry < 0 && { retry: null }) };
}

class Player {
  #sluice;
  #clients;
  #own; // the double's own connection, whose requests are not the caller's
  #seen = 0;
  #things = new Map(); // locks, and calls that are under way

  /** sluice: null for a server that is made up, of which steps ask nothing. */
  static async begin(sluice, clients) {
    const player = new Player();
    player.#sluice = sluice;
    player.#clients = clients;
    if (sluice) {
      player.#own = await sluice.execute("CLIENT", "ID");
      await sluice.clock.freeze(NOW);
    }
    return player;
  }

  async play(steps) {
    for (const step of steps) await this.#step(step).catch((error) => { throw this.#placed(error, step); });
  }

  /** Steps that are requests of HTTP: { url, errors } is the application's, and how often it heard of an error. */
  async playRequests(steps, application) {
    for (const step of steps) {
      const play = step.key ? this.#request(step, application) : this.#step(step);
      await play.catch((error) => { throw this.#placed(error, step); });
    }
  }

  #placed(error, step) {
    if (!(error instanceof assert.AssertionError) || error.placed) return error;
    return Object.assign(error, { placed: true, message: `${JSON.stringify(step)}: ${error.message}` });
  }

  async #step(step) {
    if (step.server) {
      const answer = await this.#sluice.execute(...words(step.server));
      if ("gives" in step) assert.deepStrictEqual(answer, step.gives);
    } else if (step.fail) {
      throw new OwnError(step.fail);
    } else if (step.begin) {
      this.#things.set(step.begin, this.#outcome(step));
    } else if (step.until) {
      await this.#until(step);
    } else if (step.sleep) {
      await this.#newest();
      await sleep(step.sleep);
    } else {
      this.#check(step, await (step.end ? this.#things.get(step.end) : this.#outcome(step)));
    }
    await this.#compareSent(step);
  }

  /** { value } or { error } of a call. */
  async #outcome(step) {
    try {
      const value = await (step.with ? this.#with(step) : this.#call(step));
      if (step.as) this.#things.set(step.as, value);
      return { value };
    } catch (error) {
      return { error };
    }
  }

  #check(step, { value, error }) {
    if (step.raises) {
      assert.ok(error, "it raised nothing");
      return assertRaised(error, step.raises);
    }
    if (error) throw error;
    if (!("gives" in step)) return undefined;
    if (step.gives?.token) {
      assert.ok(value, "the lock was not granted");
      return step.gives.token === "*" || assert.strictEqual(value.token, step.gives.token);
    }
    return assert.deepStrictEqual(plain(value), step.gives);
  }

  #with({ with: key, options, as, do: steps }) {
    return this.#clients.locks.withLock(key, camel(options), async (lock) => {
      this.#things.set(as, lock);
      await this.play(steps);
    });
  }

  #call(step) {
    const { locks, limits } = this.#clients;
    const lock = this.#things.get(step.of);
    const options = camel(step.options);
    const key = bytes(step.key);
    return {
      acquire: () => locks.acquire(key, options),
      try_acquire: () => locks.tryAcquire(key, options),
      release: () => lock.release(),
      renew: () => lock.renew(),
      fenced: () => lock.fenced(...step.words),
      held: async () => lock.held,
      remaining: async () => lock.remainingMs,
      lost: async () => lock.signal.aborted,
      assert_held: async () => lock.assertHeld(),
      take: () => limits.take(key, step.limit, options),
      take_all: () => limits.takeAll(step.requests, options),
      refund: () => limits.refund(key, step.units, options),
      info: () => limits.info(key),
      set_policy: () => limits.setPolicy(step.name, step.limit),
      get_policy: () => limits.getPolicy(step.name),
      delete_policy: () => limits.deletePolicy(step.name),
      policies: () => limits.policies(),
    }[step.call]();
  }

  async #until(step) {
    const { until } = step;
    if (until.lost) {
      const lock = this.#things.get(until.lost);
      await aborted(lock.signal, lock);
      return assertRaised(lock.signal.reason, { error: "LockLost", code: step.code });
    }
    const so = async () => {
      if (until.waiting) return (await this.#sluice.execute("INFO", "clients")).includes(`blocked_clients:${until.waiting}\r`);
      if (until.sent) return (await this.#sluice.journal.requests(until.sent)).length >= until.times;
      if (until.server) return await this.#sluice.execute(...words(until.server)) === until.gives;
      return (await this.#outcome(until)).value === until.gives;
    };
    for (const end = Date.now() + 30_000; !await so();) {
      assert.ok(Date.now() < end, "it is not so, after 30 s");
      await sleep(2);
    }
    return undefined;
  }

  /** What the clients have sent since the last look. */
  async #newest() {
    const all = await this.#sluice.journal.requests();
    const fresh = all.filter(({ number, client, words: [name] }) =>
      number > this.#seen && client !== this.#own && OURS.test(name.toUpperCase()));
    this.#seen = all.at(-1)?.number ?? this.#seen;
    return fresh;
  }

  async #compareSent({ sends, answers }) {
    if (!this.#sluice) return;
    const fresh = await this.#newest();
    if (sends) {
      const pattern = sends.map(words);
      const sent = fresh.map((request) => request.words.map((word, at) => (
        pattern.find((one) => one[at] === "*" && one[0] === request.words[0]) ? "*" : word)));
      assert.deepStrictEqual(sent, pattern);
    }
    if (answers && this.#clients.answers) assert.deepStrictEqual(fresh.map(({ answer }) => answer), answers);
  }

  async #request(step, application) {
    const before = application.errors;
    const headers = { connection: "close", "x-key": step.key, ...(step.cost && { "x-cost": String(step.cost) }) };
    const answer = await fetch(application.url, { headers });
    assert.strictEqual(answer.status, step.status);
    const text = await answer.text();
    if (step.text) assert.ok(text.includes(step.text), text);
    for (const [name, value] of Object.entries(step.headers ?? {})) assert.strictEqual(answer.headers.get(name), value, name);
    if ("error" in step) assert.strictEqual(application.errors > before, step.error);
    await this.#compareSent(step);
  }
}

module.exports = { Player };
