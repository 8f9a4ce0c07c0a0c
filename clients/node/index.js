// Sluice for Node: locks and limits over the client you have, and a private server for tests.
"use strict";
const { BinaryNotFoundError } = require("./lib/binary.js");
const { UnexpectedReplyError } = require("./lib/client.js");
const { LimitClient } = require("./lib/limits.js");
const { Lock, LockClient, LockLostError, LockNotGrantedError } = require("./lib/locks.js");
const { Server, ServerError, Space } = require("./lib/server.js");
const { ConnectionLostError, ReplyError } = require("./lib/wire.js");

module.exports = {
  BinaryNotFoundError, ConnectionLostError, LimitClient, Lock, LockClient, LockLostError, LockNotGrantedError,
  ReplyError, Server, ServerError, Space, UnexpectedReplyError,
};
