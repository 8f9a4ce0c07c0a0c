// See history.h.
#include "server/http/history.h"

#include <algorithm>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/core/turn_clock.h"
#include "server/limits/limit_service.h"
#include "server/locks/lock_service.h"
#include "server/observe/statistics.h"

namespace sluice {

History::Counts History::Read(const Parts& parts) {
  Counts counts;
  counts.commands = parts.Get<Statistics>().commands;
  counts.granted = parts.Get<LockService>().counts().granted;
  const LimitStatistics::Decided decided = parts.Get<LimitService>().statistics().All();
  counts.taken = decided.taken;
  counts.refused = decided.refused;
  return counts;
}

void History::Take(const Parts& parts, int64_t now_ns) {
  const Statistics& statistics = parts.Get<Statistics>();
  const Counts counts = Read(parts);
  const double seconds = static_cast<double>(now_ns - last_ns_) / 1e9;
  // A counter that is less than before was set to zero meanwhile (CONFIG RESETSTAT).
  const auto rate = [seconds](uint64_t now, uint64_t before) {
    return static_cast<double>(now < before ? now : now - before) / std::max(seconds, 1e-3);
  };
  if (last_ns_ != 0) {
    const Sample sample{
        .unix_s = parts.Get<TurnClock>().now().unix_s(),
        .commands = rate(counts.commands, last_.commands),
        .taken = rate(counts.taken, last_.taken),
        .refused = rate(counts.refused, last_.refused),
        .granted = rate(counts.granted, last_.granted),
        .clients = static_cast<int64_t>(parts.Get<Clients>().size()),
        .memory_bytes = parts.Get<Host>().process().Usage().resident_bytes,
        .locks = static_cast<int64_t>(parts.Get<LockService>().held()),
        .waiters = static_cast<int64_t>(parts.Get<LockService>().waiting()),
        .turn_us = statistics.turn_cpu_us.PercentileSince(turn_us_, 99),
        .late_ms = statistics.expiry_lateness_ms.PercentileSince(late_ms_, 99),
    };
    const size_t at = taken_++ % kSamplesMax;
    if (at < ring_.size()) {
      ring_[at] = sample;
    } else {
      ring_.push_back(sample);
    }
  }
  last_ns_ = now_ns;
  last_ = counts;
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
