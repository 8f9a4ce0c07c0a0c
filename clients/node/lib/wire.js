// The protocol (RESP2) as far as a test's own commands need it, so that the test double depends on no client. The code
// under test uses a real one.
"use strict";
const net = require("node:net");

/** The server answered with an error; `code` is its first word. */
class ReplyError extends Error {
  constructor(message) {
    super(message);
    this.name = "ReplyError";
    this.code = message.split(" ", 1)[0];
  }
}

/** The server has closed the connection, or cannot be reached. */
class ConnectionLostError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "ConnectionLostError";
  }
}

class Incomplete extends Error {}

function encode(words) {
  const parts = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const data = Buffer.isBuffer(word) ? word : Buffer.from(String(word));
    parts.push(Buffer.from(`$${data.length}\r\n`), data, Buffer.from("\r\n"));
  }
  return Buffer.concat(parts);
}

/** A reply at `at`, as {value, end}. Throws Incomplete while its rest is still to come. */
function decode(data, at) {
  const lineEnd = data.indexOf("\r\n", at);
  if (lineEnd < 0) throw new Incomplete();
  const kind = data[at], body = data.toString("utf8", at + 1, lineEnd);
  let end = lineEnd + 2;
  switch (String.fromCharCode(kind)) {
    case "+": return { value: body, end };
    case "-": return { value: new ReplyError(body), end };
    case ":": return { value: Number(body), end };
    case "$": {
      const length = Number(body);
      if (length < 0) return { value: null, end };
      if (data.length < end + length + 2) throw new Incomplete();
      return { value: data.toString("utf8", end, end + length), end: end + length + 2 };
    }
    case "*": {
      if (Number(body) < 0) return { value: null, end };
      const value = [];
      for (let left = Number(body); left > 0; left--) {
        const element = decode(data, end);
        value.push(element.value);
        end = element.end;
      }
      return { value, end };
    }
    default: throw new ConnectionLostError(`what answers does not speak RESP: ${body.slice(0, 80)}`);
  }
}

/** One connection, opened with its first command; it keeps the process alive only while it waits for an answer. */
class Connection {
  #address;
  #space;
  #socket = null;
  #opening;
  #data = Buffer.alloc(0);
  #waiting = [];

  constructor(host, port, space) {
    this.#address = { host, port };
    this.#space = space;
  }

  /** The reply to one command. Rejects with ReplyError or ConnectionLostError. */
  async execute(...words) {
    if (!this.#socket) this.#opening = this.#open();
    await this.#opening;
    return this.#send(words);
  }

  close() {
    if (this.#socket) this.#lose(this.#socket, new ConnectionLostError("the connection was closed"));
  }

  /** Resolves when the connection is in its space; what is to run there must not run elsewhere. */
  #open() {
    const socket = net.connect(this.#address);
    socket.setNoDelay(true);
    socket.on("data", (data) => this.#read(socket, data));
    socket.on("error", (error) => this.#lose(socket, new ConnectionLostError(error.message, { cause: error })));
    socket.on("close", () => this.#lose(socket, new ConnectionLostError("the server has closed the connection")));
    this.#socket = socket;
    this.#data = Buffer.alloc(0);
    if (this.#space === null) return undefined;
    return this.#send(["SLUICE.SPACE", this.#space]).catch((error) => {
      this.#lose(socket, error);
      throw error;
    });
  }

  #send(words) {
    return new Promise((resolve, reject) => {
      if (!this.#socket) throw new ConnectionLostError("the connection was closed");
      this.#waiting.push({ resolve, reject });
      this.#socket.ref();
      this.#socket.write(encode(words));
    });
  }

  #read(socket, data) {
    if (socket !== this.#socket) return;
    this.#data = this.#data.length ? Buffer.concat([this.#data, data]) : data;
    try {
      for (let at = 0; this.#data.length;) {
        const { value, end } = decode(this.#data, at);
        this.#data = this.#data.subarray(end);
        const { resolve, reject } = this.#waiting.shift();
        if (value instanceof ReplyError) reject(value); else resolve(value);
      }
    } catch (error) {
      if (!(error instanceof Incomplete)) this.#lose(socket, error);
    }
    if (!this.#waiting.length) socket.unref();
  }

  #lose(socket, error) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    socket.destroy();
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

module.exports = { Connection, ConnectionLostError, ReplyError };
