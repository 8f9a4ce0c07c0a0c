// What is counted, as text for Prometheus. Names and labels are those that the reference service's own mapping gives
// its counters, so that dashboards and alerts go on working.
//
// Rules are labelled with domain, key1, key2 ...: the path of the rule that matched. With detailed_metric, and for
// limits that callers bring along, values of clients are in there, so the number of series is bounded: those beyond the
// bound are counted together, as domain and key1="(others)".
"use strict";

const RULE_COUNTERS = ["total_hits", "within_limit", "near_limit", "over_limit", "shadow_mode"];
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]; // seconds
const OTHERS = ["(others)"];

const escaped = (text) => text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");

function labelText(domain, labels) {
  return [`domain="${escaped(domain)}"`, ...labels.map((label, at) => `key${at + 1}="${escaped(label)}"`)].join(",");
}

class Metrics {
  #rules = new Map(); // label text -> { counter: value }
  #counters = new Map(); // name and labels -> value
  #buckets = BUCKETS.map(() => 0);
  #requests = 0;
  #seconds = 0;
  #options;

  /** options: seriesMax, nearLimitRatio. */
  constructor(options) {
    this.#options = options;
  }

  #count(name, value = 1) {
    this.#counters.set(name, (this.#counters.get(name) ?? 0) + value);
  }

  #rule({ domain, labels }) {
    const name = labelText(domain, labels);
    let counters = this.#rules.get(name);
    if (counters !== undefined) return counters;
    if (this.#rules.size >= this.#options.seriesMax && labels !== OTHERS) {
      this.#count("sluice_ratelimit_series_refused");
      return this.#rule({ domain, labels: OTHERS });
    }
    counters = Object.fromEntries(RULE_COUNTERS.map((counter) => [counter, 0]));
    this.#rules.set(name, counters);
    return counters;
  }

  /** Hits that a limit was asked for; those that are given back are none. */
  hits(part) {
    this.#rule(part).total_hits += part.back ? 0 : part.hits;
  }

  /** What became of them. near_limit counts those above the ratio, as the reference service does. */
  verdict(part) {
    const {
      limit: { shadow },
      verdict,
      hits,
      back,
    } = part;
    if (back) return;
    const counters = this.#rule(part);
    if (!verdict.allowed) {
      counters.over_limit += hits;
      if (shadow) counters.shadow_mode += hits;
      return;
    }
    counters.within_limit += hits;
    const near = Math.floor(verdict.limit * this.#options.nearLimitRatio);
    const used = Math.max(0, verdict.limit - verdict.remaining);
    counters.near_limit += Math.max(0, Math.min(hits, used - near));
  }

  request(seconds) {
    this.#requests += 1;
    this.#seconds += seconds;
    const at = BUCKETS.findIndex((most) => seconds <= most);
    if (at >= 0) this.#buckets[at] += 1;
  }

  error(type) {
    this.#count(`ratelimit_service_should_rate_limit_error{err_type="${type}"}`);
  }
  failure(mode) {
    this.#count(`sluice_ratelimit_answered_without_sluice{mode="${mode}"}`);
  }
  globalShadow() {
    this.#count("ratelimit_service_global_shadow_mode");
  }
  configLoaded() {
    this.#count("ratelimit_service_config_load_success");
  }
  configRefused() {
    this.#count("ratelimit_service_config_load_error");
  }

  /** gauges: { name: value }, what is so at this moment. */
  text(gauges = {}) {
    const families = new Map();
    const add = (family, type, line) => {
      if (!families.has(family)) families.set(family, [`# TYPE ${family} ${type}`]);
      families.get(family).push(line);
    };
    for (const counter of RULE_COUNTERS) {
      const family = `ratelimit_service_rate_limit_${counter}`;
      for (const [labels, values] of this.#rules) add(family, "counter", `${family}{${labels}} ${values[counter]}`);
    }
    for (const [name, value] of this.#counters) add(name.split("{")[0], "counter", `${name} ${value}`);
    for (const [name, value] of Object.entries(gauges)) add(name, "gauge", `${name} ${value}`);
    const method = 'grpc_method="ShouldRateLimit"';
    add("ratelimit_service_total_requests", "counter", `ratelimit_service_total_requests{${method}} ${this.#requests}`);
    const time = "ratelimit_service_response_time_seconds";
    let below = 0;
    BUCKETS.forEach((most, at) => {
      below += this.#buckets[at];
      add(time, "histogram", `${time}_bucket{${method},le="${most}"} ${below}`);
    });
    add(time, "histogram", `${time}_bucket{${method},le="+Inf"} ${this.#requests}`);
    add(time, "histogram", `${time}_sum{${method}} ${this.#seconds}`);
    add(time, "histogram", `${time}_count{${method}} ${this.#requests}`);
    return `${[...families.values()].flat().join("\n")}\n`;
  }
}

module.exports = { Metrics };
