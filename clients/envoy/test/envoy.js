// A client as Envoy is one: it speaks Envoy's own protocol files, which come with @grpc/grpc-js-xds, and none of ours.
"use strict";
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const { loadSync } = require("@grpc/proto-loader");

const FILES = path.join(path.dirname(require.resolve("@grpc/grpc-js-xds/package.json")), "deps");
const HEALTH = path.join(path.dirname(require.resolve("grpc-health-check/package.json")), "proto");

const FORM = { enums: String, longs: Number, defaults: false, arrays: true };

function load(file, folders) {
  return grpc.loadPackageDefinition(loadSync(file, { ...FORM, includeDirs: folders }));
}

/** Where Envoy's own files are, and those that they include. */
const PROTOCOL_FOLDERS = ["envoy-api", "xds", "protoc-gen-validate", "googleapis"].map((name) =>
  path.join(FILES, name),
);

const { RateLimitService } = load("envoy/service/ratelimit/v3/rls.proto", PROTOCOL_FOLDERS).envoy.service.ratelimit.v3;

/** What the messages of today have beyond those files: the program's own file is the only one that knows it. */
const newer = load(path.join(__dirname, "../proto/ratelimit.proto"), []).envoy.service.ratelimit.v3;

const health = () => load("health/v1/health.proto", [HEALTH]).grpc.health.v1;

/** Calls `method` of `client`; the answer, or an error with its code. */
function call(client, method, message, { deadlineMs = 10_000 } = {}) {
  return new Promise((resolve, reject) => {
    client[method](message, { deadline: Date.now() + deadlineMs }, (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  });
}

/** A descriptor of "key=value" texts. */
function descriptor(...entries) {
  return { entries: entries.map((text) => ({ key: text.split("=")[0], value: text.slice(text.indexOf("=") + 1) })) };
}

module.exports = { PROTOCOL_FOLDERS, RateLimitService, call, descriptor, grpc, health, newer };
