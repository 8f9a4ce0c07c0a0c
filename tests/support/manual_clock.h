// ManualClock: time that moves only when a test, a simulation or a benchmark says so.
#pragma once

#include <cstdint>

#include "storage/time/clock.h"

namespace sluice {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t unix_ms = 1'700'000'000'000) { now_.unix_offset_ms = unix_ms; }
  int64_t TickNanos() override { return now_.steady_us * 1000; }
  int64_t WorkNanos() const override { return now_.steady_us * 1000; }

  void Advance(int64_t ms) { now_.steady_us += ms * 1000; }
  void AdvanceMicros(int64_t us) { now_.steady_us += us; }
  void StepWall(int64_t ms) { now_.unix_offset_ms += ms; }  // as an NTP step or `date -s` would

 private:
  Now Read() override { return now_; }

  Now now_;
};

}  // namespace sluice
