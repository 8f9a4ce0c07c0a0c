// The types of @sluice/client. Spans and moments are in milliseconds.

/** A client of ioredis (5, 6) or node-redis (5, 6): of one server, of a cluster, or one that asks Sentinels. */
export type RedisClient =
  | { call(command: string, ...args: any[]): Promise<any>; duplicate(...args: any[]): any }
  | { sendCommand(args: any, ...rest: any[]): Promise<any>; duplicate(...args: any[]): any; readonly isOpen: boolean }
  | { sendCommand(...args: any[]): Promise<any>; acquire(): Promise<any>; readonly isOpen: boolean };

// ---- locks

export interface LockOptions {
  /** How long the lock is held without a renewal (30,000). */
  lease?: number;
  /** How long to wait for it, in the server's queue (0: not at all). */
  wait?: number;
  /** Ends the wait. */
  signal?: AbortSignal;
  /** Who asks. Without it each acquire is an owner of its own; with it asking again is re-entrant. */
  owner?: string | Buffer;
  /** false: no timer renews it. */
  renew?: boolean;
  /** How often it is renewed (a third of the lease). */
  renewEvery?: number;
  /** How long before its end the lock is taken for lost (a tenth of the lease, a second at most). */
  margin?: number;
  /** Many readers, or one that is not shared. */
  shared?: boolean;
  /** At most so many holders; or so many of the permits at once. */
  permits?: number | { take?: number; of: number };
  /** The lock stays taken for at least this long, even if it is released sooner. */
  minHold?: number;
  /** What LOCK.INFO shows beside the owner. */
  label?: string;
  /** Of those who wait, the higher goes first: -100 to 100 (0). */
  priority?: number;
  /** Asked again with the same id, as its answer was lost, the request gets its grant again, and no second hold. It
   *  wants an owner. */
  id?: string;
}

export declare class Lock {
  readonly key: string | Buffer;
  readonly owner: string | Buffer;
  /** The fencing token: it only grows. Send it along to what the lock protects. */
  readonly token: number;
  /** Aborted, with a LockLostError as its reason, when the lock is lost: before its lease ends by this process's
   *  clocks, unless a renewal has come back. */
  readonly signal: AbortSignal;
  /** Whether it may be relied on at this moment. */
  readonly held: boolean;
  /** How long it may be relied on without a renewal; 0 when it is not held. */
  readonly remainingMs: number;
  /** Throws LockLostError unless it is held. */
  assertHeld(): void;
  /** Runs a command on this server only while the token is not stale; otherwise rejects with LockLostError (STALE). */
  fenced(command: string, ...args: (string | number | Buffer)[]): Promise<any>;
  /** Renews now, in addition to the timer. */
  renew(): Promise<void>;
  /** Gives it back; false if it was lost before. */
  release(): Promise<boolean>;
}

export declare class LockClient {
  constructor(redis: RedisClient, defaults?: LockOptions);
  /** Rejects with LockNotGrantedError when others hold it and the wait is over. */
  acquire(key: string | Buffer, options?: LockOptions): Promise<Lock>;
  /** null when others hold it and the wait is over. */
  tryAcquire(key: string | Buffer, options?: LockOptions): Promise<Lock | null>;
  /** Holds the lock while `work` runs. Rejects with LockLostError when it was lost before the work was done, and when a
   *  fenced command found it lost. */
  withLock<T>(key: string | Buffer, work: (lock: Lock) => T | Promise<T>): Promise<T>;
  withLock<T>(key: string | Buffer, options: LockOptions, work: (lock: Lock) => T | Promise<T>): Promise<T>;
}

export declare class LockLostError extends Error {
  readonly key: string | Buffer;
  readonly token: number;
  /** EXPIRED: no renewal came back in time; RELEASED: by its holder; else the code of the server's answer. */
  readonly code: string;
}
export declare class LockNotGrantedError extends Error { readonly key: string | Buffer; }
/** The server answered with something else than the command gives: it is another server, or of another version. */
export declare class UnexpectedReplyError extends Error {}

// ---- limits

export type Algorithm = "window" | "rolling" | "sliding" | "log" | "gcra" | "leaky" | Uppercase<
  "window" | "rolling" | "sliding" | "log" | "gcra" | "leaky">;
export interface NumericLimit { algorithm: Algorithm; max: number; period: number; burst?: number; }
/** Windows of a time zone's calendar. starts: the hour of a day, the day of a week (1: Monday) or of a month. */
export interface CalendarLimit {
  algorithm: "calendar" | "CALENDAR"; max: number; unit: CalendarUnit | Uppercase<CalendarUnit>; zone?: string;
  starts?: number; period?: undefined;
}
export type CalendarUnit = "minute" | "hour" | "day" | "week" | "month";
export type Limit = ((NumericLimit | CalendarLimit) & { policy?: undefined }) | { policy: string };

export interface Verdict {
  allowed: boolean;
  /** The most that an unused limit grants at once. */
  limit: number;
  /** What could be taken now. */
  remaining: number;
  /** Until this cost would fit: 0 if allowed, -1 if it never can. */
  retryMs: number;
  /** Until the limit is whole again. */
  resetMs: number;
  /** The same as a Unix time. */
  resetAtMs: number;
  /** The cost is above the limit: no waiting helps. */
  neverFits: boolean;
}

export interface TakeOptions {
  /** Default 1; 0 asks without taking. */
  cost?: number;
  /** Answers the same and stores nothing. */
  peek?: boolean;
  /** Parks the caller for so long at most, in order, until the cost fits; over a connection of its own. */
  wait?: number;
  /** Ends the wait. */
  signal?: AbortSignal;
  /** Refuses everything for so long after a refusal. */
  ban?: number;
  /** Tries a limit out: counted apart. */
  shadow?: boolean;
  /** Asked again with the same id, as its answer was lost, a request counts once. Any text that no other request has. */
  id?: string;
  /** For how long its answer is remembered: the period, an hour at most. */
  idFor?: number;
}

export interface LimitInfo {
  algorithm: string; limit: number; periodMs: number; burst: number; used: number; remaining: number; resetAtMs: number;
}

export declare class LimitClient {
  constructor(redis: RedisClient, options?: { prefix?: string });
  take(key: string | Buffer, limit: Limit, options?: TakeOptions): Promise<Verdict>;
  /** Takes from all of them or from none. */
  takeAll(requests: { key: string | Buffer; limit: Limit; cost?: number }[], options?: Pick<TakeOptions, "id" | "idFor">):
    Promise<{ allowed: boolean; verdicts: Verdict[] }>;
  /** Gives back what was not used. What remains; null when the limit is whole. */
  refund(key: string | Buffer, units?: number, options?: Pick<TakeOptions, "id" | "idFor">): Promise<number | null>;
  info(key: string | Buffer): Promise<LimitInfo | null>;
  setPolicy(name: string, limit: NumericLimit): Promise<void>;
  getPolicy(name: string): Promise<{ algorithm: string; max: number; period: number; burst: number }
    | { algorithm: "CALENDAR"; max: number; unit: Uppercase<CalendarUnit>; zone: string; starts: number } | null>;
  deletePolicy(name: string): Promise<boolean>;
  policies(): Promise<string[]>;
}

// ---- the test double

export type Word = string | number | Buffer;

export interface Clock {
  now(): Promise<number>;
  /** Time stands still, at the moment `at` if that is given. */
  freeze(at?: number | Date): Promise<void>;
  run(): Promise<void>;
  /** Lets time pass; every timer due on the way fires at its own time, in order, before this resolves. */
  advance(ms: number): Promise<void>;
  /** Goes to the first timer that fires: how many ms that was, null if none is set. */
  next(): Promise<number | null>;
  /** Steps the wall clock as NTP would. */
  set(moment: number | Date): Promise<void>;
}

export interface FaultCondition {
  /** A glob that one of its keys matches. */
  key?: string;
  /** The id of a connection. */
  client?: number;
  /** A glob for a connection's name. */
  name?: string;
  /** How many words it has, the command's own included. */
  args?: number;
  /** The n-th for which all that holds. */
  nth?: number;
  /** How many are hit. */
  times?: number;
  /** By chance; the server's seed makes it repeatable. */
  probability?: number;
  /** It is executed, and its answer suffers; otherwise it is not executed. */
  after?: boolean;
}

export interface Fault {
  readonly id: number;
  hits(): Promise<number>;
  seen(): Promise<number>;
  words(): Promise<string[]>;
  /** What it holds back goes on. false: it was gone already. */
  delete(): Promise<boolean>;
}

export type ServerState = "LOADING" | "READONLY" | "OOM" | "MISCONF" | "BUSY" | "NOREPLICAS" | "MASTERDOWN";

export interface FaultAction {
  error(text: string): Promise<Fault>;
  state(name: ServerState): Promise<Fault>;
  /** By the space's clock, or by real time. */
  delay(ms: number, options?: { real?: boolean }): Promise<Fault>;
  hang(): Promise<Fault>;
  drop(): Promise<Fault>;
  close(): Promise<Fault>;
  truncate(bytes: number): Promise<Fault>;
  split(): Promise<Fault>;
  moved(address: string): Promise<Fault>;
  ask(address: string): Promise<Fault>;
  failover(): Promise<Fault>;
}

export interface Faults {
  /** faults.on("EXEC", { after: true, times: 1 }).close() */
  on(command?: string, when?: FaultCondition): FaultAction;
  on(when: FaultCondition): FaultAction;
  /** A rule in the server's own words, those of SLUICE.FAULT ADD. */
  add(...words: Word[]): Promise<Fault>;
  list(): Promise<Fault[]>;
  clear(): Promise<number>;
}

export interface JournalEntry {
  number: number; atMs: number; client: number; name: string; words: string[]; answer: string | null;
  fault: number | null;
}

export interface Journal {
  start(options?: { maxlen?: number }): Promise<void>;
  stop(): Promise<void>;
  clear(): Promise<void>;
  requests(match?: string, options?: { client?: number; count?: number }): Promise<JournalEntry[]>;
  /** There is a request of its own for each glob; rejects with an AssertionError that says what was sent. */
  expect(...patterns: string[]): Promise<void>;
  /** The same, in this order. */
  expectOrdered(...patterns: string[]): Promise<void>;
  export(): Promise<string>;
}

/** A private server. */
export interface Double {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly journal: Journal;
  /** Any command, over a connection that no fault hits once it has set one. */
  execute(...words: Word[]): Promise<any>;
  /** The last `count` (30) requests, a line each, and how this object moved the clock between them. */
  history(count?: number): Promise<string[]>;
  /** As after the start. */
  reset(): Promise<void>;
  disconnect(): void;
}

export declare class Space {
  private constructor();
  readonly name: string;
  readonly server: Server;
  copyFrom(source: Space | string): Promise<Space>;
  /** A port of its own. */
  listen(): Promise<number>;
  /** It is gone, and its clients are closed. */
  delete(): Promise<void>;
}
export interface Space extends Double {}

export interface ServerOptions {
  /** The program; without it SLUICE_BIN, then `sluice` in PATH. */
  bin?: string;
  /** As on the command line: { maxmemory: "10mb" }. */
  options?: Record<string, string | number>;
  /** Makes what is random the same in each run. */
  seed?: number;
}

export declare class Server {
  private constructor();
  static start(options?: ServerOptions): Promise<Server>;
  readonly pid: number;
  readonly alive: boolean;
  log(): string;
  /** The private server of this name, made on first use; without a name a new one. */
  space(name?: string): Space;
  spaces(): Promise<{ name: string; keys: number; clients: number; port: number }[]>;
  stop(): Promise<void>;
}
export interface Server extends Double {}

/** What useSluice gives: the parts of the current test's space. */
export interface CurrentSpace extends Omit<Double, "history" | "reset" | "disconnect"> {
  readonly server: Server;
  readonly space: Space;
  /** A further space, gone when the test `t` of node:test is over. */
  spaceFor(t: { after(callback: () => unknown): void }): Promise<Space>;
}

export declare class ServerError extends Error {}
export declare class BinaryNotFoundError extends Error {}
export declare class ConnectionLostError extends Error {}
export declare class ReplyError extends Error { readonly code: string; }
