// SystemClock: the one place that asks the system for the time.
//
// Engine time is CLOCK_BOOTTIME, shifted so that at the start Unix time minus engine time is a
// whole number of milliseconds. The offset is sampled again every 100 ms and follows the wall clock
// when that has moved by a millisecond or more: by drift, by an NTP step or by an administrator's
// hand.
//
// Engine time is in µs and goes on while the machine is suspended; ticks are in ns of the steady
// clock, and only their differences mean something. Where the processor says that its counter runs
// evenly (invariant), ticks are read from that, once they have been measured for a second.
#pragma once

#include <string>

#include "server/system/tick_scale.h"
#include "storage/time/clock.h"

namespace sluice {

class SystemClock final : public Clock {
 public:
  // kByTicks, for programs that read it for each command: between two looks at the system's clocks,
  // a millisecond apart at most, it goes by ticks.
  enum class Reading : uint8_t { kEachTime, kByTicks };
  explicit SystemClock(Reading reading = Reading::kEachTime);
  int64_t CpuMicros() override;
  int64_t TickNanos() override;
  int64_t WorkNanos() const override;
  std::string TickSource() const override;

 private:
  Now Read() override;
  Now Look();
  int64_t NoteTicks();

  int64_t shift_us_ = 0;  // added to CLOCK_BOOTTIME
  int64_t offset_ms_ = 0;
  int64_t next_sample_us_ = 0;
  const bool goes_by_ticks_;
  Now seen_;  // when it was last looked
  uint64_t seen_tsc_ = 0;
  int64_t last_steady_us_ = 0;  // that was answered: time never goes back
  bool counts_ticks_ = false;   // there is an invariant counter
  TickScale scale_;             // of it
};

}  // namespace sluice
