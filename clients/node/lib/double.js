// What a server and a space have in common: an address for clients, a clock, faults and a journal.
"use strict";
const { Moves, lines } = require("./history.js");
const { Connection, ReplyError } = require("./wire.js");

/** TIME, TTLs, leases, limits, blocking time-outs and stream ids follow it. Spans and moments are in milliseconds. */
class Clock {
  #execute;

  constructor(execute) {
    this.#execute = (...words) => execute("SLUICE.CLOCK", ...words);
  }

  /** Unix time in ms. */
  now() { return this.#execute("NOW"); }

  /** Time stands still; at the moment `at` (ms or Date), if that is given. */
  async freeze(at) {
    await this.#execute("FREEZE");
    if (at !== undefined) await this.set(at);
  }

  /** Time passes again, from where it stands. */
  async run() { await this.#execute("RUN"); }

  /** Lets time pass: every timer due on the way fires at its own time and in order before this resolves. */
  async advance(ms) { await this.#execute("ADVANCE", Math.round(ms)); }

  /** Goes to the first timer that fires. How many ms that was; null when none is set. */
  async next() {
    const span = await this.#execute("NEXT");
    return span < 0 ? null : span;
  }

  /** Steps the wall clock as NTP would: relative deadlines stay, absolute ones follow. */
  async set(moment) { await this.#execute("SET", Math.round(Number(moment))); }
}

/** A rule. */
class Fault {
  #execute;

  constructor(execute, id) {
    this.#execute = execute;
    this.id = id;
  }

  async #row() {
    const rows = await this.#execute("SLUICE.FAULT", "LIST");
    const row = rows.find(([id]) => id === this.id);
    if (!row) throw new Error(`the rule ${this.id} is not there any more`);
    return row;
  }

  /** How many requests it has hit. */
  async hits() { return (await this.#row())[3]; }

  /** How many requests were looked at that it is about. */
  async seen() { return (await this.#row())[2]; }

  /** The rule as the server has it. */
  async words() { return (await this.#row())[1]; }

  /** What it holds back goes on. False: it was gone already. */
  async delete() { return (await this.#execute("SLUICE.FAULT", "DEL", this.id)) === 1; }
}
if (Symbol.asyncDispose) {
  Fault.prototype[Symbol.asyncDispose] = function dispose() { return this.delete(); };
}

/** What happens to the requests that Faults.on names. Each method adds the rule and resolves to it. */
class Action {
  #add;

  constructor(add) { this.#add = add; }

  error(text) { return this.#add("ERROR", text); }
  state(name) { return this.#add("STATE", name); }
  delay(ms, { real = false } = {}) { return this.#add("DELAY", Math.round(ms), ...(real ? ["REAL"] : [])); }
  hang() { return this.#add("HANG"); }
  drop() { return this.#add("DROP"); }
  close() { return this.#add("CLOSE"); }
  truncate(bytes) { return this.#add("TRUNCATE", bytes); }
  split() { return this.#add("SPLIT"); }
  moved(address) { return this.#add("MOVED", address); }
  ask(address) { return this.#add("ASK", address); }
  failover() { return this.#add("FAILOVER"); }
}

const CONDITIONS = { key: "KEY", client: "CLIENT", name: "NAME", args: "ARGS", nth: "NTH", times: "TIMES" };

function conditionWords(command, when) {
  const words = command === undefined ? [] : ["COMMAND", ...command.split(/\s+/)];
  for (const [option, word] of Object.entries(CONDITIONS)) {
    if (when[option] !== undefined) words.push(word, when[option]);
  }
  if (when.probability !== undefined) words.push("PROB", when.probability.toFixed(12).replace(/0+$/, ""));
  if (when.after) words.push("AFTER");
  const known = [...Object.keys(CONDITIONS), "probability", "after"];
  const unknown = Object.keys(when).filter((word) => !known.includes(word));
  if (unknown.length) throw new TypeError(`a fault knows no condition '${unknown[0]}'`);
  return words;
}

/** Which requests of other connections go wrong, and how:  faults.on("EXEC", { after: true, times: 1 }).close() */
class Faults {
  #execute;

  constructor(execute) { this.#execute = execute; }

  /** Which requests; all that is given has to hold. Without anything: each one. */
  on(command, when = {}) {
    if (typeof command === "object") [command, when] = [undefined, command];
    const words = conditionWords(command, when);
    return new Action((...action) => this.add(...words, ...action));
  }

  /** A rule in the server's own words, those of SLUICE.FAULT ADD. */
  async add(...words) {
    return new Fault(this.#execute, await this.#execute("SLUICE.FAULT", "ADD", ...words));
  }

  async list() {
    return (await this.#execute("SLUICE.FAULT", "LIST")).map(([id]) => new Fault(this.#execute, id));
  }

  /** Deletes all rules; how many there were. */
  clear() { return this.#execute("SLUICE.FAULT", "CLEAR"); }
}

/** Of an AssertionError: the journal whose requests its message lists. */
const SENT_TO = Symbol("sluice.sentTo");

/** What clients really sent, and what they got. */
class Journal {
  #execute;

  constructor(execute) { this.#execute = (...words) => execute("SLUICE.JOURNAL", ...words); }

  async start({ maxlen } = {}) { await this.#execute("START", ...(maxlen === undefined ? [] : ["MAXLEN", maxlen])); }
  async stop() { await this.#execute("STOP"); }
  async clear() { await this.#execute("CLEAR"); }

  /** What was recorded, the oldest first. */
  async requests(match, { client, count } = {}) {
    const words = [["COUNT", count], ["MATCH", match], ["CLIENT", client]]
      .filter(([, value]) => value !== undefined).flat();
    const rows = await this.#execute("GET", ...words);
    return rows.map(([number, atMs, from, name, sent, answer, fault]) =>
      ({ number, atMs, client: from, name, words: sent, answer, fault }));
  }

  /** There is a request of its own for each pattern; rejects with what was sent instead. */
  expect(...patterns) { return this.#expect([], patterns); }

  /** The same, in this order. */
  expectOrdered(...patterns) { return this.#expect(["ORDERED"], patterns); }

  async #expect(how, patterns) {
    try {
      await this.#execute("EXPECT", ...how, patterns.length, ...patterns);
    } catch (error) {
      if (!(error instanceof ReplyError) || !error.message.startsWith("ERR expected ")) throw error;
      const { AssertionError } = require("node:assert");
      throw Object.assign(new AssertionError({ message: error.message.slice("ERR ".length) }), { [SENT_TO]: this });
    }
  }

  /** A transcript that Sluice's own tests can play. */
  export() { return this.#execute("EXPORT"); }
}

/** A private server: `url` for clients that take one; `host`, `port`, `username` and `password` for others. */
class Double {
  #connection;
  #moves;

  constructor(host, port, space) {
    this.#connection = new Connection(host, port, space);
    this.#moves = new Moves((...words) => this.#connection.execute(...words));
    this.host = host;
    this.port = port;
    this.username = space === null ? undefined : `space:${space}`;
    this.password = space === null ? undefined : "any";
    const execute = (...words) => this.execute(...words);
    this.clock = new Clock(execute);
    this.faults = new Faults(execute);
    this.journal = new Journal(execute);
  }

  get url() {
    const user = this.username === undefined ? "" : `${encodeURIComponent(this.username)}:${this.password}@`;
    return `redis://${user}${this.host}:${this.port}`;
  }

  /** Any command over this object's own connection, which no fault hits once it has set one. */
  execute(...words) { return this.#moves.execute(...words); }

  /** The last `count` requests, a line each, and how this object moved the clock between them. */
  history(count = 30) { return lines(this.journal, this.#moves, count); }

  /** Data, scripts, clock, faults, journal and random choices are as after the start. */
  async reset() {
    await this.execute("SLUICE.RESET");
    this.#moves.clear();
  }

  disconnect() { this.#connection.close(); }
}

module.exports = { Double, SENT_TO };
