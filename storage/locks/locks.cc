// See locks.h.
#include "storage/locks/locks.h"

#include <cassert>
#include <utility>

#include "storage/locks/deadlock.h"

namespace sluice {

Locks::Locks(LockStore& store, LockListener& listener, FenceTokens& tokens, FenceMemory& memory,
             const SipKey& hash_key)
    : store_(store),
      listener_(listener),
      tokens_(tokens),
      memory_(memory),
      owners_(hash_key),
      queue_(store, hash_key) {}

// --- taking

AcquireResult Locks::Acquire(LockRequest request, const WaitTerms& wait, const Now& now) {
  assert(request.terms.lease_ms > 0 || request.terms.session != 0);
  for (const LockName& name : request.names) Settle(name, now);
  AcquireResult result;
  result.outcome = WhyNot(request, wait);
  if (result.outcome == AcquireOutcome::kGranted) {
    if (!tokens_.CanIssue(now, static_cast<int64_t>(request.names.size()))) {
      result.outcome = AcquireOutcome::kNoTokens;
      return result;
    }
    result.grants = GrantAll(request, now);
    // The owner may wait for these locks on another connection: it is re-entrant now.
    if (queue_.WaitsOf(request.owner) == nullptr) return result;
    Names moved;
    LetReenter(request.names, request.owner, &moved, now);
    MoveOn(std::move(moved), now);
  } else if (result.outcome == AcquireOutcome::kQueued) {
    result.wait_id = queue_.Add(std::move(request), wait.client, now.ms(), now.ms() + wait.wait_ms);
  }
  return result;
}

// What is to become of a request: kGranted and kQueued stand for what is to be done.
AcquireOutcome Locks::WhyNot(const LockRequest& request, const WaitTerms& wait) {
  using Obstacle = WaitQueue::Obstacle;
  const Obstacle obstacle = queue_.ObstacleOf(request);
  if (obstacle == Obstacle::kNone) return AcquireOutcome::kGranted;
  if (obstacle == Obstacle::kLockMode) return AcquireOutcome::kLockMode;
  if (obstacle == Obstacle::kOtherPermits) return AcquireOutcome::kOtherPermits;
  const bool may_wait = wait.wait_ms > 0;
  if (obstacle == Obstacle::kHolders && !may_wait) return AcquireOutcome::kRefused;
  // Only who holds or waits somewhere can be waited for.
  if ((owners_.MayHold(request.owner) || queue_.WaitsOf(request.owner) != nullptr) &&
      DeadlockSearch(store_, queue_, request).ClosesCircle())
    return obstacle == Obstacle::kQueue ? AcquireOutcome::kGranted : AcquireOutcome::kDeadlock;
  return may_wait ? AcquireOutcome::kQueued : AcquireOutcome::kRefused;
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
    if (request.terms.session != 0) {
      LeaveSession(lock->FindOwner(request.owner)->session, name);
    }
    holder = &lock->Reenter(request.owner, request.terms, now);
  } else {
    if (lock == nullptr) {
      lock = &store_.CreateLock(name);
      memory_.Supersede(name);  // from now on the lock knows its newest token itself
    }
    holder = &lock->Grant(request.owner, request.terms, tokens_.Issue(now), now);
    listener_.LockAcquired(name, *holder);
  }
  JoinSession(request.terms.session, name);
  store_.LockChanged(name, *lock);
  return {holder->token, holder->LeaseLeftMs(now), holder->holds};
}

int64_t Locks::Renew(LockNameView name, std::string_view owner, int64_t lease_ms, int64_t token,
                     const Now& now) {
  Settle(name, now);
  Lock* lock = store_.ModifyLock(name);
  const LockHolder* holder = lock == nullptr ? nullptr : lock->Renew(owner, lease_ms, token, now);
  if (holder == nullptr) return -1;
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
  const bool restored = lock->Restore(holder, shape);
  if (restored) JoinSession(holder.session, name);
  if (lock->empty()) {
    store_.RemoveLock(name);
  } else {
    store_.LockChanged(name, *lock);
  }
  if (restored) Settle(name, now);
  return restored;
}

void Locks::Forgo(LockNameView name, int64_t token, const Now& now) {
  tokens_.JumpPast(token);
  EndHolders(name, LockEnd::kForgone, now,
             [&](Lock& lock, Lock::OnEnd on_end) { return lock.Break(token, now, on_end); });
}

// --- giving back and losing

int64_t Locks::Release(LockNameView name, std::string_view owner, bool all, int64_t token,
                       const Now& now) {
  Settle(name, now);
  return EndHolders(name, LockEnd::kReleased, now, [&](Lock& lock, Lock::OnEnd on_end) {
    return lock.Release(owner, all, token, now, on_end);
  });
}

int64_t Locks::Break(LockNameView name, int64_t token, const Now& now) {
  Settle(name, now);
  const int64_t broken =
      EndHolders(name, LockEnd::kBroken, now,
                 [&](Lock& lock, Lock::OnEnd on_end) { return lock.Break(token, now, on_end); });
  return broken < 0 ? 0 : broken;
}

void Locks::Settle(LockNameView name, const Now& now) {
  const Lock* lock = store_.FindLock(name);
  if (lock == nullptr || lock->NextDeadlineMs() > now.ms()) return;
  EndHolders(name, LockEnd::kExpired, now,
             [&](Lock& due, Lock::OnEnd on_end) { return due.Expire(now, on_end); });
}

void Locks::SessionEnded(uint64_t session, const Now& now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const std::map<LockName, size_t> names = std::move(found->second.names);
  sessions_.erase(found);
  for (const auto& [held, count] : names) {
    const LockNameView name = held;  // a structured binding cannot be captured
    Settle(name, now);
    EndHolders(name, LockEnd::kReleased, now, [&](Lock& lock, Lock::OnEnd on_end) {
      return lock.EndSession(session, now, on_end);
    });
  }
}

// -1 when there is no lock. One that nobody held to begin with (a copy, one that was renamed) stays:
// nothing ended, so nothing is told to the log, and there the key stays too.
int64_t Locks::EndHolders(LockNameView name, LockEnd why, const Now& now,
                          absl::FunctionRef<int64_t(Lock&, Lock::OnEnd)> end) {
  Lock* lock = store_.ModifyLock(name);
  if (lock == nullptr) return -1;
  bool ended = false;
  const int64_t result = end(*lock, [&](const LockHolder& holder) {
    ended = true;
    if (holder.lingers()) return listener_.LingeringEnded(name, holder);
    LeaveSession(holder.session, name);
    listener_.LockEnded(name, holder, why);
  });
  if (ended && lock->empty()) {
    memory_.Remember(name, lock->newest_token(), now);
    store_.RemoveLock(name);
  } else {
    store_.LockChanged(name, *lock);
  }
  if (queue_.QueueOf(name) != nullptr) MoveOn({LockName(name)}, now);
  return result;
}

void Locks::Dropped(LockNameView name, const Now& now) {
  memory_.Forget(name);
  if (queue_.QueueOf(name) != nullptr) MoveOn({LockName(name)}, now);
}

void Locks::DroppedDatabase(int db, const Now& now) {
  memory_.ForgetDatabase(db);
  MoveOn(queue_.NamesIn(db), now);
}

bool Locks::Cancel(uint64_t wait_id, const Now& now) {
  const LockWait* wait = queue_.Find(wait_id);
  if (wait == nullptr) return false;
  Names names = wait->request.names;
  queue_.Remove(wait_id);
  MoveOn(std::move(names), now);
  return true;
}

// --- handing over

// Grants to whoever may go in the queues of `names`, and in those that this moves in turn.
void Locks::MoveOn(Names names, const Now& now) {
  while (!names.empty()) {
    const LockName name = std::move(names.back());
    names.pop_back();
    while (const LockWait* next = queue_.FirstReady(name)) {
      const std::string owner = next->request.owner;
      const Names taken = HandTo(*next, now);
      if (taken.empty()) return;
      names.insert(names.end(), taken.begin(), taken.end());
      LetReenter(taken, owner, &names, now);
    }
  }
}

// The owner holds `fresh` since just now: if it waits for them on other connections too, it is
// re-entrant there, whatever its place. Adds the queues to look at again to `moved`.
void Locks::LetReenter(Names fresh, std::string_view owner, Names* moved, const Now& now) {
  while (!fresh.empty()) {
    const LockName name = std::move(fresh.back());
    fresh.pop_back();
    while (const LockWait* again = queue_.FirstReentrant(name, owner)) {
      const Names taken = HandTo(*again, now);
      if (taken.empty()) return;
      fresh.insert(fresh.end(), taken.begin(), taken.end());
      moved->insert(moved->end(), taken.begin(), taken.end());
    }
  }
}

// Ends the wait with a grant; returns its names, none when there is no token to give.
Locks::Names Locks::HandTo(const LockWait& next, const Now& now) {
  if (!tokens_.CanIssue(now, static_cast<int64_t>(next.request.names.size()))) return {};
  const LockWait wait = next;
  queue_.Remove(wait.id);
  listener_.WaitGranted(wait, GrantAll(wait.request, now));
  return wait.request.names;
}

// --- sessions

void Locks::JoinSession(uint64_t session, LockNameView name) {
  if (session == 0) return;
  SessionLocks& locks = sessions_[session];
  ++locks.names[LockName(name)];
  if (locks.names.size() < locks.sweep_at) return;
  std::erase_if(locks.names,
                [&](const auto& held) { return store_.FindLock(held.first) == nullptr; });
  locks.sweep_at = 2 * locks.names.size() + 1024;
}

void Locks::LeaveSession(uint64_t session, LockNameView name) {
  const auto found = session == 0 ? sessions_.end() : sessions_.find(session);
  if (found == sessions_.end()) return;
  const auto held = found->second.names.find(LockName(name));
  if (held == found->second.names.end() || --held->second > 0) return;
  found->second.names.erase(held);
  if (found->second.names.empty()) sessions_.erase(found);
}

// --- fencing

TokenCheck Locks::CheckToken(LockNameView name, int64_t token, const Now& now) {
  if (token > tokens_.last()) return TokenCheck::kNeverIssued;
  Settle(name, now);
  const Lock* lock = store_.FindLock(name);
  // What a lock without holders was given under is of another name, or of before it was emptied.
  if (lock != nullptr && lock->empty()) lock = nullptr;
  if (lock != nullptr && (lock->Holds(token) || token == lock->newest_token()))
    return TokenCheck::kValid;
  if (lock != nullptr) return TokenCheck::kSuperseded;
  memory_.Collapse(now);
  const int64_t newest = memory_.Newest(name);
  if (token == newest && token > 0) return TokenCheck::kValid;
  return newest == 0 ? TokenCheck::kForgotten : TokenCheck::kSuperseded;
}

}  // namespace sluice
