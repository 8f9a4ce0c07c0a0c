// A server that gives the answers of a table, by the names of commands, and OK to all else.
"use strict";
const net = require("node:net");

/** The words of the requests that are whole, and what is left. */
function requestsIn(text) {
  const requests = [];
  for (let whole; (whole = /^\*(\d+)\r\n/.exec(text));) {
    let at = whole[0].length;
    const words = [];
    for (let left = Number(whole[1]); left > 0; left--) {
      const head = /^\$(\d+)\r\n/.exec(text.slice(at));
      if (!head || text.length < at + head[0].length + Number(head[1]) + 2) return { requests, rest: text };
      at += head[0].length;
      words.push(text.slice(at, at + Number(head[1])));
      at += Number(head[1]) + 2;
    }
    requests.push(words);
    text = text.slice(at);
  }
  return { requests, rest: text };
}

/** Its URL; it is gone with the test. */
async function madeUpServer(t, answers) {
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    let text = "";
    socket.on("error", () => {}).setEncoding("latin1").on("data", (data) => {
      const { requests, rest } = requestsIn(text + data);
      text = rest;
      for (const [name] of requests) socket.write(answers[name.toUpperCase()] ?? "+OK\r\n");
    });
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${server.address().port}`;
}

module.exports = { madeUpServer };
