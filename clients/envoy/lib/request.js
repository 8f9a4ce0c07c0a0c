// A request of the service, checked and bounded: what comes from a peer is trusted from here on.
//
// It stands as a message of the protocol does in JavaScript: { domain, descriptors: [{ entries: [{ key, value }],
// limit, hitsAddend, isNegativeHits }], hitsAddend }. JSON over HTTP has the same form, so every type is looked at.
"use strict";
const { DEPTH_MAX, TEXT_MAX } = require("./config.js");
const { REQUESTS_MAX, UNIT_MS } = require("./units.js");

const DESCRIPTORS_MAX = 64;

/** The caller's fault: INVALID_ARGUMENT, or 400 over HTTP. */
class RequestError extends Error {
  constructor(message) {
    super(message);
    this.name = "RequestError";
  }
}

function need(holds, message) {
  if (!holds) throw new RequestError(message);
}

function textOf(value, what) {
  need(typeof value === "string", `${what} is no text`);
  need(value.length <= TEXT_MAX, `${what} has ${value.length} characters, more than ${TEXT_MAX}`);
  return value;
}

/** 64-bit numbers come as strings of digits, from the protocol and from JSON. */
function hitsOf(value, most) {
  const hits = typeof value === "string" && /^\d{1,20}$/.test(value) ? Number(value) : value;
  need(Number.isInteger(hits) && hits >= 0 && hits <= most, `hits_addend is no whole number of 0 to ${most}`);
  return hits;
}

function listOf(value, what, most) {
  need(Array.isArray(value) && value.length > 0, `a request wants ${what}`);
  need(value.length <= most, `${value.length} ${what}, more than ${most}`);
  return value;
}

function entryOf(entry) {
  const key = textOf(entry?.key, "the key of an entry");
  need(key !== "", "the key of an entry is empty");
  return { key, value: textOf(entry.value ?? "", "the value of an entry") };
}

function overrideOf(limit) {
  const { requestsPerUnit = 0, unit } = limit;
  need(Object.hasOwn(UNIT_MS, unit), "the limit of a descriptor has no unit that is known");
  need(
    Number.isInteger(requestsPerUnit) && requestsPerUnit >= 0 && requestsPerUnit <= REQUESTS_MAX,
    `the limit of a descriptor is no whole number of 0 to ${REQUESTS_MAX}`,
  );
  return { max: requestsPerUnit, unit };
}

/** Where a descriptor says nothing of hits, the request's are its own. In JSON a wrapped number is the number. */
function descriptorOf(descriptor, hits) {
  need(typeof descriptor === "object" && descriptor !== null, "a descriptor is no object");
  const { limit, hitsAddend, isNegativeHits = false } = descriptor;
  const own = typeof hitsAddend === "object" && hitsAddend !== null ? (hitsAddend.value ?? 0) : hitsAddend;
  return {
    entries: listOf(descriptor.entries, "entries", DEPTH_MAX).map(entryOf),
    override: limit === undefined || limit === null ? null : overrideOf(limit),
    hits: own === undefined || own === null ? hits : hitsOf(own, Number.MAX_SAFE_INTEGER),
    back: isNegativeHits === true,
  };
}

/** { domain, descriptors: [{ entries, override, hits, back }] }. Errors: RequestError. */
function readRequest(message) {
  need(typeof message === "object" && message !== null, "the request is no object");
  const domain = textOf(message.domain ?? "", "the domain");
  need(domain !== "", "a request wants a domain");
  const hits = Math.max(1, hitsOf(message.hitsAddend ?? 0, REQUESTS_MAX));
  const descriptors = listOf(message.descriptors, "descriptors", DESCRIPTORS_MAX);
  return { domain, descriptors: descriptors.map((descriptor) => descriptorOf(descriptor, hits)) };
}

module.exports = { DESCRIPTORS_MAX, RequestError, readRequest };
