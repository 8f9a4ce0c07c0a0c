// Statistics: what the server counts about itself, for INFO. CONFIG RESETSTAT sets all of it to
// zero.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "server/observe/histogram.h"

namespace sluice {

// `nanos` is the sum over all calls; latency_ns has them one by one, as far as they are measured
// so.
struct CommandStatistics {
  uint64_t calls = 0;
  uint64_t nanos = 0;
  uint64_t rejected = 0;  // errors before the handler ran: arity, login, MULTI ...
  uint64_t failed = 0;    // the handler answered an error
  Histogram latency_ns;   // latency-tracking
};

// Counters only grow, but for RESETSTAT; each is raised where it happens.
struct Statistics {
  uint64_t commands = 0;
  uint64_t connections = 0;
  uint64_t rejected_connections = 0;
  uint64_t bytes_in = 0;  // of clients; links between servers are apart
  uint64_t bytes_out = 0;
  uint64_t bytes_from_master = 0;
  uint64_t bytes_to_replicas = 0;
  uint64_t error_replies = 0;
  uint64_t unexpected_error_replies = 0;  // to those that only play what has happened
  uint64_t expired_keys = 0;
  uint64_t expired_fields = 0;  // of hashes
  uint64_t freed_lazily = 0;    // big values, and entries that were flushed lazily
  uint64_t returned_bytes = 0;  // to the system: what was resident for nothing
  uint64_t keyspace_hits = 0;
  uint64_t keyspace_misses = 0;
  uint64_t output_limit_closed = 0;
  uint64_t query_limit_closed = 0;
  uint64_t login_timeout_closed = 0;
  int64_t expiry_ns = 0;  // spent on timers that fired
  uint64_t turns = 0;
  uint64_t reads = 0;  // system calls
  uint64_t writes = 0;
  Histogram turn_cpu_us;         // CPU time of one turn of the loop
  Histogram hand_over_us;        // from the begin of a turn that granted a waiter to its answers
  Histogram expiry_lateness_ms;  // how long after its deadline a key was removed by its timer
  std::map<std::string, uint64_t, std::less<>> errors;  // by code: "ERR", "WRONGTYPE"
  static constexpr size_t kErrorCodesMax = 128;         // as Redis: more than that is an attack

  // Counts an error reply by its first word, without the leading '-'. Clients can make any
  // (scripts, DEBUG ERROR), hence the bound on codes. O(log codes).
  void CountError(std::string_view text);
};

// Counts per second, between the last two samples. Redis averages 16 samples; here it is one
// interval.
class Rates {
 public:
  // Those that INFO shows as rates.
  struct Counts {
    uint64_t commands = 0;
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;
    uint64_t bytes_from_master = 0;
    uint64_t bytes_to_replicas = 0;
  };
  void Sample(const Statistics& statistics, int64_t now_ms);
  const Counts& per_second() const { return per_second_; }

 private:
  Counts last_;
  Counts per_second_;
  int64_t last_ms_ = 0;
};

}  // namespace sluice
