// LatencyMonitor: what LATENCY shows: moments at which something took latency-monitor-threshold ms
// or longer. An event has a series of its latest such moments, at most one a second (the worst of
// it).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice {

// Events that can take long. Redis knows more: Sluice does not fork, and no disk holds it up.
enum class LatencyEvent : uint8_t {
  kCommand,
  kFastCommand,    // one of those that are O(1)
  kUnblocking,     // a waiting client's command, run again
  kExpireCycle,    // timers of one turn: keys, leases, drains
  kExpireDel,      // what a single key's end gave others to hear
  kEvictionCycle,  // keys that went before one command, for maxmemory
};
inline constexpr size_t kLatencyEvents = 6;

// The worst that an event had in one second.
struct LatencySample {
  int64_t unix_s = 0;
  int64_t ms = 0;
};

// At most 160 samples, the oldest goes first. Times are Unix seconds, durations ms.
class LatencySeries {
 public:
  static constexpr size_t kSamplesMax = 160;

  void Add(int64_t unix_s, int64_t ms);
  bool empty() const { return samples_.empty(); }
  // The oldest first.
  const std::vector<LatencySample>& samples() const { return samples_; }
  int64_t worst_ms() const { return worst_ms_; }  // also of samples that are gone

 private:
  std::vector<LatencySample> samples_;
  int64_t worst_ms_ = 0;
};

// The caller measures and compares with threshold_ns() first, so that nothing is called for what is
// fast.
class LatencyMonitor {
 public:
  // As LATENCY calls it: "fast-command".
  static std::string_view NameOf(LatencyEvent event);

  void set_threshold_ms(int64_t ms) { threshold_ms_ = ms; }  // 0: nothing is noted
  // The least that is noted; INT64_MAX while nothing is.
  int64_t threshold_ns() const;
  // Keeps whole ms, rounded down. Requires: nanos >= threshold_ns().
  void Note(LatencyEvent event, int64_t unix_s, int64_t nanos);

  const LatencySeries& Of(LatencyEvent event) const;
  void Reset(LatencyEvent event) {
    if (series_) (*series_)[static_cast<size_t>(event)] = {};
  }

 private:
  int64_t threshold_ms_ = 0;
  // Made with the first note: most servers monitor nothing.
  std::unique_ptr<std::array<LatencySeries, kLatencyEvents>> series_;
};

}  // namespace sluice
