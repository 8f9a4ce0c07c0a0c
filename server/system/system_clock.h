// SystemClock: the one place that asks the system for the time.
//
// Engine time is CLOCK_BOOTTIME, shifted so that at the start Unix time minus engine time is a
// whole number of milliseconds. The offset is sampled again every 100 ms and follows the wall clock
// when that has moved by a millisecond or more: by drift, by an NTP step or by an administrator's
// hand.
//
// Engine time is in µs and goes on while the machine is suspended; ticks are in ns, and only their
// differences mean something.
#pragma once

#include <string>

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
  std::string TickSource() const override;

 private:
  Now Read() override;
  Now Look();
  void BeginCalibration();
  void Calibrate(int64_t now_ns);

  int64_t shift_us_ = 0;  // added to CLOCK_BOOTTIME
  int64_t offset_ms_ = 0;
  int64_t next_sample_us_ = 0;
  const bool goes_by_ticks_;
  Now seen_;  // when it was last looked
  uint64_t seen_tsc_ = 0;
  int64_t last_steady_us_ = 0;  // that was answered: time never goes back
  // How long a tick of the TSC takes is measured on the way, for 0.2 ms: until then a tick is a
  // look at the system's clock.
  bool calibrates_ = false;  // still to be done
  int64_t calibrated_from_ns_ = 0;
  uint64_t tsc_origin_ = 0;
  uint64_t tsc_factor_ = 0;  // TSC ticks to ns, 32.32 fixed point; 0: no invariant TSC, or not yet
};

}  // namespace sluice
