// See lock_news.h.
#include "server/locks/lock_news.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/text/number_text.h"
#include "server/locks/lock_connections.h"
#include "server/locks/lock_effect.h"

namespace sluice {

// --- the log

void LockNews::Record(const Lock& lock, const LockHolder& holder) {
  if (!on_.effects.wanted()) return;
  TellHolder(lock.name(), lock, holder, on_.clock.now(),
             [&](Args effect) { on_.effects.Add(lock.name().db, effect); });
}

// A replay that reads that a hold was broken knows that its token is stale.
void LockNews::RecordEnd(const Lock& lock, int64_t token, LockEnd end) {
  if (!on_.effects.wanted()) return;
  const LockName& name = lock.name();
  if (end == LockEnd::kBroken) {
    return on_.effects.Add(name.db, {"LOCK.BREAK", name.key, "TOKEN", Int64Text(token)});
  }
  on_.effects.Add(name.db, {"LOCK.RESTORE", name.key, Int64Text(token)});
}

void LockNews::RecordHolder(OpenLock& open, std::string_view owner) {
  if (!on_.effects.wanted()) return;
  const Lock* const lock = open.lock();
  const LockHolder* const holder = lock ? lock->FindOwner(owner) : nullptr;
  if (holder) Record(*lock, *holder);
}

// --- holders that come and go

void LockNews::LockAcquired(const Lock& lock, const LockHolder& holder) {
  Record(lock, holder);
  on_.notifications.Notify(kNotifyLock, "lock-acquired", lock.name().db, lock.name().key);
}

void LockNews::LockEnded(const Lock& lock, const LockHolder& holder, LockEnd end) {
  constexpr std::string_view kEvents[] = {"lock-released", "lock-expired", "lock-broken",
                                          "lock-released"};
  on_.notifications.Notify(kNotifyLock, kEvents[static_cast<size_t>(end)], lock.name().db,
                           lock.name().key);
  const bool may_linger = end == LockEnd::kReleased || end == LockEnd::kExpired;
  if (may_linger && holder.minhold_until_ms > on_.clock.now().ms()) {
    LockHolder lingering = holder;
    lingering.holds = 0;
    lingering.sessions.clear();
    Record(lock, lingering);
  } else {
    RecordEnd(lock, holder.token, end);
  }
  if (end == LockEnd::kExpired) NoteLosses(lock, holder, LockLoss::kExpired);
  if (end == LockEnd::kBroken) NoteLosses(lock, holder, LockLoss::kBroken);
}

void LockNews::LingeringEnded(const Lock& lock, const LockHolder& holder, LockEnd end) {
  RecordEnd(lock, holder.token, end);
}

// --- losses

void LockNews::NoteLosses(const Lock& lock, const LockHolder& holder, LockLoss why) {
  for (const uint64_t connection : holder.notify) {
    losses_.push_back({connection, lock.name(), holder.token, why});
    on_.flags.Raise(RareFlags::kServe);
  }
}

void LockNews::NoteLosses(const Lock& lock, LockLoss why) {
  for (const auto& [token, holder] : lock.holders()) NoteLosses(lock, holder, why);
}

void LockNews::NoteOverwritten(LockNameView name) {
  for (Loss& loss : losses_) {
    const bool was_there = loss.why == LockLoss::kGone && LockNameEqual()(loss.name, name);
    if (was_there) loss.why = LockLoss::kOverwritten;
  }
}

void LockNews::FindReasons(absl::FunctionRef<bool(LockNameView)> is_taken) {
  for (Loss& loss : losses_) {
    if (loss.why != LockLoss::kGone) continue;
    loss.why = is_taken(loss.name) ? LockLoss::kOverwritten : LockLoss::kDeleted;
  }
}

void LockNews::PushLosses(int& answers_left) {
  constexpr std::string_view kReasons[] = {"expired",     "broken",  "deleted", "flushed",
                                           "overwritten", "renamed", "swapped", "deleted"};
  std::ranges::move(std::exchange(losses_, {}), std::back_inserter(pushes_));
  for (; !pushes_.empty() && answers_left > 0; --answers_left, pushes_.pop_front()) {
    const Loss& loss = pushes_.front();
    Session* const session = FindConnection(on_.clients, loss.connection);
    if (!session || session->resp() < 3 || session->close != CloseMode::kOpen) continue;
    session->writer.Push(4);
    session->writer.Bulk("lock-lost");
    session->writer.Bulk(loss.name.key);
    session->writer.Integer(loss.token);
    session->writer.Bulk(kReasons[static_cast<size_t>(loss.why)]);
    on_.clients.QueueSend(*session);
  }
}

}  // namespace sluice
