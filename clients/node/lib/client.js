// One way to send a command and read its answer over ioredis (5, 6) and node-redis (5, 6), in RESP2 and RESP3, and
// a connection of its own for a command that waits. The client may be one that asks Sentinels, or one of a cluster: then a
// request that waits goes to the server of its key.
"use strict";

const UNBLOCK_AGAIN_MS = 5;
const REDIRECTIONS_MAX = 5;
const CODE = /^([A-Z][A-Z0-9]+) /;

/** The code of a server's error reply (NOTHELD, STALE ...); undefined for what went wrong on the way. */
function codeOf(error) {
  const kind = error?.name === "ReplyError" || /^(ErrorReply|SimpleError|BlobError)$/.test(error?.constructor?.name);
  return kind ? CODE.exec(`${error.message} `)?.[1] : undefined;
}

/** The server answered a request with something else than its command gives: it is another server, or of a version that this
 *  package does not know. Nothing is known of what it has done. */
class UnexpectedReplyError extends Error {
  constructor(command, reply) {
    super(`${command} was answered ${JSON.stringify(reply)?.slice(0, 100)}: is that Sluice, and of this version?`);
    this.name = "UnexpectedReplyError";
  }
}

function words(values) {
  return values.map((value) => (Buffer.isBuffer(value) ? value : String(value)));
}

// An adapter has send(...words), and connect(place): a connection that ends with its first trouble, for a request that waits
// must not be sent twice. place: { host, port }, where a cluster's server has sent the caller.

class IoredisClient {
  #client;

  constructor(client) { this.#client = client; }

  send(...values) {
    const [name, ...rest] = words(values);
    return this.#client.call(name, ...rest);
  }

  async connect(place = {}) {
    const own = this.#client.duplicate({
      autoResendUnfulfilledCommands: false, commandTimeout: undefined, socketTimeout: undefined,
      enableOfflineQueue: true, lazyConnect: true, maxRetriesPerRequest: null, reconnectOnError: null,
      retryStrategy: () => null, ...place,
    });
    own.on("error", () => {});
    await own.connect();
    return { client: new IoredisClient(own), close: () => own.disconnect() };
  }
}

/** A Cluster of ioredis, which sends what it does not know anywhere, and goes where that server says. */
class IoredisCluster {
  #client;

  constructor(client) { this.#client = client; }

  send(...values) {
    if (isForEach(values)) return this.#sendEach(values);
    return IoredisClient.prototype.send.call(new IoredisClient(this.#client), ...values);
  }

  async #sendEach(values) {
    const [first] = await Promise.all((await this.#masters()).map((node) => new IoredisClient(node).send(...values)));
    return first;
  }

  async connect(place) { return new IoredisClient((await this.#masters())[0]).connect(place); }

  /** It knows them once it can send a command. */
  async #masters() {
    if (this.#client.status !== "ready") await this.#client.call("PING");
    return this.#client.nodes("master");
  }
}

class NodeRedisClient {
  #client;

  constructor(client) { this.#client = client; }

  send(...values) { return this.#client.sendCommand(words(values)); }

  async connect(place = {}) {
    const { socket, commandOptions } = this.#client.options ?? {};
    const own = this.#client.duplicate({
      socket: { ...socket, ...place, reconnectStrategy: false, socketTimeout: undefined },
      ...(commandOptions && { commandOptions: { ...commandOptions, timeout: undefined } }),
    });
    own.on("error", () => {});
    await own.connect();
    return { client: new NodeRedisClient(own), close: () => { if (own.isOpen) own.destroy(); } };
  }
}

/** What createSentinel of node-redis gives. */
class NodeRedisSentinel {
  #client;

  constructor(client) { this.#client = client; }

  send(...values) { return this.#client.sendCommand(false, words(values)); }

  /** Beside its pool, which has one connection unless it is told otherwise. */
  async connect() {
    return new NodeRedisClient(await this.#client._execute(false, async (master) => master)).connect();
  }
}

/** What createCluster of node-redis gives. Version 5 asks a server that is gone for ever; any other one says who has its
 *  slots now. */
class NodeRedisCluster {
  #client;
  #astray = false;

  constructor(client) { this.#client = client; }

  async send(...values) {
    if (isForEach(values)) return this.#sendEach(values);
    try {
      const reply = await this.#client.sendCommand(this.#astray ? undefined : keyOf(values), false, words(values));
      this.#astray = false;
      return reply;
    } catch (error) {
      this.#astray = codeOf(error) === undefined;
      throw error;
    }
  }

  async #sendEach(values) {
    const [first] = await Promise.all(this.#client.masters.map(async (master) =>
      new NodeRedisClient(await this.#client.nodeClient(master)).send(...values)));
    return first;
  }

  async connect(place) {
    return new NodeRedisClient(await this.#client.nodeClient(this.#client.masters[0])).connect(place);
  }
}

/** Each master of a cluster has the policies. */
function isForEach([command, verb]) { return command === "LIMIT.POLICY" && (verb === "SET" || verb === "DEL"); }

function keyOf([command, first, second]) {
  if (command === "LIMIT.POLICY") return undefined;
  return words([command === "LIMIT.ALL" ? second : first])[0];
}

const has = (client, ...methods) => methods.every((name) => typeof client?.[name] === "function");
/** The first that fits. */
const ADAPTERS = [
  [IoredisCluster, (client) => client?.isCluster && has(client, "call", "nodes")],
  [NodeRedisCluster, (client) => has(client, "sendCommand", "nodeClient")],
  [NodeRedisSentinel, (client) => has(client, "sendCommand", "acquire", "_execute")],
  [NodeRedisClient, (client) => has(client, "sendCommand", "duplicate") && "isOpen" in client],
  [IoredisClient, (client) => has(client, "call", "duplicate")],
];

/** The adapter for a client of ioredis or node-redis. */
function adapt(client) {
  if (ADAPTERS.some(([Adapter]) => client instanceof Adapter)) return client;
  const found = ADAPTERS.find(([, fits]) => fits(client));
  if (!found) throw new TypeError("a client of ioredis or node-redis is needed");
  return new found[0](client);
}

/** The values of a reply that RESP2 gives as an array and RESP3 as a map, by their names. */
function named(reply, names) {
  if (reply instanceof Map) return Object.fromEntries(reply);
  if (!Array.isArray(reply)) return { ...reply };
  const pairs = reply.length >= 2 * names.length && String(reply[0]) === names[0];
  return Object.fromEntries(names.map((name, at) => [name, pairs ? reply[2 * at + 1] : reply[at]]));
}

/** The whole numbers of such a reply; those in `texts` are texts. Throws UnexpectedReplyError. */
function wholeOf(command, reply, names, texts = []) {
  const values = reply !== null && typeof reply === "object" ? named(reply, names) : {};
  const sound = ([name, value]) => (texts.includes(name) ? value !== undefined : Number.isInteger(value));
  const found = names.map((name) => [name, texts.includes(name) ? values[name]?.toString() : Number(values[name] ?? NaN)]);
  if (!found.every(sound)) throw new UnexpectedReplyError(command, reply);
  return Object.fromEntries(found);
}

/** A reply that is a whole number; clients may be told to give them as BigInt or text. Throws UnexpectedReplyError. */
function countOf(command, reply) {
  if (/^(bigint|number|string)$/.test(typeof reply) && /^-?\d+$/.test(reply)) return Number(reply);
  throw new UnexpectedReplyError(command, reply);
}

/** Sends a command that may wait over a connection of its own. When `signal` is aborted the wait ends, and what the
 *  server had answered before is handed to `late`: the answer decides, so nothing is granted unseen. */
async function sendWaiting(client, values, signal, late) {
  for (let place, left = REDIRECTIONS_MAX; ; left--) {
    try {
      return await waitAt(client, place, values, signal, late);
    } catch (error) {
      const moved = /^MOVED \d+ (.+):(\d+)$/.exec(codeOf(error) === "MOVED" ? error.message : "");
      if (!moved || left === 0) throw error;
      place = { host: moved[1], port: Number(moved[2]) }; // it waits nowhere then
    }
  }
}

async function waitAt(client, place, values, signal, late) {
  signal?.throwIfAborted();
  const { client: own, close } = await client.connect(place);
  try {
    if (!signal) return await own.send(...values);
    const id = await own.send("CLIENT", "ID");
    signal.throwIfAborted();
    const waiting = { over: false };
    const reply = own.send(...values).finally(() => { waiting.over = true; });
    const unblock = () => endWait(client, place, id, waiting, close);
    signal.addEventListener("abort", unblock, { once: true });
    const settled = await reply.then((value) => ({ value }), (error) => ({ error }));
    signal.removeEventListener("abort", unblock);
    if (signal.aborted) {
      if (settled.value) await late(settled.value);
      throw signal.reason;
    }
    if (settled.error) throw settled.error;
    return settled.value;
  } finally {
    close();
  }
}

/** CLIENT UNBLOCK may come to the server before what it is to end, hence again. */
async function endWait(client, place, id, waiting, close) {
  try {
    const other = await client.connect(place);
    try {
      while (!waiting.over && Number(await other.client.send("CLIENT", "UNBLOCK", id)) === 0) {
        await new Promise((resolve) => { setTimeout(resolve, UNBLOCK_AGAIN_MS); });
      }
    } finally {
      other.close();
    }
  } catch {
    close();
  }
}

module.exports = { UnexpectedReplyError, adapt, codeOf, countOf, sendWaiting, wholeOf };
