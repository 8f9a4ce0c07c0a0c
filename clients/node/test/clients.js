// The Redis clients that the tests run over: each as {name, protocol, open(url) -> client, close(client)}.
"use strict";

const nodeMajor = Number(process.versions.node.split(".")[0]);

function ioredis(name, options = {}, protocol = 2) {
  const Redis = require(name);
  return {
    name, protocol, close: (client) => client.disconnect(),
    open: async (url) => { const client = new Redis(url, options); client.on("error", () => {}); return client; },
    call: (client, ...words) => client.call(...words.map(String)),
  };
}

function nodeRedis(name, options = {}, protocol = options.RESP ?? 2) {
  const { createClient } = require(name);
  return {
    name: options.RESP ? `${name} RESP${options.RESP}` : name, protocol, close: (client) => client.destroy(),
    open: async (url) => {
      const client = createClient({ url, ...options });
      client.on("error", () => {});
      await client.connect();
      return client;
    },
    call: (client, ...words) => client.sendCommand(words.map(String)),
  };
}

/** The newest need Node 20. */
module.exports.clients = [
  ioredis("ioredis"), nodeRedis("redis"), nodeRedis("redis", { RESP: 3 }),
  ...(nodeMajor < 20 ? [] : [ioredis("ioredis-6", {}, 3), nodeRedis("redis-6", {}, 3)]),
];
