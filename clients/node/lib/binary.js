// Where the program `sluice` is: the option, the variable SLUICE_BIN, the package of this platform that carries it, then
// PATH.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const MACHINES = { 62: "x64", 183: "arm64" }; // of an ELF file, as Node names them

/** There is no program to start. Says where was looked, and what to do. */
class BinaryNotFoundError extends Error {
  constructor(message) {
    super(message);
    this.name = "BinaryNotFoundError";
  }
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The first bytes of a file; zeros where it has none. */
function headOf(file) {
  const head = Buffer.alloc(20);
  try {
    const descriptor = fs.openSync(file);
    fs.readSync(descriptor, head);
    fs.closeSync(descriptor);
  } catch {
    // it is gone
  }
  return head;
}

/** Why a program that did not start cannot: it is for another processor. Empty where that is not why. */
function foreign(file) {
  const head = headOf(file);
  const machine = MACHINES[head.readUInt16LE(18)] ?? "another processor";
  const known = head.toString("latin1", 0, 4) === "\x7fELF" && machine !== process.arch;
  return known ? `'${file}' is a program for ${machine}, and this machine is ${process.arch}\n` : "";
}

/** Of the package that npm chooses by platform; undefined where none is installed. */
function packaged() {
  try {
    return require(`@sluice/server-${process.platform}-${process.arch}`).program;
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** The path of the program. Throws BinaryNotFoundError. */
function findBinary(bin) {
  for (const [source, value] of [["the option bin", bin], ["SLUICE_BIN", process.env.SLUICE_BIN]]) {
    if (!value) continue;
    if (!isProgram(value)) throw new BinaryNotFoundError(`${source} names '${value}', which is no program`);
    return path.resolve(value);
  }
  const carried = packaged();
  if (carried && isProgram(carried)) return carried;
  if (carried) throw new BinaryNotFoundError(`'${carried}' of @sluice/server is not executable: install it again`);
  for (const folder of (process.env.PATH || "").split(path.delimiter)) {
    const file = path.join(folder, "sluice");
    if (folder && isProgram(file)) return file;
  }
  throw new BinaryNotFoundError(
    "there is no program `sluice` in PATH, nor in a package of this platform " +
    `(@sluice/server-${process.platform}-${process.arch}; there are linux-x64 and linux-arm64): build it (tools/run in ` +
    "Sluice's source makes build/sluice) and set SLUICE_BIN to its path, or hand the path in as the option `bin`");
}

module.exports = { BinaryNotFoundError, findBinary, foreign };
