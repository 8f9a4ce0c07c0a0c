// See lock_recorder.h. The hard case is a holder that gives its lock back before its MINHOLD is
// over: to its subscribers the lock is released, to the log the place is still taken, by a holder
// of no holds, until MinimumHoldEnded.
#include "server/locks/lock_recorder.h"

#include "protocol/text/number_text.h"
#include "server/locks/lock_effect.h"

namespace sluice {
namespace {

// By LockEnd: an end that a log says (kForgone) is a release, and so is one that is taken back.
std::string_view EventOf(LockEnd end) {
  constexpr std::string_view kEvents[] = {"lock-released", "lock-expired", "lock-broken",
                                          "lock-released", "lock-released"};
  return kEvents[static_cast<size_t>(end)];
}

}  // namespace

// The holder as it is now: the log needs no history to give it. A lease beyond what a start would
// know of keeps the answer until it is on disk.
void LockRecorder::HoldChanged(const Lock& lock, const LockHolder& holder) {
  if (!on_.changes.wants_effects()) return;
  if (!holder.is_minimum_hold()) ++on_.turn_needs.grants;
  if (on_.horizon.is_on() && !on_.horizon.Cover(holder, on_.clock.now()))
    on_.turn_needs.disk = true;
  if (on_.horizon.is_followed()) [[unlikely]]
    on_.horizon.Tell(holder, on_.clock.now());
  TellHolder(lock.name(), lock, holder, on_.clock.now(),
             [&](Args effect) { on_.changes.Add(lock.name().db, effect); });
}

void LockRecorder::LockAcquired(const Lock& lock, const LockHolder& holder) {
  // The effect before the event, as with any change.
  HoldChanged(lock, holder);
  if (on_.grace.is_on() && lock.mode() == LockMode::kExclusive) [[unlikely]]
    on_.grace.Settle(lock.name(), holder.token);
  on_.changes.Announce(kNotifyLock, "lock-acquired", lock.name());
}

// To a log it is the end of one hold and the begin of another; to subscribers a grant.
void LockRecorder::ModeChanged(const Lock& lock, const LockHolder& holder, int64_t former) {
  AddEnd(lock, former, LockEnd::kForgone);
  LockAcquired(lock, holder);
}

// The event, what the log needs to know the end, and the push to a holder that did not want it.
void LockRecorder::LockEnded(const Lock& lock, const LockHolder& holder, LockEnd end) {
  on_.changes.Announce(kNotifyLock, EventOf(end), lock.name());
  const bool may_keep_minimum = end == LockEnd::kReleased || end == LockEnd::kExpired;
  if (may_keep_minimum && holder.minhold_until_ms() > on_.clock.now().ms()) {
    LockHolder kept = holder;
    kept.BecomeMinimumHold();
    HoldChanged(lock, kept);
  } else {
    AddEnd(lock, holder.token, end);
  }
  if (end == LockEnd::kExpired) {
    on_.losses.Note(lock, holder, LockLoss::kExpired);
    if (on_.grace.IsOfBefore(holder.token) && !holder.proved) [[unlikely]]
      on_.grace.RanOut(lock.name(), holder.token);
  }
  if (end == LockEnd::kBroken) on_.losses.Note(lock, holder, LockLoss::kBroken);
}

// One effect for the whole crowd: its token 0 means all of them.
void LockRecorder::AllEnded(const Lock& lock, const Lock::CrowdEnd& crowd, LockEnd end) {
  AddEnd(lock, 0, end);
  NoteEvents(lock, crowd.over, LockEnd::kExpired);
  NoteEvents(lock, crowd.lost - crowd.over, end);
  if (end == LockEnd::kExpired) {
    on_.losses.NoteAll(lock, LockLoss::kExpired);
    const int64_t oldest = lock.holders().begin()->token;
    if (on_.grace.IsOfBefore(oldest)) on_.grace.RanOut(lock.name(), oldest);
  }
  if (end == LockEnd::kBroken) on_.losses.NoteAll(lock, LockLoss::kBroken);
}

void LockRecorder::MinimumHoldEnded(const Lock& lock, const LockHolder& holder, LockEnd end) {
  AddEnd(lock, holder.token, end);
}

// A replay that reads that a hold was broken, or taken back, knows that its token is stale. No
// token (0): of all.
void LockRecorder::AddEnd(const Lock& lock, int64_t token, LockEnd end) {
  if (!on_.changes.wants_effects()) return;
  const LockNameView name = lock.name();
  if (end == LockEnd::kBroken) ++on_.turn_needs.grants;
  if (end == LockEnd::kBroken || end == LockEnd::kTakenBack) {
    if (token == 0) return on_.changes.Add(name.db, {"LOCK.BREAK", name.key});
    return on_.changes.Add(name.db, {"LOCK.BREAK", name.key, "TOKEN", Int64Text(token)});
  }
  on_.changes.Add(name.db, {"LOCK.RESTORE", name.key, Int64Text(token)});
}

// --- events of crowds

// Each holder has an event of its own, so a crowd's are counted here and told in slices.
void LockRecorder::NoteEvents(const Lock& lock, int64_t holders, LockEnd end) {
  if (holders == 0 || !on_.changes.wants_events(kNotifyLock)) return;
  events_.push_back({LockName(lock.name()), EventOf(end), holders});
  on_.flags.Raise(SlowPathFlags::kServe);
}

void LockRecorder::TellEvents(int& answers_left) {
  while (!events_.empty() && answers_left > 0) {
    Events& events = events_.front();
    for (; events.left > 0 && answers_left > 0; --events.left, --answers_left) {
      on_.changes.Announce(kNotifyLock, events.event, events.name);
    }
    if (events.left == 0) events_.pop_front();
  }
}

}  // namespace sluice
