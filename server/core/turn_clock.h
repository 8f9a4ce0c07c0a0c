// TurnClock: the time of a turn. It stands still while a turn's commands run, but for what asks for
// a new sample (DEBUG SLEEP and other long work); and the cheap tick by which commands are timed.
#pragma once

#include <cstdint>

#include "storage/time/clock.h"

namespace sluice {

class TurnClock {
 public:
  explicit TurnClock(Clock& clock) : clock_(clock), now_(clock.Sample()) {}

  const Now& now() const { return now_; }
  // Time stands still at a moment so long ago, until LetGo: what a log tells of lies ahead of it.
  void Hold(int64_t back_us) {
    now_ = clock_.Sample();
    now_.steady_us -= back_us;
    held_ = true;
  }
  // While it is held: Unix time less engine time, as it was then.
  void SetHeldOffset(int64_t unix_offset_ms) { now_.unix_offset_ms = unix_offset_ms; }
  void LetGo() {
    held_ = false;
    now_ = clock_.Sample();
  }
  // A new sample; true when the wall clock has stepped since the last one.
  bool Refresh() {
    if (held_) return false;
    const int64_t offset_ms = now_.unix_offset_ms;
    now_ = clock_.Sample();
    return now_.unix_offset_ms != offset_ms;
  }
  // While it lives time goes on, also where it is held: others are served from inside what holds
  // it.
  class Going {
   public:
    explicit Going(TurnClock& clock) : clock_(clock), now_(clock.now_), held_(clock.held_) {
      if (held_) clock.LetGo();
    }
    ~Going() {
      if (!held_) return;
      clock_.now_ = now_;
      clock_.held_ = true;
    }
    Going(const Going&) = delete;

   private:
    TurnClock& clock_;
    const Now now_;
    const bool held_;
  };
  // The tick at which the command before ended, and a new reading of it.
  int64_t tick() const { return tick_; }
  int64_t Tick() { return tick_ = clock_.TickNanos(); }
  // The clock itself, for what must not see the turn's frozen moment.
  Clock& clock() const { return clock_; }

 private:
  Clock& clock_;
  Now now_;
  int64_t tick_ = 0;
  bool held_ = false;
};

}  // namespace sluice
