// See history.h.
#include "server/http/history.h"

#include <algorithm>

#include "server/core/turn_clock.h"
#include "server/figures/sections.h"
#include "server/observe/statistics.h"

namespace sluice {

History::Plotted History::Read(const Parts& parts) {
  Plotted plotted = {};
  FigureSources sources(parts);
  for (const FigureSection& section : FigureSections()) {
    for (const Figure& figure : section.figures) {
      if (figure.plot == Plot::kNone) continue;
      plotted[static_cast<size_t>(figure.plot)] = figure.read.Read(sources).number();
    }
  }
  return plotted;
}

void History::Take(const Parts& parts, int64_t now_ns) {
  const Statistics& statistics = parts.Get<Statistics>();
  const Plotted plotted = Read(parts);
  const double seconds = static_cast<double>(now_ns - last_ns_) / 1e9;
  // A counter that is less than before was set to zero meanwhile (CONFIG RESETSTAT).
  const auto rate = [seconds](double now, double before) {
    return (now < before ? now : now - before) / std::max(seconds, 1e-3);
  };
  if (last_ns_ != 0) {
    Sample sample{
        .unix_s = parts.Get<TurnClock>().now().unix_s(),
        .plotted = plotted,
        .turn_us = statistics.turn_cpu_us.PercentileSince(turn_us_, 99),
        .late_ms = statistics.expiry_lateness_ms.PercentileSince(late_ms_, 99),
    };
    for (size_t i = 0; i < kPlots; ++i) {
      if (kPlotRows[i].is_rate) sample.plotted[i] = rate(plotted[i], last_[i]);
    }
    const size_t at = taken_++ % kSamplesMax;
    if (at < ring_.size()) {
      ring_[at] = sample;
    } else {
      ring_.push_back(sample);
    }
  }
  last_ns_ = now_ns;
  last_ = plotted;
  turn_us_ = statistics.turn_cpu_us.Copy();
  late_ms_ = statistics.expiry_lateness_ms.Copy();
}

std::vector<History::Sample> History::Since(uint64_t number) const {
  std::vector<Sample> samples;
  const uint64_t oldest = taken_ - ring_.size();
  for (uint64_t at = std::max(number, oldest); at < taken_; ++at) {
    samples.push_back(ring_[at % kSamplesMax]);
  }
  return samples;
}

}  // namespace sluice
