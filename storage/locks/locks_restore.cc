// Restoring holders that others tell of (Locks, locks.h): a log that is replayed, other servers,
// and owners that claim what a restart has lost. No rule is asked, no token is issued, but tokens
// jump past what is told, so that no token is ever given twice. Nor does a lease end here: whoever
// tells of holders tells of their ends, too.
#include "storage/locks/locks.h"

namespace sluice {

bool Locks::Restore(OpenLock& open, const LockHolder& holder, const LockShape& shape,
                    const Now& now) {
  tokens_.JumpPast(holder.token);
  bool restored = false;
  {
    LockChange lock(open);
    if (!lock) {
      lock.Create();
      memory_.Supersede(open.name(), now);
    }
    if (queue_.LineOf(open.name()) != nullptr) lock->Watch();
    restored = lock->Restore(holder, shape);
  }
  MoveOnIfAwaited(open.name(), now);
  return restored;
}

void Locks::Forgo(OpenLock& open, int64_t token, const Now& now) {
  tokens_.JumpPast(token);
  const Lock* lock = open.lock();
  if (token == 0 && lock != nullptr && lock->is_crowd()) {
    EndAll(open, LockEnd::kForgone, now);
    return;
  }
  EndHolders(open, LockEnd::kForgone, now,
             [&](Lock& lock, Lock::OnEnd on_end) { return lock.Forgo(token, now, on_end); });
}

bool Locks::Claim(OpenLock& open, const LockHolder& holder, const LockShape& shape, bool is_free,
                  const Now& now) {
  using Kind = Lock::InTheWay::Kind;
  // No waiter gets the lock between the end of the older holders and the claim.
  const HandOverLater later(*this, now);
  if (!is_free && open.lock() != nullptr) {
    const Lock::InTheWay found = open.lock()->FindInTheWay(holder, shape);
    if (found.kind == Kind::kBeside) return false;
    if (found.kind == Kind::kAll) Break(open, 0, now);
    if (found.kind == Kind::kOwn) Break(open, found.token, now);
  }
  return Restore(open, holder, shape, now);
}

void Locks::Prove(OpenLock& open, std::string_view owner, const Now& now) {
  {
    LockChange lock(open);
    lock->Prove(owner);
  }
  MoveOnIfAwaited(open.name(), now);
}

}  // namespace sluice
