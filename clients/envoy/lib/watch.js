// Keeps the rules as the files are: reads them when asked to, and looks now and then whether they have changed.
//
// It looks at names, sizes and times instead of waiting for events of the file system, as these miss what people really
// do: a link that leads elsewhere (Kubernetes, runtime folders), a folder that is replaced, a network file system. What
// has changed is read when it has stood still from one look to the next, so that nobody reads half a file. Files that
// cannot be used change nothing; they are told of once, until they change again.
"use strict";
const fs = require("node:fs");
const { filesOf, loadConfig } = require("./config.js");

/** What tells one state of a file from another; text, also of one that is not there. */
function stateOf(file) {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = fs.statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch (error) {
    return error.code;
  }
}

/** The same of all files that a place stands for. */
function signatureOf(place) {
  try {
    return filesOf(place)
      .map((file) => `${file}=${stateOf(file)}`)
      .join("\n");
  } catch (error) {
    return error.code;
  }
}

class ConfigWatch {
  #place;
  #options;
  #signature;
  #seen; // at the look before
  #timer;

  /** options: mergeDomains; onRules(rules) and onFault(error) tell what came of a look. */
  constructor(place, options) {
    this.#place = place;
    this.#options = options;
  }

  /** Reads the files. Whether they could be used. */
  read() {
    // Before the files: a change while they are read is seen by the next look.
    this.#signature = signatureOf(this.#place);
    let rules;
    try {
      rules = loadConfig(this.#place, this.#options);
    } catch (error) {
      this.#options.onFault(error);
      return false;
    }
    this.#options.onRules(rules);
    return true;
  }

  /** Reads the files if they have changed, and not since the look before. */
  look() {
    const signature = signatureOf(this.#place);
    const still = signature === this.#seen;
    this.#seen = signature;
    if (still && signature !== this.#signature) this.read();
  }

  start(intervalMs) {
    if (intervalMs > 0) this.#timer = setInterval(() => this.look(), intervalMs);
  }

  stop() {
    clearInterval(this.#timer);
  }
}

module.exports = { ConfigWatch };
