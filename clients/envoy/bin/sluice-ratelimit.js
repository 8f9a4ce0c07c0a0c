#!/usr/bin/env node
// Envoy's rate limit service over Sluice: see README.md, or --help.
"use strict";
const { main } = require("../lib/program.js");

main(process.argv.slice(2), process.env, process).then((status) => {
  process.exitCode = status;
});
