// See lock_news.h.
#include "server/locks/lock_news.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/text/number_text.h"
#include "server/locks/lock_connections.h"
#include "server/locks/lock_effect.h"

namespace sluice {
namespace {

std::string_view EventOf(LockEnd end) {
  constexpr std::string_view kEvents[] = {"lock-released", "lock-expired", "lock-broken",
                                          "lock-released"};
  return kEvents[static_cast<size_t>(end)];
}

}  // namespace

// --- the log

void LockNews::Record(const Lock& lock, const LockHolder& holder) {
  if (!on_.effects.wanted()) return;
  if (on_.horizon.is_on() && !on_.horizon.Cover(holder, on_.clock.now())) on_.log.must_sync = true;
  TellHolder(lock.name(), lock, holder, on_.clock.now(),
             [&](Args effect) { on_.effects.Add(lock.name().db, effect); });
}

// A replay that reads that a hold was broken knows that its token is stale. No token (0): of all.
void LockNews::RecordEnd(const Lock& lock, int64_t token, LockEnd end) {
  if (!on_.effects.wanted()) return;
  const LockName& name = lock.name();
  if (end == LockEnd::kBroken) {
    if (token == 0) return on_.effects.Add(name.db, {"LOCK.BREAK", name.key});
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
  on_.notifications.Notify(kNotifyLock, EventOf(end), lock.name().db, lock.name().key);
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

void LockNews::AllEnded(const Lock& lock, const Lock::CrowdEnd& crowd, LockEnd end) {
  RecordEnd(lock, 0, end);
  NoteEvents(lock, crowd.over, LockEnd::kExpired);
  NoteEvents(lock, crowd.lost - crowd.over, end);
  if (end == LockEnd::kExpired) NoteLosses(lock, LockLoss::kExpired);
  if (end == LockEnd::kBroken) NoteLosses(lock, LockLoss::kBroken);
}

void LockNews::NoteEvents(const Lock& lock, int64_t holders, LockEnd end) {
  if (holders == 0 || !on_.notifications.Wants(kNotifyLock)) return;
  events_.push_back({lock.name(), EventOf(end), holders});
  on_.flags.Raise(RareFlags::kServe);
}

void LockNews::LingeringEnded(const Lock& lock, const LockHolder& holder, LockEnd end) {
  RecordEnd(lock, holder.token, end);
}

// --- losses

void LockNews::NoteLosses(const Lock& lock, const LockHolder& holder, LockLoss why) {
  if (holder.notify.empty()) return;
  losses_.push_back({holder.notify, lock.name(), holder.token, why});
  on_.flags.Raise(RareFlags::kServe);
}

void LockNews::NoteLosses(const Lock& lock, LockLoss why) {
  if (!lock.is_crowd()) {
    for (const auto& [token, holder] : lock.holders()) NoteLosses(lock, holder, why);
    return;
  }
  dying_.emplace(&lock, why);
  if (why != LockLoss::kGone) return;
  unsure_.push_back(&lock);
  on_.flags.Raise(RareFlags::kServe);
}

void LockNews::HolderFreed(const Lock& lock, const LockHolder& holder) {
  if (const auto found = dying_.find(&lock); found != dying_.end())
    NoteLosses(lock, holder, lock.WasOver(holder) ? LockLoss::kExpired : found->second);
}

void LockNews::Freed(const Lock& lock) {
  if (dying_.erase(&lock) > 0) std::erase(unsure_, &lock);
}

void LockNews::NoteOverwritten(LockNameView name) {
  for (Loss& loss : losses_) {
    const bool was_there = loss.why == LockLoss::kGone && LockNameEqual()(loss.name, name);
    if (was_there) loss.why = LockLoss::kOverwritten;
  }
  std::erase_if(unsure_, [&](const Lock* lock) {
    const bool was_there = LockNameEqual()(lock->name(), name);
    if (was_there) dying_[lock] = LockLoss::kOverwritten;
    return was_there;
  });
}

void LockNews::FindReasons(absl::FunctionRef<bool(LockNameView)> is_taken) {
  const auto reason_of = [&](const LockName& name) {
    return is_taken(name) ? LockLoss::kOverwritten : LockLoss::kDeleted;
  };
  for (Loss& loss : losses_) {
    if (loss.why == LockLoss::kGone) loss.why = reason_of(loss.name);
  }
  for (const Lock* lock : std::exchange(unsure_, {})) dying_[lock] = reason_of(lock->name());
}

void LockNews::TellEvents(int& answers_left) {
  while (!events_.empty() && answers_left > 0) {
    Events& events = events_.front();
    for (; events.left > 0 && answers_left > 0; --events.left, --answers_left) {
      on_.notifications.Notify(kNotifyLock, events.event, events.name.db, events.name.key);
    }
    if (events.left == 0) events_.pop_front();
  }
}

void LockNews::PushLosses(int& answers_left) {
  TellEvents(answers_left);
  std::ranges::move(std::exchange(losses_, {}), std::back_inserter(pushes_));
  while (!pushes_.empty() && answers_left > 0) {
    Loss& loss = pushes_.front();
    for (; loss.told < loss.connections.size() && answers_left > 0; ++loss.told, --answers_left) {
      Push(loss, loss.connections[loss.told]);
    }
    if (loss.told == loss.connections.size()) pushes_.pop_front();
  }
}

void LockNews::Push(const Loss& loss, uint64_t connection) {
  constexpr std::string_view kReasons[] = {"expired",     "broken",  "deleted", "flushed",
                                           "overwritten", "renamed", "swapped", "deleted"};
  Session* const session = FindConnection(on_.clients, connection);
  if (!session || session->resp() < 3 || session->close != CloseMode::kOpen) return;
  session->writer.Push(4);
  session->writer.Bulk("lock-lost");
  session->writer.Bulk(loss.name.key);
  session->writer.Integer(loss.token);
  session->writer.Bulk(kReasons[static_cast<size_t>(loss.why)]);
  on_.clients.QueueSend(*session);
}

}  // namespace sluice
