// How locks go to their waiters (Locks, locks.h). Ends and grants cause each other: a release hands
// over, the hand-over may make its owner re-entrant elsewhere, and a request for several locks
// moves their lines, too. Nothing recurses: all of it is noted in lists (fresh_, moving_, dropped_,
// ended_sessions_), and Work deals with them in one loop, slice by slice.

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/locks/locks.h"

namespace sluice {
namespace {

bool IsReader(OpenLock& open, std::string_view owner) {
  const Lock* const lock = open.lock();
  return lock != nullptr && lock->mode() == LockMode::kShared && lock->FindOwner(owner) != nullptr;
}

}  // namespace

// Grants to all who may go in the lines of `names`, and in those that this moves in turn.
void Locks::MoveOn(Names names, const Now& now) {
  if (moving_.empty()) {
    moving_ = std::move(names);
  } else {
    moving_.insert(moving_.end(), names.begin(), names.end());
  }
  StartWork(now);
}

// Waits that were ready when no token could be issued are tried again once there are enough.
bool Locks::Continue(const Now& now) {
  static_assert(kLockNamesMax <= kTokensAtOnce);
  if (!starved_.empty() && tokens_.CanIssue(kTokensAtOnce)) {
    for (const auto& [name, there] : starved_) moving_.push_back(name);
    starved_.clear();
  }
  Work(kWorkPerCall, now);
  return has_left_over();
}

void Locks::StartWork(const Now& now) {
  if (working_ || stands_still_ || !has_left_over()) return;
  const int64_t budget = std::min(kWorkPerCall, turn_work_left_);
  Work(budget, now);
  if (turn_work_left_ != INT64_MAX) turn_work_left_ -= budget - work_left_;
}

// In the midst of it only what there is to do grows. Closed sessions lose their locks before others
// get them, as far as one call goes: else an owner that waits for one of several would be
// re-entrant in the others.
void Locks::Work(int64_t budget, const Now& now) {
  working_ = true;
  work_left_ = meter_looked_at_ = budget;
  while (HasTime() && work_left_ > budget / 2 && !ended_sessions_.empty()) {
    EndBond(ended_sessions_.back(), now);
  }
  // An order of precedence: re-entry first, for its owner may hold up its own line; then lines in
  // which something came free; then lines of dropped databases; then the closed sessions that are
  // left.
  while (HasTime() && has_left_over()) {
    if (!fresh_.empty()) {
      Reenter(now);
    } else if (!moving_.empty()) {
      MoveLine(now);
    } else if (!dropped_.empty()) {
      MoveDropped();
    } else {
      EndBond(ended_sessions_.back(), now);
    }
  }
  working_ = false;
}

// When the meter is spent, so is what was left.
bool Locks::HasTime() {
  if (meter_ != nullptr && work_left_ > 0 && work_left_ <= meter_looked_at_ - kWorkPerLook) {
    meter_looked_at_ = work_left_;
    if (meter_->IsSpent()) work_left_ = 0;
  }
  return work_left_ > 0;
}

void Locks::MoveDropped() {
  constexpr size_t kLines = 64;
  DroppedLines& dropped = dropped_.back();
  const size_t before = moving_.size();
  dropped.next = queue_.LinesOf(dropped.db, dropped.next, kLines, &moving_);
  if (moving_.size() == before || dropped.next > dropped.last) dropped_.pop_back();
}

// Until an owner has come to hold one of its locks that is re-entrant elsewhere: it goes first.
void Locks::MoveLine(const Now& now) {
  const LockName name = std::move(moving_.back());
  moving_.pop_back();
  OpenLock lock(store_, name);
  do {
    --work_left_;
    const LockWait* const next = queue_.FirstReady(lock, work_left_);
    if (next != nullptr && MustWait(lock, *next)) return held_up_.push_back(name);
    if (next != nullptr && !HandTo(lock, *next, now)) return;
    if (next == nullptr && work_left_ > 0) return;
  } while (HasTime() && fresh_.empty());
  moving_.push_back(name);  // it may not have been done with
}

// The owner holds these since just now: if it waits for them on other connections too, it is
// re-entrant there, whatever its place.
void Locks::LetReenter(absl::Span<OpenLock> granted, std::string_view name) {
  const WaitQueue::Owner* owner = queue_.FindOwner(name);
  if (owner == nullptr || owner->waits.empty()) return;
  for (const OpenLock& lock : granted) fresh_.push_back({LockName(lock.name()), std::string(name)});
}

void Locks::Reenter(const Now& now) {
  --work_left_;
  const Fresh fresh = fresh_.back();
  OpenLock lock(store_, fresh.name);
  const LockWait* again = queue_.FirstReentrant(lock, fresh.owner);
  if (again == nullptr || !HandTo(lock, *again, now)) return fresh_.pop_back();
  moving_.push_back(fresh.name);
}

// `at`: one of the locks that it waits for.
bool Locks::MustWait(OpenLock& at, const LockWait& next) {
  if (!store_.may_have_to_wait()) [[likely]]
    return false;
  return at.MustWait() || std::ranges::any_of(next.request.names, [this](const LockName& name) {
           return OpenLock(store_, name).MustWait();
         });
}

void Locks::Retry(const Now& now) {
  const std::vector<uint64_t> sessions = std::exchange(held_up_sessions_, {});
  ended_sessions_.insert(ended_sessions_.end(), sessions.begin(), sessions.end());
  MoveOn(std::exchange(held_up_, {}), now);
}

// The lock has just lost its last holder: the first that waits for it alone takes it as it is, so
// that no key goes and comes. None where others come first or come along: then Work hands it over.
std::optional<Locks::HandedOver> Locks::HandOverInPlace(OpenLock& open, Lock& lock,
                                                        const Now& now) {
  if (working_ || stands_still_ || has_left_over() || turn_work_left_ <= 0) return std::nullopt;
  if (store_.WithholdsFree(open.name())) [[unlikely]]
    return std::nullopt;
  const LockWait* const next = queue_.FirstReadyAlone(open);
  if (next == nullptr || !tokens_.CanIssue(1)) return std::nullopt;
  HandedOver handed{.wait = *next};
  queue_.Remove(handed.wait.id, absl::MakeSpan(&open, 1));
  lock.BeginAnew();
  const LockHolder& holder = PutHolder(lock, handed.wait.request, now);
  handed.grants.push_back({holder.token, holder.LeaseLeftMs(now), holder.holds});
  return handed;
}

void Locks::TellOfGrant(const LockWait& wait, const LockGrants& grants) {
  if (wait.request.terms.session != 0) callers_.SessionBound(wait.request.terms.session);
  callers_.WaitGranted(wait, grants);
  ++counts_.hand_overs;
}

// Ends the wait with a grant. False: there is no token to give, and it goes on to wait. The caller
// sees to the line of `at`, last of those that have to be looked at again: in a line of 100,000
// readers it is so 100,000 times.
bool Locks::HandTo(OpenLock& at, const LockWait& next, const Now& now) {
  // A copy: the queue forgets the wait before the caller is told of it.
  const LockWait wait = next;
  const LockNames& names = wait.request.names;
  OpenLocks several;
  absl::Span<OpenLock> locks(&at, 1);
  if (names.size() > 1) {
    for (const LockName& name : names) {
      several.push_back(KeyNameEqual()(name, at.name()) ? at : OpenLock(store_, name));
    }
    locks = absl::MakeSpan(several);
  }
  if (wait.request.upgrades && !IsReader(at, wait.request.owner)) {
    queue_.Remove(wait.id, locks);
    callers_.HoldLost(wait);
    return true;
  }
  if (!MayIssueFor(locks, wait.request)) {
    queue_.ParkAt(at.name(), wait.id);
    starved_.try_emplace(LockName(at.name()));
    return false;
  }
  work_left_ -= kHandOverWork + static_cast<int64_t>(names.size());
  queue_.Remove(wait.id, locks);
  callers_.WaitGranted(wait, GrantAll(locks, wait.request, now));
  ++counts_.hand_overs;
  for (const LockName& name : names) {
    if (!KeyNameEqual()(name, at.name())) moving_.push_back(name);
  }
  LetReenter(locks, wait.request.owner);
  return true;
}

}  // namespace sluice
