// TurnClock: the time of a turn. It stands still while a turn's commands run, but for what asks for
// a new sample (DEBUG SLEEP and other long work) or for the present beside it (TIME, and what
// scripts count from); and the cheap tick by which commands are timed.
//
// A session's commands may run at another moment than the turn's: those of a log are played before
// all that they tell of. The next command of the same turn sees the present again. So now() is a
// value: a reference would change under its holder.
//
//   const TurnClock::Hold hold = clock.HoldAt(moment);
//   command.spec->run(call);
#pragma once

#include <cstdint>

#include "storage/time/clock.h"

namespace sluice {

class TurnClock {
 public:
  explicit TurnClock(Clock& clock) : clock_(clock), now_(clock.Sample()) {}

  Now now() const { return now_; }
  // A new sample, unless time is held; true when the wall clock has stepped since the last one.
  bool Refresh() {
    if (held_) return false;
    const int64_t offset_ms = now_.unix_offset_ms;
    now_ = clock_.Sample();
    sampled_tick_ = tick_;
    return now_.unix_offset_ms != offset_ms;
  }
  // While it lives time stands still at a moment that its owner names; behind it, time is as it was
  // before. Holds nest. Timers of absolute deadlines that are set meanwhile lie at that moment's
  // offset: where it is not the present's, see Keyspace::WallStepped.
  class [[nodiscard]] Hold {
   public:
    Hold(TurnClock& clock, const Now& moment)
        : clock_(clock), now_(clock.now_), held_(clock.held_) {
      clock.now_ = moment;
      clock.held_ = true;
    }
    ~Hold() {
      clock_.now_ = now_;
      clock_.held_ = held_;
    }
    Hold(const Hold&) = delete;

   private:
    TurnClock& clock_;
    const Now now_;
    const bool held_;
  };
  Hold HoldAt(const Now& moment) { return Hold(*this, moment); }
  // While it lives time goes on, also where it is held: others are served from inside what holds
  // it.
  class [[nodiscard]] Going {
   public:
    explicit Going(TurnClock& clock) : clock_(clock), now_(clock.now_), held_(clock.held_) {
      if (!held_) return;
      clock.held_ = false;
      clock.now_ = clock.clock_.Sample();
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
  // The moment itself, for what goes on while now() stands still; a held time stays as it is.
  Now Present() const { return held_ ? now_ : clock_.Sample(); }
  // As that, but up to a millisecond old: a sample costs more than a tick.
  Now RecentPresent() const {
    if (clock_.TickNanos() - sampled_tick_ < kRecentNanos) [[likely]]
      return now_;
    return Present();
  }
  // The tick at which the command before ended, and a new reading of it.
  int64_t tick() const { return tick_; }
  int64_t Tick() { return tick_ = clock_.TickNanos(); }
  // The clock itself, for what must not see the turn's frozen moment.
  Clock& clock() const { return clock_; }

 private:
  static constexpr int64_t kRecentNanos = 1'000'000;

  Clock& clock_;
  Now now_;
  int64_t tick_ = 0;
  int64_t sampled_tick_ = 0;  // no later than the sample
  bool held_ = false;
};

}  // namespace sluice
