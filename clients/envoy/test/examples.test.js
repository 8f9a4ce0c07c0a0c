// What the README and deploy/envoy show is so: files, commands and answers.
"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { useSluice } = require("@sluice/client/node-test");
const protobuf = require("protobufjs");
const YAML = require("yaml");
const { loadConfig } = require("../lib/config.js");
const { OPTIONS, readOptions } = require("../lib/options.js");
const { PROTOCOL_FOLDERS } = require("./envoy.js");
const { folder, serve } = require("./world.js");

const sluice = useSluice();
const README = fs.readFileSync(path.join(__dirname, "../README.md"), "utf8");
const ROOT = path.join(__dirname, "../../..");
const DEPLOY = path.join(ROOT, "deploy/envoy");
const read = (name) => YAML.parse(fs.readFileSync(path.join(DEPLOY, name), "utf8"));

/** The first block of a language in the README. */
const block = (language) => new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(README)[1];

test("the five minutes of the README answer what it shows", async (t) => {
  await sluice.clock.freeze(Date.UTC(2030, 0, 1));
  const world = await serve(t, sluice.url, block("yaml"));
  const [, body] = /localhost:8080\/json -d '(.*)'/.exec(README);
  for (const shown of block("json").trimEnd().split("\n")) {
    const answer = await fetch(`${world.http}/json`, { method: "POST", body });
    assert.strictEqual((await answer.text()).trimEnd(), shown);
  }
  const [, key] = /LIMIT.INFO\s+'(.*)'/.exec(README);
  assert.strictEqual((await sluice.execute("LIMIT.INFO", key)).at(-2), 0, "nothing remains");
});

test("options of the README are there", () => {
  const known = new Set([...OPTIONS.map(({ name }) => name), "check-config", "help", "port", "prefix", "omit"]);
  const named = [...README.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, name]) => name);
  assert.ok(named.length > 20);
  for (const name of named) assert.ok(known.has(name), name);
});

/** Checks a message written as YAML against Envoy's own definitions: each field is one that the message has. */
function checkMessage(root, type, value, place) {
  for (const [name, inner] of Object.entries(value)) {
    if (name === "@type") continue;
    const field = type.fields[name] ?? assert.fail(`${place}: ${type.name} has no ${name}`);
    checkField(root, field.resolve(), inner, `${place}.${name}`);
  }
}

function checkField(root, field, value, place) {
  if (field.map) {
    for (const [key, inner] of Object.entries(value)) checkValue(root, field, inner, `${place}[${key}]`);
  } else if (field.repeated) {
    assert.ok(Array.isArray(value), `${place} is a list`);
    value.forEach((inner, at) => checkValue(root, field, inner, `${place}[${at}]`));
  } else {
    checkValue(root, field, value, place);
  }
}

function checkValue(root, field, value, place) {
  const type = field.resolvedType;
  if (type instanceof protobuf.Enum) {
    assert.ok(Object.hasOwn(type.values, value), `${place}: ${type.name} has no ${value}`);
  } else if (type?.fullName === ".google.protobuf.Any") {
    checkMessage(root, root.lookupType(value["@type"].split("/")[1]), value, place);
  } else if (type?.fullName === ".google.protobuf.Duration") {
    assert.match(value, /^\d+(\.\d+)?s$/, place);
  } else if (type && typeof value === "object") {
    checkMessage(root, type, value, place);
  } else if (type) {
    assert.match(type.fullName, /^\.google\.protobuf\.\w+Value$/, `${place} is a message`);
  }
}

function envoyTypes() {
  const root = new protobuf.Root();
  root.resolvePath = (origin, target) =>
    PROTOCOL_FOLDERS.map((folder) => path.join(folder, target)).find((file) => fs.existsSync(file)) ?? target;
  const extensions = "envoy/extensions";
  root.loadSync(
    [
      "envoy/config/bootstrap/v3/bootstrap.proto",
      `${extensions}/filters/network/http_connection_manager/v3/http_connection_manager.proto`,
      `${extensions}/filters/http/ratelimit/v3/rate_limit.proto`,
      `${extensions}/filters/http/router/v3/router.proto`,
      `${extensions}/upstreams/http/v3/http_protocol_options.proto`,
    ],
    { keepCase: true },
  );
  return root;
}

test("Envoy's file of the example has only fields that Envoy has", () => {
  const root = envoyTypes();
  const bootstrap = root.lookupType("envoy.config.bootstrap.v3.Bootstrap");
  const example = read("envoy.yaml");
  checkMessage(root, bootstrap, example, "envoy.yaml");
  example.static_resources.clusters[0].health_checks[0].timeouts = "1s";
  assert.throws(() => checkMessage(root, bootstrap, example, "envoy.yaml"), /HealthCheck has no timeouts/);
});

test("the container's files are all that the program needs", (t) => {
  const place = folder(t);
  const lines = fs.readFileSync(path.join(DEPLOY, "Containerfile"), "utf8").matchAll(/^COPY (.*)$/gm);
  for (const [, words] of lines) {
    const sources = words.split(" ");
    const target = sources.pop();
    for (const source of sources) {
      const from = path.join(ROOT, source);
      const whole = fs.statSync(from).isDirectory() ? "" : path.basename(source);
      fs.cpSync(from, path.join(place, target, whole), { recursive: true });
    }
  }
  // In place of npm ci, which would want the registry.
  const modules = path.join(place, "envoy/node_modules");
  fs.mkdirSync(path.join(modules, "@sluice"), { recursive: true });
  fs.symlinkSync("../../../node", path.join(modules, "@sluice/client"));
  const installed = path.join(__dirname, "../node_modules");
  for (const name of fs.readdirSync(installed).filter((found) => found !== "@sluice" && found !== ".bin")) {
    fs.symlinkSync(path.join(installed, name), path.join(modules, name));
  }
  const words = ["--preserve-symlinks", path.join(place, "envoy/bin/sluice-ratelimit.js"), "--check-config"];
  const limits = ["--config", path.join(DEPLOY, "limits")];
  assert.match(execFileSync(process.execPath, [...words, ...limits], { encoding: "utf8" }), /^shop\.user_vip: /m);
});

/** The descriptor that Envoy makes of actions, for the header x-user: ann. */
const descriptorOf = (actions) =>
  actions.map((action) => {
    if (action.remote_address) return { key: "remote_address", value: "10.0.0.1" };
    if (action.request_headers) return { key: action.request_headers.descriptor_key, value: "ann" };
    return { key: action.generic_key.descriptor_key, value: action.generic_key.descriptor_value };
  });

test("each descriptor of the example has a limit, and each part finds the next", () => {
  const {
    static_resources: { listeners, clusters },
  } = read("envoy.yaml");
  const manager = listeners[0].filter_chains[0].filters[0].typed_config;
  const { domain } = manager.http_filters[0].typed_config;
  const rules = loadConfig(path.join(DEPLOY, "limits"));
  assert.deepStrictEqual(rules.domains, [domain]);
  const limits = manager.route_config.virtual_hosts[0].routes.map(({ route }) =>
    route.rate_limits.map(({ actions }) => rules.find(domain, descriptorOf(actions))?.limit.max),
  );
  assert.deepStrictEqual(limits, [
    [10, 3, 2],
    [10, 3],
  ]);

  const { services } = read("compose.yml");
  const { ratelimit } = services;
  const options = readOptions(ratelimit.command, ratelimit.environment);
  const [cluster] = clusters;
  const { address, port_value: port } =
    cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address;
  assert.deepStrictEqual([services[address], port], [ratelimit, options.listen.port]);
  assert.ok(services[new URL(options.sluice).hostname].build.dockerfile.endsWith("deploy/container/Containerfile"));
  assert.deepStrictEqual(ratelimit.volumes, [`./limits:${options.config}:ro`]);
  assert.ok(services.envoy.ports[0].endsWith(`:${listeners[0].address.socket_address.port_value}`));
  for (const { build } of [ratelimit, services.sluice]) {
    assert.ok(fs.existsSync(path.join(DEPLOY, build.context, build.dockerfile)));
  }
});
