// See latency_monitor.h.
#include "server/observe/latency_monitor.h"

#include <algorithm>
#include <cassert>

namespace sluice {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

// In the order of LatencyEvent.
constexpr std::string_view kNames[] = {"command",      "fast-command", "command-unblocking",
                                       "expire-cycle", "expire-del",   "eviction-cycle"};
static_assert(std::size(kNames) == kLatencyEvents);

}  // namespace

// The worst of a second takes its place, as Redis's one sample a second does.
void LatencySeries::Add(int64_t unix_s, int64_t ms) {
  worst_ms_ = std::max(worst_ms_, ms);
  if (!samples_.empty() && samples_.back().unix_s == unix_s) {
    samples_.back().ms = std::max(samples_.back().ms, ms);
    return;
  }
  if (samples_.size() == kSamplesMax) samples_.erase(samples_.begin());
  samples_.push_back({unix_s, ms});
}

std::string_view LatencyMonitor::NameOf(LatencyEvent event) {
  return kNames[static_cast<size_t>(event)];
}

int64_t LatencyMonitor::threshold_ns() const {
  if (threshold_ms_ == 0) return INT64_MAX;
  // A threshold that does not fit is one that nothing reaches.
  return std::min(threshold_ms_, INT64_MAX / kNanosPerMilli) * kNanosPerMilli;
}

void LatencyMonitor::Note(LatencyEvent event, int64_t unix_s, int64_t nanos) {
  assert(nanos >= threshold_ns());
  if (!series_) series_ = std::make_unique<std::array<LatencySeries, kLatencyEvents>>();
  (*series_)[static_cast<size_t>(event)].Add(unix_s, nanos / kNanosPerMilli);
}

const LatencySeries& LatencyMonitor::Of(LatencyEvent event) const {
  static const LatencySeries kEmpty;
  return series_ ? (*series_)[static_cast<size_t>(event)] : kEmpty;
}

}  // namespace sluice
