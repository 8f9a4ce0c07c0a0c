// One way to send a command and read its answer over ioredis (5, 6) and node-redis (5, 6), in RESP2 and RESP3, and
// a connection of its own for a command that waits.
"use strict";

const UNBLOCK_AGAIN_MS = 5;
const CODE = /^([A-Z][A-Z0-9]+) /;

/** The code of a server's error reply (NOTHELD, STALE ...); undefined for what went wrong on the way. */
function codeOf(error) {
  const kind = error?.name === "ReplyError" || /^(ErrorReply|SimpleError|BlobError)$/.test(error?.constructor?.name);
  return kind ? CODE.exec(`${error.message} `)?.[1] : undefined;
}

function words(values) {
  return values.map((value) => (Buffer.isBuffer(value) ? value : String(value)));
}

class IoredisClient {
  #client;

  constructor(client) { this.#client = client; }

  send(...values) {
    const [name, ...rest] = words(values);
    return this.#client.call(name, ...rest);
  }

  /** A connection that ends with its first trouble: a request that waits must not be sent twice. */
  async connect() {
    const own = this.#client.duplicate({
      autoResendUnfulfilledCommands: false, commandTimeout: undefined, socketTimeout: undefined,
      enableOfflineQueue: true, lazyConnect: true, maxRetriesPerRequest: null, reconnectOnError: null, retryStrategy: () => null,
    });
    own.on("error", () => {});
    await own.connect();
    return { client: new IoredisClient(own), close: () => own.disconnect() };
  }
}

class NodeRedisClient {
  #client;

  constructor(client) { this.#client = client; }

  send(...values) { return this.#client.sendCommand(words(values)); }

  async connect() {
    const { socket, commandOptions } = this.#client.options ?? {};
    const own = this.#client.duplicate({
      socket: { ...socket, reconnectStrategy: false, socketTimeout: undefined },
      ...(commandOptions && { commandOptions: { ...commandOptions, timeout: undefined } }),
    });
    own.on("error", () => {});
    await own.connect();
    return { client: new NodeRedisClient(own), close: () => own.destroy() };
  }
}

/** The adapter for a client of ioredis or node-redis. */
function adapt(client) {
  if (client instanceof IoredisClient || client instanceof NodeRedisClient) return client;
  if (typeof client?.sendCommand === "function" && typeof client.duplicate === "function" && "isOpen" in client) {
    return new NodeRedisClient(client);
  }
  if (typeof client?.call === "function" && typeof client.duplicate === "function") return new IoredisClient(client);
  throw new TypeError("a client of ioredis or node-redis is needed");
}

/** The values of a reply that RESP2 gives as an array and RESP3 as a map, by their names. */
function named(reply, names) {
  if (reply instanceof Map) return Object.fromEntries(reply);
  if (!Array.isArray(reply)) return { ...reply };
  const pairs = reply.length >= 2 * names.length && String(reply[0]) === names[0];
  return Object.fromEntries(names.map((name, at) => [name, pairs ? reply[2 * at + 1] : reply[at]]));
}

/** Sends a command that may wait over a connection of its own. When `signal` is aborted the wait ends, and what the
 *  server had answered before is handed to `late`: the answer decides, so nothing is granted unseen. */
async function sendWaiting(client, values, signal, late) {
  signal?.throwIfAborted();
  const { client: own, close } = await client.connect();
  try {
    if (!signal) return await own.send(...values);
    const id = await own.send("CLIENT", "ID");
    signal.throwIfAborted();
    const waiting = { over: false };
    const reply = own.send(...values).finally(() => { waiting.over = true; });
    const unblock = () => endWait(client, id, waiting, close);
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
async function endWait(client, id, waiting, close) {
  try {
    while (!waiting.over && Number(await client.send("CLIENT", "UNBLOCK", id)) === 0) {
      await new Promise((resolve) => { setTimeout(resolve, UNBLOCK_AGAIN_MS); });
    }
  } catch {
    close();
  }
}

module.exports = { adapt, codeOf, named, sendWaiting };
