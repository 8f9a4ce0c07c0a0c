// TimeControl: the clock of a test double in the hands of its clients (SLUICE.CLOCK).
//
// A journey is time that a client has pass: ADVANCE so many ms, NEXT up to the first timer that
// fires. The clock stops at each moment at which the wheel has work; the engine settles that
// moment, with all that follows from it, before the next one (TurnLoop::PassTime). So a lease that
// ends hands its lock on at that very moment, and the new lease begins there. The caller is blocked
// until it has arrived; others are served between two slices of the journey, and see the time that
// it has reached. Journeys are made one after the other, each from where the one before it has
// ended.
//
// SET steps the wall clock and lets no time pass: deadlines that are a time span stay where they
// are, those that are a date follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/text/fault.h"
#include "server/core/lazy_deque.h"
#include "server/core/turn_clock.h"
#include "server/waiting/blocked_clients.h"
#include "storage/time/movable_clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

class TimeControl final : private WaitOwner {
 public:
  // Engine ms: no clock goes beyond, so that sums of two times stay far from the wheel's end.
  static constexpr int64_t kEndMs = TimerWheel::kDeadlineMsMax / 2;
  static constexpr int64_t kUnixMsMax = 253'402'300'799'999;  // the last one of the year 9999

  // The parts that it works with; all of them outlive it.
  struct Uses {
    MovableClock& movable;
    const TurnClock& clock;
    const TimerWheel& wheel;
    BlockedClients& blocked_clients;
    Clients& clients;
  };
  explicit TimeControl(const Uses& uses) : on_(uses) {}

  bool frozen() const { return on_.movable.frozen(); }
  void Freeze() { on_.movable.Freeze(); }
  void Run() { on_.movable.Run(); }
  // The wall clock shows `unix_ms`. Takes effect when the turn reads its time anew.
  void SetWall(int64_t unix_ms);

  // --- journeys
  // Blocks the caller until `ms` have passed; a sentence why it cannot be, or empty.
  Fault Advance(CommandCall& call, int64_t ms);
  // Until a timer has fired; it is answered how many ms that took, -1 when none is set.
  void Next(CommandCall& call);

  bool travels() const { return !journeys_.empty(); }
  // All is settled at this moment, and so many timers have fired since the engine's start: goes
  // on to the next moment at which there is something to do. False: the journey has ended here.
  bool Step(uint64_t fired);

 private:
  struct Journey {
    SessionId session;
    uint64_t id = 0;
    std::optional<int64_t> ms;  // to pass; none: to the next timer
    bool begun = false;
    int64_t from_ms = 0;
    uint64_t fired = 0;  // before it began
  };

  void WaitCancelled(uint64_t wait_id, WaitEnd end) override;
  void Enter(CommandCall& call, std::optional<int64_t> ms);
  bool HasArrived(Journey& journey, uint64_t fired) const;
  void Arrive(bool found_timer);

  const Uses on_;
  LazyDeque<Journey> journeys_;
  uint64_t last_id_ = 0;
};

}  // namespace sluice
