// The service as a gRPC server, with the standard health service beside it.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const { loadSync } = require("@grpc/proto-loader");
const { HealthImplementation } = require("grpc-health-check");

const PROTO = path.join(__dirname, "../proto/ratelimit.proto");
const MESSAGE_BYTES_MAX = 64 << 10;
const STREAMS_MAX = 4_096; // of one connection
const KEEPALIVE_MS = [60_000, 20_000]; // so often a silent client is asked for a sign, and so long it may take
const NAME = "envoy.service.ratelimit.v3.RateLimitService";

const STATUS = {
  RequestError: grpc.status.INVALID_ARGUMENT,
  BusyError: grpc.status.RESOURCE_EXHAUSTED,
  AwayError: grpc.status.UNAVAILABLE,
};

/** Fields in camel case, enumerations by name, 64 bits as text: the form of request.js. */
function loadService() {
  const definition = loadSync(PROTO, { enums: String, longs: String, defaults: false, arrays: true });
  return grpc.loadPackageDefinition(definition).envoy.service.ratelimit.v3.RateLimitService.service;
}

function credentialsOf({ tlsCert, tlsKey, tlsClientCa }) {
  if (tlsCert === "") return grpc.ServerCredentials.createInsecure();
  const authority = tlsClientCa === "" ? null : fs.readFileSync(tlsClientCa);
  const pair = { cert_chain: fs.readFileSync(tlsCert), private_key: fs.readFileSync(tlsKey) };
  return grpc.ServerCredentials.createSsl(authority, [pair], authority !== null);
}

class GrpcServer {
  #server;
  #health = new HealthImplementation({ "": "NOT_SERVING", [NAME]: "NOT_SERVING" });
  #serving = false;
  #options;

  /** service: its shouldRateLimit(message) answers. options: listen, tls..., connectionAge. onBug(error): what no
   *  request should have been able to cause. */
  constructor(service, options) {
    this.#options = options;
    this.#server = new grpc.Server({
      "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
      "grpc.max_concurrent_streams": STREAMS_MAX,
      "grpc.keepalive_time_ms": KEEPALIVE_MS[0],
      "grpc.keepalive_timeout_ms": KEEPALIVE_MS[1],
      ...(options.connectionAge > 0 && { "grpc.max_connection_age_ms": options.connectionAge * 1_000 }),
    });
    this.#server.addService(loadService(), {
      ShouldRateLimit: (call, callback) => this.#answer(service, call, callback),
    });
    this.#health.addToServer(this.#server);
  }

  get serving() {
    return this.#serving;
  }

  set serving(serving) {
    if (serving === this.#serving) return;
    this.#serving = serving;
    for (const name of ["", NAME]) this.#health.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  }

  async #answer(service, call, callback) {
    try {
      callback(null, await service.shouldRateLimit(call.request));
    } catch (error) {
      const code = STATUS[error.name];
      if (code === undefined) this.#options.onBug(error);
      callback({
        code: code ?? grpc.status.INTERNAL,
        details: code === undefined ? "an internal fault" : error.message,
      });
    }
  }

  /** The port that is served; 0 for a socket. */
  listen() {
    const { socket, host, port } = this.#options.listen;
    const where = socket === undefined ? `${host.includes(":") ? `[${host}]` : host}:${port}` : `unix:${socket}`;
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(where, credentialsOf(this.#options), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
  }

  /** Takes no new connection, ends those without requests, and after `graceMs` all of them. */
  async stop(graceMs) {
    const patience = setTimeout(() => this.#server.forceShutdown(), graceMs);
    await new Promise((resolve) => {
      this.#server.tryShutdown(resolve);
    });
    clearTimeout(patience);
  }
}

module.exports = { GrpcServer };
