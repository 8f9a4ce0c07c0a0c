// History: the last hour of the server in a few figures, a sample every ten seconds, for the plots
// of the page. Kept by the HTTP port, so a server without one, a private space or a database inside
// a program has none.
//
//   history.Take(engine.parts(), now_ns);    // every kEveryS seconds
//   for (const History::Sample& sample : history.Since(number)) ...
//
// Bounded: 360 samples of 88 bytes, and copies of two histograms.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "server/core/parts.h"
#include "server/figures/figure.h"
#include "server/observe/histogram.h"

namespace sluice {

class History {
 public:
  static constexpr int64_t kEveryS = 10;
  static constexpr size_t kSamplesMax = 360;

  // A plot of the page: the figure itself, or its rate per second since the sample before.
  struct PlotRow {
    std::string_view name;  // for the page
    bool is_rate;
  };
  // In the order of Plot.
  static constexpr std::array<PlotRow, kPlots> kPlotRows = {{{"commands", true},
                                                             {"taken", true},
                                                             {"refused", true},
                                                             {"granted", true},
                                                             {"clients", false},
                                                             {"memory", false},
                                                             {"locks", false},
                                                             {"waiters", false}}};
  using Plotted = std::array<double, kPlots>;

  // Times are of what happened since the sample before.
  struct Sample {
    int64_t unix_s = 0;
    Plotted plotted = {};
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
  static Plotted Read(const Parts& parts);

  std::vector<Sample> ring_;  // sample `number` stands at number % kSamplesMax
  uint64_t taken_ = 0;
  int64_t last_ns_ = 0;
  Plotted last_ = {};
  Histogram turn_us_;
  Histogram late_ms_;
};

}  // namespace sluice
