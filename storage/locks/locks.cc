// See locks.h. Handing over stands in locks_hand_over.cc: here is what sets it off, and the calls
// of one request. Nothing recurses: what comes free, or may be looked at again, is noted, and
// StartWork deals with it, while `working_` keeps the calls that this makes from beginning another.
#include "storage/locks/locks.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/locks/deadlock.h"

namespace sluice {
namespace {

// So many connections to be told of a loss, and those that are gone among them are forgotten.
constexpr size_t kNotifiedSwept = 16;

bool IsHeldBy(OpenLock& open, std::string_view owner, int64_t token) {
  const Lock* lock = open.lock();
  return lock != nullptr && lock->IsHeldBy(owner, token);
}

}  // namespace

Locks::Locks(LockStore& store, LockListener& listener, LockCallers& callers, FenceTokens& tokens,
             FenceMemory& memory, const SipKey& hash_key, WorkMeter* meter)
    : store_(store),
      listener_(listener),
      callers_(callers),
      tokens_(tokens),
      memory_(memory),
      queue_(store, hash_key),
      starved_(0, LockNameHash(hash_key)),
      meter_(meter) {}

// --- taking
// Acquire: settle what is over, ask the queue what is in the way, then grant, refuse or wait. A
// wait is queued first and searched for a circle then, because the search walks lines: if there is
// one it is taken out again before anything else sees it.

AcquireResult Locks::Acquire(absl::Span<OpenLock> locks, LockRequest&& request,
                             const WaitTerms& wait, const Now& now) {
  using Obstacle = WaitQueue::Obstacle;
  assert(request.terms.lease_ms > 0 || request.terms.session != 0);
  for (OpenLock& lock : locks) {
    Settle(lock, now, {.owner = request.owner, .permits = request.terms.shape.permits});
  }
  const Obstacle obstacle = queue_.ObstacleOf(request, locks, now.ms());
  if (obstacle == Obstacle::kNone) return Grant(locks, request, now);
  if (obstacle == Obstacle::kLockMode) return {AcquireOutcome::kLockMode};
  if (obstacle == Obstacle::kOtherPermits) return {AcquireOutcome::kOtherPermits};
  if (obstacle == Obstacle::kHolders && wait.wait_ms == 0) return {AcquireOutcome::kRefused};
  return Wait(locks, std::move(request), wait, obstacle == Obstacle::kQueue, now);
}

// The request may have all its locks, be it by going past others.
AcquireResult Locks::Grant(absl::Span<OpenLock> locks, const LockRequest& request, const Now& now) {
  if (!MayIssueFor(locks, request)) return {AcquireOutcome::kNoTokens};
  AcquireResult result{AcquireOutcome::kGranted};
  result.grants = GrantAll(locks, request, now);
  LetReenter(locks, request.owner);
  if (!fresh_.empty()) StartWork(now);
  return result;
}

// An owner that holds or waits for nothing that others wait for cannot be in a circle, and nearly
// every request is of that kind.
AcquireResult Locks::Wait(absl::Span<OpenLock> locks, LockRequest&& request, const WaitTerms& terms,
                          bool only_queue, const Now& now) {
  const bool may_wait = terms.wait_ms > 0;
  const bool entangled = queue_.FindOwner(request.owner) != nullptr;
  if (!may_wait && !entangled) return {AcquireOutcome::kRefused};
  request.names.clear();
  for (const OpenLock& lock : locks) request.names.emplace_back(lock.name());
  const int64_t deadline_ms = now.ms() + terms.wait_ms;
  const LockWait* former = may_wait && entangled ? queue_.SameAsked(request) : nullptr;
  if (former != nullptr) return WaitInPlaceOf(*former, locks, std::move(request), terms, now);
  const uint64_t id = queue_.Add(std::move(request), locks, terms.client, now.ms(), deadline_ms);
  AcquireResult result{AcquireOutcome::kQueued};
  result.wait_id = id;
  const bool circle = ClosesCircleWhereItStands(id, entangled, now);
  if (may_wait && !circle) return result;
  // Only waiters are ahead, and those wait for this very owner: going past them breaks the circle
  // (see wait_queue.h). It makes them wait for this owner, so it must not wait for them elsewhere.
  const bool may_pass = circle && only_queue && queue_.At(id).owner->waits.size() == 1;
  const LockRequest asked = queue_.Find(id)->request;
  queue_.TakeBack(id, locks);
  if (may_pass) return Grant(locks, asked, now);
  counts_.deadlocks += may_wait;
  return {may_wait ? AcquireOutcome::kDeadlock : AcquireOutcome::kRefused};
}

// The owner has asked for the same on another connection, which may be dead without our knowing.
AcquireResult Locks::WaitInPlaceOf(const LockWait& former, absl::Span<OpenLock> locks,
                                   LockRequest request, const WaitTerms& terms, const Now& now) {
  AcquireResult result{AcquireOutcome::kQueued};
  const LockWait replaced = queue_.Replace(former.id, std::move(request), terms.client, now.ms(),
                                           now.ms() + terms.wait_ms, &result.wait_id);
  if (ClosesCircle(result.wait_id, now)) {
    queue_.PutBack(result.wait_id, replaced);
    ++counts_.deadlocks;
    return {AcquireOutcome::kDeadlock};
  }
  callers_.WaitReplaced(replaced);
  // In another mode than before it may be free to go, or others behind it.
  const LockRequest asked = queue_.Find(result.wait_id)->request;
  Names names(asked.names.begin(), asked.names.end());
  if (queue_.At(result.wait_id).parked != nullptr) {
    // Later: the caller has still to learn under which number it waits, before it can be granted.
    moving_.insert(moving_.end(), names.begin(), names.end());
    return result;
  }
  queue_.Remove(result.wait_id, locks);
  result = Grant(locks, asked, now);
  MoveOn(std::move(names), now);
  return result;
}

bool Locks::ClosesCircle(uint64_t wait_id, const Now& now) {
  DeadlockSearch search(store_, queue_, queue_.At(wait_id), Until(now).ms());
  const bool closes = search.ClosesCircle();
  search_steps_ += search.steps();
  return closes;
}

// A place that a priority gives is worth no deadlock: the wait has the one at the end then, which
// it would have without. One that stands last, of an owner that nobody waits for, is in no circle.
bool Locks::ClosesCircleWhereItStands(uint64_t wait_id, bool entangled, const Now& now) {
  if (!entangled && WaitQueue::IsLast(queue_.At(wait_id))) return false;
  if (!ClosesCircle(wait_id, now)) return false;
  return !queue_.MoveToEnd(wait_id) || ClosesCircle(wait_id, now);
}

// Only new holders need tokens, and new writers.
bool Locks::MayIssueFor(absl::Span<OpenLock> locks, const LockRequest& request) const {
  const auto is_new = [&](OpenLock& open) {
    const Lock* lock = open.lock();
    return lock == nullptr || lock->FindOwner(request.owner) == nullptr || request.upgrades;
  };
  const auto count = std::count_if(locks.begin(), locks.end(), is_new);
  return count == 0 || tokens_.CanIssue(count);
}

// All or nothing was decided before: from here on no lock refuses.
LockGrants Locks::GrantAll(absl::Span<OpenLock> locks, const LockRequest& request, const Now& now) {
  LockGrants grants;
  grants.reserve(locks.size());
  for (OpenLock& lock : locks) grants.push_back(GrantOne(lock, request, now));
  return grants;
}

// Held by its owner already: one hold more under the same token. Else a new holder with a new
// token.
LockGrant Locks::GrantOne(OpenLock& open, const LockRequest& request, const Now& now) {
  LockChange lock(open);
  const LockHolder* holder = nullptr;
  if (lock && lock->FindOwner(request.owner) != nullptr) {
    holder = &ReenterOne(*lock, request, now);
  } else {
    if (!lock) {
      lock.Create();
      memory_.Supersede(open.name(), now);  // from now on the lock knows its newest token itself
    }
    holder = &PutHolder(*lock, request, now);
  }
  if (request.terms.session != 0) callers_.SessionBound(request.terms.session);
  return {holder->token, holder->LeaseLeftMs(now), holder->holds};
}

const LockHolder& Locks::PutHolder(Lock& lock, const LockRequest& request, const Now& now) {
  if (queue_.LineOf(lock.name()) != nullptr) lock.Watch();
  const LockHolder& holder = lock.Grant(request.owner, request.terms, tokens_.Issue(now), now);
  ++counts_.granted;
  listener_.LockAcquired(lock, holder);
  return holder;
}

const LockHolder& Locks::ReenterOne(Lock& lock, const LockRequest& request, const Now& now) {
  if (request.upgrades) return ChangeMode(lock, request.owner, LockMode::kExclusive, now);
  const LockHolder& holder = lock.Reenter(request.owner, request.terms, now);
  if (holder.notify().size() > kNotifiedSwept) {
    lock.SweepNotified(request.owner,
                       [&](uint64_t connection) { return callers_.IsConnected(connection); });
  }
  listener_.HoldChanged(lock, holder);
  return holder;
}

int64_t Locks::Renew(OpenLock& open, std::string_view owner, int64_t lease_ms, int64_t token,
                     const Now& now) {
  Settle(open, now, {.owner = owner});
  if (!IsHeldBy(open, owner, token)) return -1;
  LockChange lock(open);
  const LockHolder& holder = *lock->Renew(owner, lease_ms, token, now);
  listener_.HoldChanged(*lock, holder);
  return holder.LeaseLeftMs(now);
}

// --- giving back and losing
// A lock that loses its last holder is taken over by the first that waits for it alone, or removed
// by the end of its LockChange; its newest token goes to the memory before (RememberNewest), so no
// moment exists in which neither knows it.

int64_t Locks::Release(OpenLock& open, std::string_view owner, bool all, int64_t token,
                       const Now& now) {
  Settle(open, now, {.owner = owner});
  if (!IsHeldBy(open, owner, token)) return -1;
  const int64_t left = EndHolders(
      open, LockEnd::kReleased, now,
      [&](Lock& lock, Lock::OnEnd on_end) { return lock.Release(owner, all, token, now, on_end); });
  if (left > 0) listener_.HoldChanged(*open.lock(), *open.lock()->FindOwner(owner));
  return left;
}

bool Locks::TakeBack(OpenLock& open, std::string_view owner, int64_t token, const Now& now) {
  Settle(open, now, {.owner = owner});
  if (!IsHeldBy(open, owner, token)) return false;
  const bool is_last = open.lock()->FindOwner(owner)->holds <= 1;
  EndHolders(open, LockEnd::kTakenBack, now, [&](Lock& lock, Lock::OnEnd on_end) {
    return is_last ? lock.Break(token, now, on_end)
                   : lock.Release(owner, false, token, now, on_end);
  });
  if (is_last) return true;
  ++counts_.taken_back;
  listener_.HoldChanged(*open.lock(), *open.lock()->FindOwner(owner));
  return true;
}

int64_t Locks::Break(OpenLock& open, int64_t token, const Now& now) {
  Settle(open, now, {.token = token});
  const Lock* lock = open.lock();
  if (lock == nullptr || (token != 0 && lock->holders().Find(token) == nullptr)) return 0;
  if (token == 0 && lock->is_crowd()) return EndAll(open, LockEnd::kBroken, now);
  const int64_t broken =
      EndHolders(open, LockEnd::kBroken, now,
                 [&](Lock& lock, Lock::OnEnd on_end) { return lock.Break(token, now, on_end); });
  return broken < 0 ? 0 : broken;
}

// Small locks are settled whole. In a crowd only what this caller asks about is sure to be settled:
// its own holder, and room for the permits that it wants; the rest goes in slices.
void Locks::Settle(OpenLock& open, const Now& now, const Looked& looked) {
  const Lock* lock = open.lock();
  if (lock == nullptr || !lock->is_crowd()) {
    Expire(open, now, INT64_MAX);
    return;
  }
  const Now until = Until(now);
  if (lock->NextDeadlineMs() > until.ms()) return;
  if (lock->AllOver(until.ms())) {
    EndAll(open, LockEnd::kExpired, now);
    return;
  }
  const LockHolder* holder = lock->FindHolder(looked.owner, looked.token);
  if (holder != nullptr && holder->EndsAtMs() <= until.ms()) {
    EndHolders(open, LockEnd::kExpired, now, [&](Lock& due, Lock::OnEnd on_end) {
      return due.ExpireOne(holder->token, until, on_end);
    });
  }
  const int64_t most = std::max(expired_left_, std::min(looked.permits, kExpiredForRoom));
  const int64_t ended = most == 0 ? 0 : Expire(open, now, most);
  if (expired_left_ != INT64_MAX) expired_left_ = std::max<int64_t>(0, expired_left_ - ended);
}

void Locks::SettleToLook(OpenLock& open, const Now& now, const Looked& looked) {
  const Lock* lock = open.lock();
  const bool is_over = lock != nullptr && lock->NextDeadlineMs() <= Until(now).ms();
  if (is_over && !open.MustWait()) Settle(open, now, looked);
}

// The moment up to which leases end: now, or earlier while requests from before are still unread.
Now Locks::Until(const Now& now) const {
  Now until = now;
  until.steady_us = std::min(until.steady_us, std::min(leases_until_ms_, now.ms()) * 1000 + 999);
  return until;
}

// Ends at most so many leases that are over; returns how many.
int64_t Locks::Expire(OpenLock& open, const Now& now, int64_t most) {
  const Lock* lock = open.lock();
  if (lock == nullptr) return 0;
  const Now until = Until(now);
  if (lock->NextDeadlineMs() > until.ms()) return 0;
  if (lock->AllOver(until.ms())) {
    EndAll(open, LockEnd::kExpired, now);
    return 1;
  }
  int64_t left = most;
  EndHolders(open, LockEnd::kExpired, now,
             [&](Lock& due, Lock::OnEnd on_end) { return due.Expire(until, left, on_end); });
  return most - left;
}

std::vector<LockName> Locks::SettleAll(absl::Span<const LockName> names, const Now& now) {
  std::optional<HandOverLater> later;
  if (names.size() > 1) later.emplace(*this, now);
  int64_t left = kExpiredPerCall;
  size_t begun = 0;
  while (begun < names.size() && left > 0) {
    OpenLock lock(store_, names[begun]);
    const int64_t most = std::min(left, kExpiredPerLook);
    const int64_t ended = Expire(lock, now, most);
    left -= ended;
    if (ended < most) ++begun;
    if (meter_ != nullptr && meter_->IsSpent()) break;
  }
  return {names.begin() + begun, names.end()};
}

void Locks::SessionEnded(uint64_t session, const Now& now, bool goes_on) {
  if (!HoldsAny(session)) return sessions_.Forget(session);
  if (goes_on) going_on_ = session;
  ended_sessions_.push_back(session);
  StartWork(now);
}

// One binding a call: the loop in Work comes back for the next.
void Locks::EndBond(uint64_t session, const Now& now) {
  const SessionBond* bond = sessions_.First(session);
  if (bond == nullptr) {
    sessions_.Forget(session);
    ended_sessions_.pop_back();
    return;
  }
  work_left_ -= kHandOverWork;
  auto& bound = static_cast<Lock&>(*bond->lock);
  const LockName name(bound.name());
  const int64_t token = bond->token;
  OpenLock open(store_, name);
  // One that has left the keyspace may be still to be freed.
  if (open.lock() != &bound) return bound.Unbind(session, token);
  if (session != going_on_ && open.MustWait()) {
    held_up_sessions_.push_back(session);
    return ended_sessions_.pop_back();
  }
  Settle(open, now, {.token = token});
  EndHolders(open, LockEnd::kReleased, now, [&](Lock& lock, Lock::OnEnd on_end) {
    return lock.EndSession(session, token, now, on_end);
  });
}

// Every loss goes through here: count, tell, remember the token, move the line on. Returns -1 when
// there is no lock.
int64_t Locks::EndHolders(OpenLock& open, LockEnd why, const Now& now, End end) {
  std::optional<HandedOver> handed;
  int64_t result = -1;
  {
    LockChange lock(open);
    if (!lock) return -1;
    bool ended = false;
    result = end(*lock, [&](const LockHolder& holder) {
      ended = true;
      if (holder.is_minimum_hold()) return listener_.MinimumHoldEnded(*lock, holder, why);
      ++CountOf(why);
      listener_.LockEnded(*lock, holder, why);
    });
    if (ended && lock->empty()) {
      handed = HandOverInPlace(open, *lock, now);
      if (!handed) RememberNewest(*lock, open.name(), now);
    }
  }
  if (handed) {
    TellOfGrant(handed->wait, handed->grants);
    LetReenter(absl::MakeSpan(&open, 1), handed->wait.request.owner);
  }
  if (result >= 0) MoveOnIfAwaited(open.name(), now);
  return result;
}

// At the cost of one. How many lost it by `why`: of a crowd that is broken, leases that were over
// had ended by that. Requires: it is a crowd.
int64_t Locks::EndAll(OpenLock& open, LockEnd why, const Now& now) {
  int64_t ended = 0;
  {
    LockChange lock(open);
    const bool broken = why == LockEnd::kBroken;
    const Lock::CrowdEnd crowd = lock->EndAll(broken, broken ? Until(now).ms() : INT64_MIN);
    ended = crowd.lost - crowd.over;
    CountOf(why) += static_cast<uint64_t>(ended);
    CountOf(LockEnd::kExpired) += static_cast<uint64_t>(crowd.over);
    listener_.AllEnded(*lock, crowd, why);
    RememberNewest(*lock, open.name(), now);
  }
  MoveOnIfAwaited(open.name(), now);
  return ended;
}

// A broken token is worth nothing: then what is known of the lock goes, too.
void Locks::RememberNewest(const Lock& lock, LockNameView name, const Now& now) {
  if (const int64_t token = lock.valid_token()) {
    memory_.Remember(name, token, now);
  } else {
    memory_.Forget(name);
  }
}

uint64_t& Locks::CountOf(LockEnd why) {
  if (why == LockEnd::kExpired) return counts_.expired;
  if (why == LockEnd::kTakenBack) return counts_.taken_back;
  return why == LockEnd::kBroken ? counts_.broken : counts_.released;
}

void Locks::MoveOnIfAwaited(LockNameView name, const Now& now) {
  if (queue_.LineOf(name) != nullptr) MoveOn({LockName(name)}, now);
}

void Locks::Dropped(LockNameView name, const Now& now) {
  memory_.Forget(name);
  MoveOnIfAwaited(name, now);
}

void Locks::DroppedDatabase(int db, const Now& now) {
  memory_.ForgetDatabase(db, tokens_.last());
  LookAgain(db, now);
}

void Locks::LookAgain(int db, const Now& now) {
  if (queue_.size() == 0) return;
  dropped_.push_back({db, 0, queue_.last_line()});  // later lines need no look
  StartWork(now);
}

bool Locks::Cancel(uint64_t wait_id, const Now& now) {
  const LockWait* wait = queue_.Find(wait_id);
  if (wait == nullptr) return false;
  Names names(wait->request.names.begin(), wait->request.names.end());
  queue_.Remove(wait_id);
  MoveOn(std::move(names), now);  // the waits behind it may be free to go now
  return true;
}

// --- fencing
// A token passes if it is held, or is the newest of its lock: of the lock in the keyspace, or of
// what is remembered of one that has left it.

TokenCheck Locks::CheckToken(OpenLock& open, int64_t token, const Now& now) {
  const TokenCheck check = Check(open, token, now);
  counts_.fenced += check != TokenCheck::kValid;
  return check;
}

// A lease that is over may still be there: see SettleToLook.
bool Locks::HoldsUntil(const Lock& lock, int64_t token, const Now& until) {
  const LockHolder* const holder = lock.FindHolder({}, token);
  if (holder == nullptr || holder->is_minimum_hold()) return false;
  return holder->EndsAtMs() > until.ms() || !holder->sessions().empty();
}

// In the order of what is known best: the lock itself, then the memory of locks that have left.
TokenCheck Locks::Check(OpenLock& open, int64_t token, const Now& now) {
  if (token > tokens_.last()) return TokenCheck::kNeverIssued;
  SettleToLook(open, now, {.token = token});
  const Lock* lock = open.lock();
  // The tokens of a lock without holders are of another name, or of before it was emptied.
  if (lock != nullptr && lock->empty()) lock = nullptr;
  // One that was given back passes as the newest, where no newer one may be missing.
  const auto is_newest = [&] { return token == lock->valid_token() && token > memory_.doubted(); };
  if (lock != nullptr && (HoldsUntil(*lock, token, Until(now)) || is_newest()))
    return TokenCheck::kValid;
  if (lock != nullptr) return TokenCheck::kSuperseded;
  memory_.Collapse(now);
  const int64_t newest = memory_.Newest(open.name(), now);
  if (token == newest && token > 0) return TokenCheck::kValid;
  return newest == 0 ? TokenCheck::kForgotten : TokenCheck::kSuperseded;
}

}  // namespace sluice
