// History: the last hour of the server in a few figures, a sample every ten seconds, for the plots
// of the page. Kept by the HTTP port, so a server without one, a private space or a database inside
// a program has none.
//
//   history.Take(engine.parts(), now_ns);    // every kEveryS seconds
//   for (const History::Sample& sample : history.Since(number)) ...
//
// Bounded: 360 samples of 88 bytes, and copies of two histograms.
#pragma once

#include <cstdint>
#include <vector>

#include "server/core/parts.h"
#include "server/observe/histogram.h"

namespace sluice {

class History {
 public:
  static constexpr int64_t kEveryS = 10;
  static constexpr size_t kSamplesMax = 360;

  // Rates are per second since the sample before; times are of what happened since then.
  struct Sample {
    int64_t unix_s = 0;
    double commands = 0;
    double taken = 0;  // by limiters
    double refused = 0;
    double granted = 0;  // locks
    int64_t clients = 0;
    int64_t memory_bytes = 0;  // resident
    int64_t locks = 0;         // held
    int64_t waiters = 0;
    int64_t turn_us = 0;  // 99 % of the turns took no longer
    int64_t late_ms = 0;  // 99 % of the keys went no later
  };

  // O(buckets of a histogram). `now_ns`: of a clock that no one moves. The first call has nothing
  // to compare with: it only reads.
  void Take(const Parts& parts, int64_t now_ns);
  uint64_t taken() const { return taken_; }  // so far; the number of the next sample
  // The samples with this number and above that are there, the oldest first.
  std::vector<Sample> Since(uint64_t number) const;

 private:
  struct Counts {
    uint64_t commands = 0;
    uint64_t taken = 0;
    uint64_t refused = 0;
    uint64_t granted = 0;
  };
  static Counts Read(const Parts& parts);

  std::vector<Sample> ring_;  // sample `number` stands at number % kSamplesMax
  uint64_t taken_ = 0;
  int64_t last_ns_ = 0;
  Counts last_;
  Histogram turn_us_;
  Histogram late_ms_;
};

}  // namespace sluice
