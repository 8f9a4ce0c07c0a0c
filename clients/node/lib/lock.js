// A lock that is held: its renewal, and the signal that tells when it may no longer be relied on.
//
// The holder counts its lease by its own clocks, from before the request was sent, so it never thinks that it holds the
// lock for longer than the server does: by the monotonic one, which nobody steps, and by the wall clock, which goes on
// while the machine sleeps; whichever is farther. `signal` is aborted a margin before that moment, unless a renewal
// has come back in time; a renewal that fails on the way is tried again while there is time, one that the server
// refuses ends it at once. What no clock can promise (a process that stands still) is what the token is for.
"use strict";
const { codeOf, countOf } = require("./client.js");

const MARGIN_MAX_MS = 1000;
const REASONS = { EXPIRED: "no renewal came back in time, and its lease is over", RELEASED: "it was released" };
const TIMER_MAX_MS = 2 ** 31 - 1; // a longer one fires at once

/** The lock is not held: `code` is EXPIRED (no renewal came back in time), RELEASED (by its holder) or the server's. */
class LockLostError extends Error {
  constructor(key, token, code, options) {
    super(`the lock '${key}' is not held: ${REASONS[code] ?? `the server answered ${code}`}`, options);
    this.name = "LockLostError";
    this.key = key;
    this.token = token;
    this.code = code;
  }
}

/** A moment on both clocks. */
class Moment {
  constructor(monotonic, wall) {
    this.monotonic = monotonic;
    this.wall = wall;
  }

  static now() { return new Moment(performance.now(), Date.now()); }

  plus(ms) { return new Moment(this.monotonic + ms, this.wall + ms); }

  /** The earlier one, on each clock. */
  earlier(other) { return new Moment(Math.min(this.monotonic, other.monotonic), Math.min(this.wall, other.wall)); }

  /** How long it is until then; 0 when one clock has passed it. */
  get leftMs() { return Math.max(0, Math.min(this.monotonic - performance.now(), this.wall - Date.now())); }
}

function later(callback, ms) {
  const timer = setTimeout(callback, Math.min(Math.max(0, ms), TIMER_MAX_MS));
  timer.unref?.();
  return timer;
}

class Lock {
  #client;
  #abort = new AbortController();
  #options;
  #deadline; // the lock is not relied on behind it
  #expiry;
  #renewal;
  #renewing; // the request that is on its way
  #releasing;

  /** begun: a moment at which the lease had not begun yet, or just did. */
  constructor(client, { key, owner, token, begun, ...options }) {
    this.#client = client;
    this.key = key;
    this.owner = owner;
    this.token = token;
    this.#options = options; // leaseMs, renewEveryMs, marginMs, alone
    this.#extend(begun, options.leaseMs);
  }

  /** Aborted, with a LockLostError as its reason, when the lock is lost; never by release(). */
  get signal() { return this.#abort.signal; }

  /** Whether it may be relied on at this moment. */
  get held() { return this.remainingMs > 0; }

  /** How long it may still be relied on without a renewal; 0 when it is not held. */
  get remainingMs() { return this.signal.aborted || this.#releasing ? 0 : this.#deadline.leftMs; }

  /** Throws unless it is held: before each step that must not be done without the lock. */
  assertHeld() {
    if (this.signal.aborted) throw this.signal.reason;
    if (!this.held) throw new LockLostError(this.key, this.token, this.#releasing ? "RELEASED" : "EXPIRED");
  }

  /** Runs a command on this server only while the token is not stale:  await lock.fenced("SET", "result", "done")
   *  Rejects with LockLostError if it is, whichever client's error that was: nothing was run, and the lock is lost. */
  async fenced(...words) {
    try {
      return await this.#client.send("FENCED", this.key, this.token, ...words);
    } catch (error) {
      if (codeOf(error) !== "STALE") throw error;
      this.#lose("STALE", error);
      throw new LockLostError(this.key, this.token, "STALE", { cause: error });
    }
  }

  /** Gives it back; false if it was lost before. Further calls resolve to the same. */
  release() {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  /** Renews now, in addition to the timer. Rejects with LockLostError if it is lost. */
  async renew() {
    this.assertHeld();
    await this.#renew().catch((error) => { if (!this.signal.aborted) throw error; });
    if (this.signal.aborted) throw this.signal.reason;
  }

  #extend(begun, leaseMs) {
    this.#stop();
    this.#deadline = begun.plus(leaseMs - this.#options.marginMs);
    if (this.#deadline.leftMs === 0) return this.#lose("EXPIRED");
    this.#watch();
    const { renewEveryMs } = this.#options;
    if (renewEveryMs) this.#renewal = later(() => this.#tick(), begun.plus(renewEveryMs).leftMs);
  }

  #watch() {
    this.#expiry = later(() => (this.#deadline.leftMs > 0 ? this.#watch() : this.#lose("EXPIRED")), this.#deadline.leftMs);
  }

  /** A renewal that cannot be sent is tried again soon; the timer of the expiry runs meanwhile. */
  async #tick() {
    if (this.remainingMs === 0) this.#lose("EXPIRED");
    if (!this.held) return;
    if (await this.#renew().then(() => true, () => false)) return;
    if (this.held) this.#renewal = later(() => this.#tick(), this.#options.renewEveryMs / 4);
    else this.#lose("EXPIRED");
  }

  #renew() {
    this.#renewing ??= this.#sendRenewal().finally(() => { this.#renewing = undefined; });
    return this.#renewing;
  }

  async #sendRenewal() {
    const sent = Moment.now();
    try {
      const leaseMs = countOf("LOCK.RENEW", await this.#client.send("LOCK.RENEW", this.key, this.owner, "LEASE",
        this.#options.leaseMs, "TOKEN", this.token, ...this.#options.shape));
      // What comes back behind the deadline is too late: the work may have found out.
      if (this.held) this.#extend(sent, Math.min(leaseMs, this.#options.leaseMs));
      else this.#lose("EXPIRED");
    } catch (error) {
      const code = codeOf(error);
      if (code === "NOTHELD" || code === "STALE" || code === "WRONGTYPE") this.#lose(code, error);
      throw error;
    }
  }

  #stop() {
    clearTimeout(this.#expiry);
    clearTimeout(this.#renewal);
  }

  #lose(code, cause) {
    this.#stop();
    if (this.signal.aborted || this.#releasing) return;
    this.#abort.abort(new LockLostError(this.key, this.token, code, cause && { cause }));
  }

  async #release() {
    const lost = this.signal.aborted || this.#deadline.leftMs === 0;
    this.#stop();
    try {
      countOf("LOCK.RELEASE", await this.#client.send("LOCK.RELEASE", this.key, this.owner,
        ...(this.#options.alone ? ["ALL"] : []), "TOKEN", this.token));
      return !lost;
    } catch (error) {
      const code = codeOf(error);
      if (code === "NOTHELD" || code === "STALE" || code === "WRONGTYPE") return false;
      if (code === "LOCKGRACE") return !lost; // a server that has lost its log's end lets the lease end it
      throw error;
    }
  }
}
if (Symbol.asyncDispose) Lock.prototype[Symbol.asyncDispose] = function dispose() { return this.release(); };

const defaultMargin = (leaseMs) => Math.min(MARGIN_MAX_MS, leaseMs / 10);

module.exports = { Lock, LockLostError, Moment, defaultMargin };
