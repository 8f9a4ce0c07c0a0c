// HostClock: a host program's time (TimeSource) as the engine's clock.
//
// The wall clock's offset is kept in whole milliseconds and follows the source once that has moved
// by one, as the system's does (SystemClock). Commands are timed by the same source: where time
// stands still they take none.
#pragma once

#include <cstdint>

#include "server/embed/time_source.h"
#include "storage/time/clock.h"

namespace sluice {

class HostClock final : public Clock {
 public:
  // `source` outlives it.
  explicit HostClock(TimeSource& source) : source_(source) {
    const int64_t steady_us = source_.Steady().count();
    const int64_t unix_us = source_.Unix().count();
    // Engine time begins at 0 or later, whatever the source's origin.
    origin_us_ = steady_us;
    offset_ms_ = unix_us / 1000;
    shift_us_ = unix_us - offset_ms_ * 1000;
  }
  int64_t TickNanos() override { return source_.Steady().count() * 1000; }

 private:
  Now Read() override {
    const int64_t steady_us = source_.Steady().count() - origin_us_ + shift_us_;
    const int64_t off_us = source_.Unix().count() - steady_us - offset_ms_ * 1000;
    if (off_us >= 1000 || off_us <= -1000) offset_ms_ += off_us / 1000;
    return {.steady_us = steady_us, .unix_offset_ms = offset_ms_};
  }

  TimeSource& source_;
  int64_t origin_us_ = 0;
  int64_t shift_us_ = 0;
  int64_t offset_ms_ = 0;
};

}  // namespace sluice
