// See locks.h.
#include "storage/locks/locks.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/locks/deadlock.h"

namespace sluice {
namespace {

// So many connections to be told of a loss, and those that are gone among them are forgotten.
constexpr size_t kNotifiedSwept = 16;

}  // namespace

Locks::Locks(LockStore& store, LockListener& listener, FenceTokens& tokens, FenceMemory& memory,
             const SipKey& hash_key)
    : store_(store),
      listener_(listener),
      tokens_(tokens),
      memory_(memory),
      queue_(store, hash_key),
      starved_(0, LockNameHash(hash_key)) {}

// --- taking

AcquireResult Locks::Acquire(LockRequest request, const WaitTerms& wait, const Now& now) {
  using Obstacle = WaitQueue::Obstacle;
  assert(request.terms.lease_ms > 0 || request.terms.session != 0);
  for (const LockName& name : request.names) Settle(name, now);
  const Obstacle obstacle = queue_.ObstacleOf(request);
  if (obstacle == Obstacle::kNone) return Grant(request, now);
  if (obstacle == Obstacle::kLockMode) return {AcquireOutcome::kLockMode};
  if (obstacle == Obstacle::kOtherPermits) return {AcquireOutcome::kOtherPermits};
  if (obstacle == Obstacle::kHolders && wait.wait_ms == 0) return {AcquireOutcome::kRefused};
  return Wait(std::move(request), wait, obstacle == Obstacle::kQueue, now);
}

// The request may have all its locks, be it by going past others.
AcquireResult Locks::Grant(const LockRequest& request, const Now& now) {
  if (!MayIssueFor(request, now)) return {AcquireOutcome::kNoTokens};
  AcquireResult result{AcquireOutcome::kGranted};
  result.grants = GrantAll(request, now);
  LetReenter(request);
  if (!fresh_.empty()) StartWork(now);
  return result;
}

// An owner that holds or waits for nothing that others wait for cannot be in a circle, and nearly
// every request is of that kind.
AcquireResult Locks::Wait(LockRequest request, const WaitTerms& terms, bool only_queue,
                          const Now& now) {
  const bool may_wait = terms.wait_ms > 0;
  const bool entangled = queue_.FindOwner(request.owner) != nullptr;
  if (!may_wait && !entangled) return {AcquireOutcome::kRefused};
  const int64_t deadline_ms = now.ms() + terms.wait_ms;
  const LockWait* former = may_wait && entangled ? queue_.SameAsked(request) : nullptr;
  if (former != nullptr) return WaitInPlaceOf(*former, std::move(request), terms, now);
  const uint64_t id = queue_.Add(std::move(request), terms.client, now.ms(), deadline_ms);
  AcquireResult result{AcquireOutcome::kQueued};
  result.wait_id = id;
  const bool circle = entangled && ClosesCircle(id);
  if (may_wait && !circle) return result;
  // Going past others makes them wait for this owner: it must not wait for them elsewhere.
  const bool may_pass = circle && only_queue && queue_.At(id).owner->waits.size() == 1;
  const LockRequest asked = queue_.Find(id)->request;
  queue_.Remove(id);
  if (may_pass) return Grant(asked, now);
  counts_.deadlocks += may_wait;
  return {may_wait ? AcquireOutcome::kDeadlock : AcquireOutcome::kRefused};
}

// The owner has asked for the same on another connection, which may be dead without our knowing.
AcquireResult Locks::WaitInPlaceOf(const LockWait& former, LockRequest request,
                                   const WaitTerms& terms, const Now& now) {
  AcquireResult result{AcquireOutcome::kQueued};
  const LockWait replaced = queue_.Replace(former.id, std::move(request), terms.client, now.ms(),
                                           now.ms() + terms.wait_ms, &result.wait_id);
  if (ClosesCircle(result.wait_id)) {
    queue_.PutBack(result.wait_id, replaced);
    ++counts_.deadlocks;
    return {AcquireOutcome::kDeadlock};
  }
  listener_.WaitReplaced(replaced);
  // In another mode than before it may be free to go, or others behind it.
  const LockRequest asked = queue_.Find(result.wait_id)->request;
  Names names(asked.names.begin(), asked.names.end());
  if (queue_.At(result.wait_id).parked != nullptr) {
    // Later: the caller has still to learn under which number it waits, before it can be granted.
    moving_.insert(moving_.end(), names.begin(), names.end());
    return result;
  }
  queue_.Remove(result.wait_id);
  result = Grant(asked, now);
  MoveOn(std::move(names), now);
  return result;
}

bool Locks::ClosesCircle(uint64_t wait_id) {
  DeadlockSearch search(store_, queue_, queue_.At(wait_id));
  const bool closes = search.ClosesCircle();
  search_steps_ += search.steps();
  return closes;
}

// Only new holders need tokens.
bool Locks::MayIssueFor(const LockRequest& request, const Now& now) const {
  const auto is_new = [&](const LockName& name) {
    const Lock* lock = store_.FindLock(name);
    return lock == nullptr || lock->FindOwner(request.owner) == nullptr;
  };
  const auto count = std::count_if(request.names.begin(), request.names.end(), is_new);
  return count == 0 || tokens_.CanIssue(now, count);
}

LockGrants Locks::GrantAll(const LockRequest& request, const Now& now) {
  LockGrants grants;
  grants.reserve(request.names.size());
  for (const LockName& name : request.names) grants.push_back(GrantOne(name, request, now));
  return grants;
}

LockGrant Locks::GrantOne(LockNameView name, const LockRequest& request, const Now& now) {
  Lock* lock = store_.ModifyLock(name);
  const LockHolder* holder = nullptr;
  if (lock != nullptr && lock->FindOwner(request.owner) != nullptr) {
    holder = &lock->Reenter(request.owner, request.terms, now);
    if (holder->notify.size() > kNotifiedSwept) {
      lock->SweepNotified(request.owner,
                          [&](uint64_t connection) { return listener_.IsConnected(connection); });
    }
  } else {
    if (lock == nullptr) {
      lock = &store_.CreateLock(name);
      memory_.Supersede(name);  // from now on the lock knows its newest token itself
    }
    if (queue_.LineOf(name) != nullptr) lock->Watch();
    holder = &lock->Grant(request.owner, request.terms, tokens_.Issue(now), now);
    ++counts_.granted;
    listener_.LockAcquired(name, *holder);
  }
  if (request.terms.session != 0) listener_.SessionBound(request.terms.session);
  store_.LockChanged(name, *lock);
  return {holder->token, holder->LeaseLeftMs(now), holder->holds};
}

int64_t Locks::Renew(LockNameView name, std::string_view owner, int64_t lease_ms, int64_t token,
                     const Now& now) {
  Settle(name, now);
  if (!IsHeldBy(name, owner, token)) return -1;
  Lock* lock = store_.ModifyLock(name);
  const LockHolder* holder = lock->Renew(owner, lease_ms, token, now);
  store_.LockChanged(name, *lock);
  return holder->LeaseLeftMs(now);
}

// --- what others say

bool Locks::Restore(LockNameView name, const LockHolder& holder, const LockShape& shape,
                    const Now& now) {
  tokens_.JumpPast(holder.token);
  Lock* lock = store_.ModifyLock(name);
  if (lock == nullptr) {
    lock = &store_.CreateLock(name);
    memory_.Supersede(name);
  }
  if (queue_.LineOf(name) != nullptr) lock->Watch();
  const bool restored = lock->Restore(holder, shape);
  if (lock->empty()) {
    store_.RemoveLock(name);
  } else {
    store_.LockChanged(name, *lock);
  }
  if (restored) Settle(name, now);
  if (queue_.LineOf(name) != nullptr) MoveOn({LockName(name)}, now);
  return restored;
}

void Locks::Forgo(LockNameView name, int64_t token, const Now& now) {
  tokens_.JumpPast(token);
  EndHolders(name, LockEnd::kForgone, now,
             [&](Lock& lock, Lock::OnEnd on_end) { return lock.Forgo(token, now, on_end); });
}

// --- giving back and losing

int64_t Locks::Release(LockNameView name, std::string_view owner, bool all, int64_t token,
                       const Now& now) {
  Settle(name, now);
  if (!IsHeldBy(name, owner, token)) return -1;
  return EndHolders(name, LockEnd::kReleased, now, [&](Lock& lock, Lock::OnEnd on_end) {
    return lock.Release(owner, all, token, now, on_end);
  });
}

int64_t Locks::Break(LockNameView name, int64_t token, const Now& now) {
  Settle(name, now);
  const Lock* lock = store_.FindLock(name);
  if (lock == nullptr || (token != 0 && !lock->holders().contains(token))) return 0;
  const int64_t broken =
      EndHolders(name, LockEnd::kBroken, now,
                 [&](Lock& lock, Lock::OnEnd on_end) { return lock.Break(token, now, on_end); });
  return broken < 0 ? 0 : broken;
}

void Locks::Settle(LockNameView name, const Now& now) { Expire(name, now, INT64_MAX); }

// Ends at most so many leases that are over; returns how many.
int64_t Locks::Expire(LockNameView name, const Now& now, int64_t most) {
  const Lock* lock = store_.FindLock(name);
  Now until = now;
  until.steady_us = std::min(until.steady_us, std::min(leases_until_ms_, now.ms()) * 1000 + 999);
  if (lock == nullptr || lock->NextDeadlineMs() > until.ms()) return 0;
  int64_t left = most;
  EndHolders(name, LockEnd::kExpired, now,
             [&](Lock& due, Lock::OnEnd on_end) { return due.Expire(until, left, on_end); });
  return most - left;
}

std::vector<LockName> Locks::SettleAll(absl::Span<const LockName> names, const Now& now) {
  const bool was_working = std::exchange(working_, true);
  int64_t left = kExpiredPerCall;
  size_t begun = 0;
  for (; begun < names.size() && left > 0; ++begun) left -= Expire(names[begun], now, left);
  working_ = was_working;
  StartWork(now);
  return {names.begin() + begun, names.end()};
}

void Locks::SessionEnded(uint64_t session, const Now& now) {
  if (!HoldsAny(session)) return sessions_.Forget(session);
  ended_sessions_.push_back(session);
  StartWork(now);
}

void Locks::EndBond(uint64_t session, const Now& now) {
  const SessionBond* bond = sessions_.First(session);
  if (bond == nullptr) {
    sessions_.Forget(session);
    ended_sessions_.pop_back();
    return;
  }
  work_left_ -= kHandOverWork;
  const LockName name = bond->lock->name();
  const int64_t token = bond->token;
  // One that has left the keyspace may be still to be freed.
  if (store_.FindLock(name) != bond->lock) return bond->lock->Disown();
  Settle(name, now);
  EndHolders(name, LockEnd::kReleased, now, [&](Lock& lock, Lock::OnEnd on_end) {
    return lock.EndSession(session, token, now, on_end);
  });
}

// -1 when there is no lock. One that had no holder to begin with (a copy, one that was renamed)
// stays: nothing ended, so nothing is told to the log, and there the key stays too.
int64_t Locks::EndHolders(LockNameView name, LockEnd why, const Now& now,
                          absl::FunctionRef<int64_t(Lock&, Lock::OnEnd)> end) {
  Lock* lock = store_.ModifyLock(name);
  if (lock == nullptr) return -1;
  bool ended = false;
  const int64_t result = end(*lock, [&](const LockHolder& holder) {
    ended = true;
    if (holder.lingers()) return listener_.LingeringEnded(name, holder, why);
    ++(why == LockEnd::kExpired  ? counts_.expired
       : why == LockEnd::kBroken ? counts_.broken
                                 : counts_.released);
    listener_.LockEnded(name, holder, why);
  });
  if (ended && lock->empty()) {
    if (const int64_t token = lock->valid_token()) {
      memory_.Remember(name, token, now);
    } else {
      memory_.Forget(name);
    }
    store_.RemoveLock(name);
  } else {
    store_.LockChanged(name, *lock);
  }
  if (queue_.LineOf(name) != nullptr) MoveOn({LockName(name)}, now);
  return result;
}

void Locks::Dropped(LockNameView name, const Now& now) {
  memory_.Forget(name);
  if (queue_.LineOf(name) != nullptr) MoveOn({LockName(name)}, now);
}

void Locks::DroppedDatabase(int db, const Now& now) {
  memory_.ForgetDatabase(db, tokens_.last());
  if (queue_.size() == 0) return;
  dropped_.push_back({db, 0, queue_.last_line()});
  StartWork(now);
}

bool Locks::Cancel(uint64_t wait_id, const Now& now) {
  const LockWait* wait = queue_.Find(wait_id);
  if (wait == nullptr) return false;
  Names names(wait->request.names.begin(), wait->request.names.end());
  queue_.Remove(wait_id);
  MoveOn(std::move(names), now);
  return true;
}

// --- handing over

// Grants to all who may go in the lines of `names`, and in those that this moves in turn.
void Locks::MoveOn(Names names, const Now& now) {
  if (moving_.empty()) {
    moving_ = std::move(names);
  } else {
    moving_.insert(moving_.end(), names.begin(), names.end());
  }
  StartWork(now);
}

bool Locks::Continue(const Now& now) {
  if (!starved_.empty() && tokens_.CanIssue(now, static_cast<int64_t>(kLockNamesMax))) {
    for (const auto& [name, there] : starved_) moving_.push_back(name);
    starved_.clear();
  }
  Work(kWorkPerCall, now);
  return has_left_over();
}

void Locks::StartWork(const Now& now) {
  if (working_ || !has_left_over()) return;
  const int64_t budget = std::min(kWorkPerCall, turn_work_left_);
  Work(budget, now);
  if (turn_work_left_ != INT64_MAX) turn_work_left_ -= budget - work_left_;
}

// In the midst of it only what there is to do grows. Closed sessions lose their locks before others
// get them, as far as one call goes: else an owner that waits for one of several would be
// re-entrant in the others.
void Locks::Work(int64_t budget, const Now& now) {
  working_ = true;
  work_left_ = budget;
  while (work_left_ > budget / 2 && !ended_sessions_.empty()) {
    EndBond(ended_sessions_.back(), now);
  }
  while (work_left_ > 0 && has_left_over()) {
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

void Locks::MoveDropped() {
  constexpr size_t kLines = 64;
  DroppedLines& dropped = dropped_.back();
  const size_t before = moving_.size();
  dropped.next = queue_.LinesOf(dropped.db, dropped.next, kLines, &moving_);
  if (moving_.size() == before || dropped.next > dropped.last) dropped_.pop_back();
}

void Locks::MoveLine(const Now& now) {
  --work_left_;
  const LockName name = std::move(moving_.back());
  moving_.pop_back();
  if (const LockWait* next = queue_.FirstReady(name, work_left_)) {
    HandTo(name, *next, now);
    return;  // before it goes on here: an owner that is re-entrant goes first
  }
  if (work_left_ <= 0) moving_.push_back(name);  // it may not have been done with
}

// The owner holds these since just now: if it waits for them on other connections too, it is
// re-entrant there, whatever its place.
void Locks::LetReenter(const LockRequest& granted) {
  const WaitQueue::Owner* owner = queue_.FindOwner(granted.owner);
  if (owner == nullptr || owner->waits.empty()) return;
  for (const LockName& name : granted.names) fresh_.push_back({name, granted.owner});
}

void Locks::Reenter(const Now& now) {
  --work_left_;
  const Fresh& fresh = fresh_.back();
  const LockWait* again = queue_.FirstReentrant(fresh.name, fresh.owner);
  if (again == nullptr || !HandTo(LockName(fresh.name), *again, now)) fresh_.pop_back();
}

// Ends the wait with a grant. False: there is no token to give, and it goes on to wait.
bool Locks::HandTo(LockNameView at, const LockWait& next, const Now& now) {
  if (!MayIssueFor(next.request, now)) {
    queue_.ParkAt(at, next.id);
    starved_.try_emplace(LockName(at));
    return false;
  }
  const LockWait wait = next;
  const LockNames& names = wait.request.names;
  work_left_ -= kHandOverWork + static_cast<int64_t>(names.size());
  queue_.Remove(wait.id);
  listener_.WaitGranted(wait, GrantAll(wait.request, now));
  ++counts_.hand_overs;
  // Each once, this one first: a crowd of readers would leave its line's name here 100,000 times.
  for (const LockName& name : names) {
    if (!KeyNameEqual()(name, at)) moving_.push_back(name);
  }
  moving_.emplace_back(at);
  LetReenter(wait.request);
  return true;
}

bool Locks::IsHeldBy(LockNameView name, std::string_view owner, int64_t token) const {
  const Lock* lock = store_.FindLock(name);
  return lock != nullptr && lock->IsHeldBy(owner, token);
}

// --- fencing

TokenCheck Locks::CheckToken(LockNameView name, int64_t token, const Now& now) {
  const TokenCheck check = Check(name, token, now);
  counts_.fenced += check != TokenCheck::kValid;
  return check;
}

TokenCheck Locks::Check(LockNameView name, int64_t token, const Now& now) {
  if (token > tokens_.last()) return TokenCheck::kNeverIssued;
  Settle(name, now);
  const Lock* lock = store_.FindLock(name);
  // What a lock without holders was given under is of another name, or of before it was emptied.
  if (lock != nullptr && lock->empty()) lock = nullptr;
  if (lock != nullptr && (lock->Holds(token) || token == lock->valid_token()))
    return TokenCheck::kValid;
  if (lock != nullptr) return TokenCheck::kSuperseded;
  memory_.Collapse(now);
  const int64_t newest = memory_.Newest(name, now);
  if (token == newest && token > 0) return TokenCheck::kValid;
  return newest == 0 ? TokenCheck::kForgotten : TokenCheck::kSuperseded;
}

}  // namespace sluice
