// MovableClock: another clock, and a hand on it. It can be frozen, be let run again from where it
// stands, have time pass on it, and have its wall clock stepped, as NTP or `date -s` steps one:
//
//   MovableClock clock(system);
//   clock.Freeze();
//   clock.Pass(60'000'000);      // a minute passes: every deadline is a minute nearer
//   clock.StepWall(-3'600'000);  // it is an hour earlier; relative deadlines do not feel it
//   clock.Run();
//
// Time never runs backwards on it: what has passed by hand is ahead of the clock below for good.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>

#include "storage/time/clock.h"

namespace sluice {

class MovableClock final : public Clock {
 public:
  // `base` outlives it.
  explicit MovableClock(Clock& base) : base_(&base) {}

  bool frozen() const { return frozen_; }
  // At the next whole millisecond: spans that begin while it stands end to the millisecond.
  void Freeze() {
    held_ = Read();
    held_.steady_us = (held_.steady_us + 999) / 1000 * 1000;
    frozen_ = true;
  }
  void Run() {
    if (!frozen_) return;
    frozen_ = false;
    const Now base = base_->Sample();
    ahead_us_ = held_.steady_us - base.steady_us;
    wall_ahead_ms_ = held_.unix_offset_ms - base.unix_offset_ms;
  }
  void Pass(int64_t us) {
    assert(us >= 0);
    (frozen_ ? held_.steady_us : ahead_us_) += us;
  }
  // The wall clock alone, forwards or backwards.
  void StepWall(int64_t ms) { (frozen_ ? held_.unix_offset_ms : wall_ahead_ms_) += ms; }

  int64_t CpuMicros() override { return base_->CpuMicros(); }
  int64_t TickNanos() override { return base_->TickNanos(); }  // commands are timed as they are
  int64_t WorkNanos() const override { return base_->WorkNanos(); }
  std::string TickSource() const override { return base_->TickSource(); }

 private:
  Now Read() override {
    if (frozen_) return held_;
    Now now = base_->Sample();
    now.steady_us += ahead_us_;
    now.unix_offset_ms += wall_ahead_ms_;
    return now;
  }

  Clock* base_;
  bool frozen_ = false;
  Now held_;  // while frozen
  int64_t ahead_us_ = 0;
  int64_t wall_ahead_ms_ = 0;
};

}  // namespace sluice
