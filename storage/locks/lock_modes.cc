// How a holder of a lock comes to hold it in another mode, and what that has in common with a
// holder that is restored: it is taken out whole and put back under its token. See lock.h.
#include <cassert>
#include <utility>

#include "storage/locks/lock.h"

namespace sluice {

// A place that MINHOLD keeps is a holder, too: the writer comes after it.
LockFit Lock::FitToUpgrade(std::string_view owner) const {
  const bool reads = mode_ == LockMode::kShared && !empty() && FindOwner(owner) != nullptr;
  const bool must_wait = reads && (holders_.size() > 1 || is_in_doubt());
  return must_wait ? LockFit::kBusy : LockFit::kReentrant;
}

// A former writer's token must not pass as that of a reader, nor a reader's as that of the writer:
// hence a new one.
const LockHolder& Lock::ChangeMode(std::string_view owner, LockMode mode, int64_t token) {
  LockHolder* const former = FindHeld(owner, 0);
  assert(former != nullptr && holders_.size() == 1 && token > newest_token());
  assert(mode_ != LockMode::kPermits && mode != LockMode::kPermits);
  LockHolder changed = *former;
  changed.token = token;
  TakeOut(*former);
  mode_ = mode;
  return Place(changed);
}

// As it is, with its bonds. Requires: its token is in no use.
const LockHolder& Lock::Place(const LockHolder& placed) {
  LockHolder bare = placed;
  if (!placed.sessions().empty()) bare.extra.Make().sessions.clear();
  holders_.Put(std::move(bare));
  for (const uint64_t session : placed.sessions()) Bind(placed.token, session);
  const LockHolder& holder = *holders_.Find(placed.token);
  if (!holder.is_minimum_hold()) Tie(holder);
  List(holder);
  return holder;
}

void Lock::TakeOut(LockHolder& holder) {
  if (!holder.is_minimum_hold()) Untie(holder);
  Unlist(holder);
  holders_.Erase(holder.token);
}

}  // namespace sluice
