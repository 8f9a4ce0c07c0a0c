// LoadPace: how much is loaded in one slice, and when the next one begins. Other clients are
// answered between two slices (-LOADING), so a slice ends after some milliseconds, and behind
// loading-process-events-interval-bytes at the latest. key-load-delay makes tests a load that is
// slow: it waits so long for each key, between slices.
#pragma once

#include <cstdint>

#include "server/config/settings.h"

namespace sluice {

class LoadPace {
 public:
  explicit LoadPace(const Settings& settings) : settings_(settings) {}  // outlives it

  // When the next slice begins, in engine ms; a moment that has passed: at once.
  int64_t next_ms() const { return next_ms_; }

  // --- in a slice. `bytes` and `keys` are those of the whole load so far.
  void BeginSlice(uint64_t bytes) { sliced_bytes_ = bytes; }
  bool IsSliceOver(uint64_t bytes, uint64_t keys) const {
    const auto most = static_cast<uint64_t>(settings_.loading_process_events_interval_bytes);
    return bytes - sliced_bytes_ >= most || DelayMs(keys) > 0;
  }
  void EndSlice(uint64_t keys, int64_t now_ms) {
    const int64_t delay_ms = DelayMs(keys);
    if (delay_ms == 0) return;
    delayed_keys_ = keys;
    next_ms_ = now_ms + delay_ms;
  }

 private:
  // That is due by now. The option is in µs a key; -n is 1 µs for n keys.
  int64_t DelayMs(uint64_t keys) const {
    const int64_t delay_us = settings_.key_load_delay;
    if (delay_us == 0) [[likely]]
      return 0;
    const auto waiting = static_cast<int64_t>(keys - delayed_keys_);
    return (delay_us > 0 ? waiting * delay_us : waiting / -delay_us) / 1000;
  }

  const Settings& settings_;
  uint64_t sliced_bytes_ = 0;  // when the slice began
  uint64_t delayed_keys_ = 0;  // for which it has waited
  int64_t next_ms_ = 0;
};

}  // namespace sluice
