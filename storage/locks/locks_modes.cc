// Readers that become the writer, and writers that become readers (Locks, locks.h). A change of the
// mode is a grant: it takes a token, and what was done under the former one is stale from then on.
#include <utility>

#include "absl/types/span.h"
#include "storage/locks/locks.h"

namespace sluice {

// Only other holders are in its way: all that wait in the line wait for this very reader.
AcquireResult Locks::Upgrade(OpenLock& open, std::string_view owner, const WaitTerms& wait,
                             const Now& now) {
  Settle(open, now, {.owner = owner});
  const Lock* const lock = open.lock();
  const LockHolder* const holder = lock == nullptr ? nullptr : lock->FindOwner(owner);
  if (holder == nullptr) return {AcquireOutcome::kNotHeld};
  if (lock->mode() == LockMode::kPermits) return {AcquireOutcome::kLockMode};
  if (lock->mode() == LockMode::kExclusive)
    return {AcquireOutcome::kGranted, {{holder->token, holder->LeaseLeftMs(now), holder->holds}}};
  const absl::Span<OpenLock> locks(&open, 1);
  LockRequest request{.owner = std::string(owner), .upgrades = true};
  const bool fits = queue_.ObstacleOf(request, locks, now.ms()) == WaitQueue::Obstacle::kNone;
  if (fits && !WouldWaitForItself(locks, request, now)) return Grant(locks, request, now);
  if (fits) return {AcquireOutcome::kDeadlock};
  if (wait.wait_ms == 0) return {AcquireOutcome::kRefused};
  return Wait(locks, std::move(request), wait, false, now);
}

// A reader that is alone keeps no readers from the lock; as the writer it does. So those that stand
// in line, and wait for other locks besides, come to wait for it, as if it stood ahead of them.
bool Locks::WouldWaitForItself(absl::Span<OpenLock> locks, LockRequest request, const Now& now) {
  const WaitQueue::Owner* const owner = queue_.FindOwner(request.owner);
  if (owner == nullptr || owner->waits.empty()) return false;
  if (queue_.LineOf(locks.front().name()) == nullptr) return false;
  request.names.emplace_back(locks.front().name());
  const uint64_t id = queue_.Add(std::move(request), locks, 0, now.ms(), now.ms());
  const bool would = ClosesCircle(id, now);
  would ? queue_.TakeBack(id, locks) : queue_.Remove(id, locks);
  counts_.deadlocks += would;
  return would;
}

AcquireResult Locks::Downgrade(OpenLock& open, std::string_view owner, const Now& now) {
  Settle(open, now, {.owner = owner});
  const Lock* const held = open.lock();
  const LockHolder* holder = held == nullptr ? nullptr : held->FindOwner(owner);
  if (holder == nullptr) return {AcquireOutcome::kNotHeld};
  if (held->mode() == LockMode::kPermits) return {AcquireOutcome::kLockMode};
  const bool reads = held->mode() == LockMode::kShared;
  if (!reads && !tokens_.CanIssue(1)) return {AcquireOutcome::kNoTokens};
  if (!reads) {
    LockChange lock(open);
    holder = &ChangeMode(*lock, owner, LockMode::kShared, now);
  }
  AcquireResult result{AcquireOutcome::kGranted,
                       {{holder->token, holder->LeaseLeftMs(now), holder->holds}}};
  if (!reads) MoveOnIfAwaited(open.name(), now);
  return result;
}

const LockHolder& Locks::ChangeMode(Lock& lock, std::string_view owner, LockMode mode,
                                    const Now& now) {
  const int64_t former = lock.FindOwner(owner)->token;
  const LockHolder& holder = lock.ChangeMode(owner, mode, tokens_.Issue(now));
  ++counts_.granted;
  listener_.ModeChanged(lock, holder, former);
  return holder;
}

}  // namespace sluice
