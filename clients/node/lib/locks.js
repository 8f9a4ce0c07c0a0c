// Locks over LOCK.*: for clients of ioredis and node-redis.
//   const locks = new LockClient(redis);
//   await locks.withLock("report:7", { lease: 30_000, wait: 5_000 }, async (lock) => { ... lock.signal, lock.token });
"use strict";
const { randomUUID } = require("node:crypto");
const os = require("node:os");
const { UnexpectedReplyError, adapt, codeOf, sendWaiting, wholeOf } = require("./client.js");
const { Lock, LockLostError, Moment, defaultMargin } = require("./lock.js");

const LEASE_MS = 30_000;
const GRANT = ["token", "lease_ms", "holds", "waited_ms"];

/** Others hold the lock, and the wait is over. */
class LockNotGrantedError extends Error {
  constructor(key) {
    super(`the lock '${key}' was not granted: others hold it`);
    this.name = "LockNotGrantedError";
    this.key = key;
  }
}

function positive(name, value) {
  if (!Number.isFinite(value) || value < 1) throw new RangeError(`${name} must be at least 1 ms, not ${value}`);
  return Math.floor(value);
}

/** How it is held, in the server's words: said by a renewal, too, for a server that has lost its log's end. */
function shapeWords({ shared, permits }) {
  if (shared && permits) throw new TypeError("a lock is shared or has permits, not both");
  const words = shared ? ["SHARED"] : [];
  if (permits) {
    const { take = 1, of } = typeof permits === "number" ? { of: permits } : permits;
    words.push("PERMITS", take, "OF", of);
  }
  return words;
}

function keepWords({ minHold, label, priority, id, owner }) {
  if (id !== undefined && owner === undefined) throw new TypeError("an id wants an owner who asks again");
  const words = [];
  if (minHold !== undefined) words.push("MINHOLD", positive("minHold", minHold));
  if (label !== undefined) words.push("LABEL", label);
  if (priority !== undefined) words.push("PRIORITY", priority);
  if (id !== undefined) words.push("ID", id);
  return words;
}

/** The server's clock may be a double's, far ahead: the grant was no later than its answer. */
function grantOf(reply, sent) {
  const { token, waited_ms: waited } = wholeOf("LOCK.ACQUIRE", reply, GRANT);
  return { token, begun: sent.plus(waited).earlier(Moment.now()) };
}

class LockClient {
  #client;
  #defaults;
  #owners = 0;
  #process = `${os.hostname()}:${process.pid}:${randomUUID()}`;

  /** redis: a connected client of ioredis or node-redis. defaults: of the options of acquire. */
  constructor(redis, defaults = {}) {
    this.#client = adapt(redis);
    this.#defaults = defaults;
  }

  /** The lock. Rejects with LockNotGrantedError when others hold it and the wait is over. */
  async acquire(key, options) {
    const lock = await this.tryAcquire(key, options);
    if (!lock) throw new LockNotGrantedError(key);
    return lock;
  }

  /** The lock, or null when others hold it and the wait is over. */
  async tryAcquire(key, options = {}) {
    const chosen = { ...this.#defaults, ...options };
    const leaseMs = positive("lease", chosen.lease ?? LEASE_MS);
    const marginMs = chosen.margin ?? defaultMargin(leaseMs);
    const renewEveryMs = chosen.renew === false ? 0 : positive("renewEvery", chosen.renewEvery ?? leaseMs / 3);
    if (!(marginMs >= 0 && renewEveryMs + marginMs < leaseMs)) {
      throw new RangeError("renewEvery and margin must leave some of the lease");
    }
    if (chosen.wait) positive("wait", chosen.wait);
    const owner = chosen.owner ?? `${this.#process}:${++this.#owners}`;
    const alone = chosen.owner === undefined; // nobody else asks under this name
    const shape = shapeWords(chosen);
    const words = ["LOCK.ACQUIRE", key, owner, "LEASE", leaseMs, ...shape, ...keepWords(chosen)];
    const grant = await this.#ask(words, chosen, { key, owner, alone });
    return grant && new Lock(this.#client, { key, owner, alone, shape, leaseMs, renewEveryMs, marginMs, ...grant });
  }

  /** Runs `work(lock)` while the lock is held, and gives it back. Rejects with LockLostError when the lock was lost
   *  before the work was done: then what it did may have met another's. */
  async withLock(key, options, work) {
    if (typeof options === "function") [options, work] = [{}, options];
    const lock = await this.acquire(key, options);
    let result;
    try {
      lock.assertHeld();
      result = await work(lock);
    } catch (error) {
      await lock.release().catch(() => {}); // its lease ends it; the work's own error is the one to show
      throw error;
    }
    // An answer that is lost on its way takes nothing back: the work was done in time, and the lease ends the lock.
    const { held } = lock;
    const released = await lock.release().catch((error) => {
      if (!held || codeOf(error) || error instanceof UnexpectedReplyError) throw error;
      return true;
    });
    if (!released) throw lock.signal.reason ?? new LockLostError(key, lock.token, "NOTHELD");
    return result;
  }

  /** The grant, or null. A first request does not wait, and goes over the shared connection. */
  async #ask(words, { wait = 0, signal }, { key, owner, alone }) {
    signal?.throwIfAborted();
    const giveBack = () => this.#client.send("LOCK.RELEASE", key, owner, ...(alone ? ["ALL"] : [])).catch(() => {});
    const attempt = async (send) => {
      const sent = Moment.now();
      try {
        const reply = await send();
        return reply && grantOf(reply, sent);
      } catch (error) {
        if (alone && !codeOf(error) && error !== signal?.reason) giveBack(); // it may have been granted
        throw error;
      }
    };
    const first = await attempt(() => this.#client.send(...words)).catch((error) => {
      if (codeOf(error) === "LOCKGRACE" && wait) return null; // a request that waits waits for that, too
      throw error;
    });
    if (first && signal?.aborted) {
      await giveBack();
      throw signal.reason;
    }
    if (first || !wait) return first;
    return attempt(() => sendWaiting(this.#client, [...words, "WAIT", Math.floor(wait)], signal, giveBack));
  }
}

module.exports = { Lock, LockClient, LockLostError, LockNotGrantedError };
