// LockRecorder: says once what happens to the holders of locks, whichever way it came about: a
// command, a lease that ends, a connection that closes, a hand-over. Storage tells it of each
// change of a holder (LockListener); from that follow
//   - the effect, by which a log gives the same holders (LOCK.RESTORE, LOCK.BREAK),
//   - the event for those that subscribe (lock-acquired, lock-released, lock-expired, lock-broken),
//   - the loss, of which holders with NOTIFY are told (LockLosses).
// So handlers of locks say NoEffect(), and nothing else.
//
// After a restart it notes what that tells of grants which are missing (RestartGrace).
//
// A crowd of holders that ends as a whole has one effect. Its events are as many as its holders,
// and are told in slices (TellEvents).
#pragma once

#include <cstdint>
#include <string_view>

#include "server/core/lazy_deque.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/core/turn_needs.h"
#include "server/dispatch/effects/change_recorder.h"
#include "server/locks/lease_horizon.h"
#include "server/locks/lock_losses.h"
#include "server/locks/restart_grace.h"
#include "storage/locks/locks.h"

namespace sluice {

class LockRecorder final : public LockListener {
 public:
  // The parts that it works with; all of them outlive it.
  struct Uses {
    const TurnClock& clock;
    const ChangeRecorder changes;
    SlowPathFlags& flags;
    LeaseHorizon& horizon;
    LockLosses& losses;
    RestartGrace& grace;
    TurnNeeds& turn_needs;
  };
  explicit LockRecorder(const Uses& uses) : on_(uses) {}

  // --- LockListener
  void LockAcquired(const Lock& lock, const LockHolder& holder) override;
  void HoldChanged(const Lock& lock, const LockHolder& holder) override;
  void ModeChanged(const Lock& lock, const LockHolder& holder, int64_t former) override;
  void LockEnded(const Lock& lock, const LockHolder& holder, LockEnd end) override;
  void AllEnded(const Lock& lock, const Lock::CrowdEnd& crowd, LockEnd end) override;
  void MinimumHoldEnded(const Lock& lock, const LockHolder& holder, LockEnd end) override;

  // The events of crowds: each takes one of `answers_left`, and the rest is for the next turn.
  void TellEvents(int& answers_left);
  bool any_to_tell() const { return !events_.empty(); }

 private:
  // The same event so many times.
  struct Events {
    LockName name;
    std::string_view event;
    int64_t left;
  };

  void AddEnd(const Lock& lock, int64_t token, LockEnd end);
  void NoteEvents(const Lock& lock, int64_t holders, LockEnd end);

  const Uses on_;
  LazyDeque<Events> events_;
};

}  // namespace sluice
