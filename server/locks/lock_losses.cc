// See lock_losses.h. A crowd's holders outlive its end: `dying_` keeps the reason by the lock's
// address, from the end until the lock is destroyed.
#include "server/locks/lock_losses.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "server/locks/lock_connections.h"

namespace sluice {

// --- noting

void LockLosses::Note(const Lock& lock, const LockHolder& holder, LockLoss why) {
  if (holder.notify().empty()) return;
  noted_.push_back({holder.notify(), LockName(lock.name()), holder.token, why});
  flags_.Raise(SlowPathFlags::kServe);
}

void LockLosses::NoteAll(const Lock& lock, LockLoss why) {
  if (!lock.is_crowd()) {
    for (const LockHolder& holder : lock.holders()) Note(lock, holder, why);
    return;
  }
  dying_.emplace(&lock, why);
  if (why != LockLoss::kGone) return;
  unsure_.push_back(&lock);
  flags_.Raise(SlowPathFlags::kServe);
}

void LockLosses::HolderFreed(const Lock& lock, const LockHolder& holder) {
  // Its lease may have been over when the crowd ended: then that is the reason.
  if (const auto found = dying_.find(&lock); found != dying_.end())
    Note(lock, holder, lock.WasOver(holder) ? LockLoss::kExpired : found->second);
}

void LockLosses::Freed(const Lock& lock) {
  if (dying_.erase(&lock) > 0) std::erase(unsure_, &lock);
}

// --- reasons

void LockLosses::NoteOverwritten(LockNameView name) {
  for (Loss& loss : noted_) {
    const bool was_there = loss.why == LockLoss::kGone && LockNameEqual()(loss.name, name);
    if (was_there) loss.why = LockLoss::kOverwritten;
  }
  std::erase_if(unsure_, [&](const Lock* lock) {
    const bool was_there = LockNameEqual()(lock->name(), name);
    if (was_there) dying_[lock] = LockLoss::kOverwritten;
    return was_there;
  });
}

void LockLosses::FindReasons(absl::FunctionRef<bool(LockNameView)> is_taken) {
  const auto reason_of = [&](LockNameView name) {
    return is_taken(name) ? LockLoss::kOverwritten : LockLoss::kDeleted;
  };
  for (Loss& loss : noted_) {
    if (loss.why == LockLoss::kGone) loss.why = reason_of(loss.name);
  }
  for (const Lock* lock : std::exchange(unsure_, {})) dying_[lock] = reason_of(lock->name());
}

// --- telling

void LockLosses::Tell(int& answers_left) {
  std::ranges::move(std::exchange(noted_, {}), std::back_inserter(pushes_));
  while (!pushes_.empty() && answers_left > 0) {
    Loss& loss = pushes_.front();
    for (; loss.told < loss.connections.size() && answers_left > 0; ++loss.told, --answers_left) {
      Push(loss, loss.connections[loss.told]);
    }
    if (loss.told == loss.connections.size()) pushes_.pop_front();
  }
}

// RESP3 only. A connection that is gone, or about to go, is not told.
void LockLosses::Push(const Loss& loss, uint64_t connection) {
  constexpr std::string_view kReasons[] = {"expired",     "broken",  "deleted", "flushed",
                                           "overwritten", "renamed", "swapped", "deleted"};
  Session* const session = FindConnection(clients_, connection);
  if (!session || session->resp() < 3 || session->close != CloseMode::kOpen) return;
  ReplySink& push = session->rare->push_sink ? *session->rare->push_sink : session->writer;
  push.Push(4);
  push.Bulk("lock-lost");
  push.Bulk(loss.name.key);
  push.Integer(loss.token);
  push.Bulk(kReasons[static_cast<size_t>(loss.why)]);
  clients_.QueueSend(*session);
}

}  // namespace sluice
