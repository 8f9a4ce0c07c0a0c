// See snapshot_barrier.h.
#include "server/dispatch/snapshot_barrier.h"

#include <algorithm>
#include <utility>

#include "server/dispatch/command.h"
#include "server/dispatch/transaction.h"

namespace sluice {

bool SnapshotBarrier::Holds(const Session& session, const Request& request, uint32_t flags) {
  const bool ends_multi = session.in_multi() && (request.command.spec->flags & kEndsMulti);
  if (ends_multi) return HoldsQueue(session);
  if (session.in_multi() || !(flags & (kWrite | kMayReplicate))) return false;
  return is_full_ || HoldsEach(session.db, request);
}

// EXEC waits for the values of all that it will run.
bool SnapshotBarrier::HoldsQueue(const Session& session) {
  const Transaction& transaction = *TransactionOf(session);
  if (!transaction.writes || transaction.failed || transaction.dirty) return false;
  bool holds = is_full_;
  for (const QueuedCommand& queued : transaction.queue)
    holds |= HoldsEach(session.db, queued.request());
  return holds;
}

// Every key that is not only read is looked at, so that all that are needed are saved next.
bool SnapshotBarrier::HoldsEach(int db, const Request& request) {
  std::vector<KeyUse> keys;
  FindKeys(request, keys);
  bool holds = false;
  for (const KeyUse& key : keys) {
    if (!(key.flags & kKeyRo))
      holds |= HoldsKey(db, request.args[static_cast<size_t>(key.position)]);
  }
  return holds;
}

bool SnapshotBarrier::IsNeeded(int db, std::string_view key) {
  if (!keyspace_.made(db)) return false;
  const Entry* const entry = keyspace_.db(db).FindEvenExpired(keyspace_.Hash(key));
  return entry != nullptr && keyspace_.MustWait(*entry);
}

// Remembers the last in order of several keys, as a stand-in for all: once it is saved, the request
// is shown again, and held again if another one is still needed.
bool SnapshotBarrier::HoldsKey(int db, std::string_view key) {
  if (!IsNeeded(db, key)) return false;
  if (!needed_key_ || *needed_key_ < key) needed_key_ = key;
  return true;
}

// The session waits for needed_key_, or without one for room in the file's buffers.
void SnapshotBarrier::Hold(Session& session) {
  session.paused = true;
  held_[session.client_id] = {++held_ever_, session.id, session.db,
                              std::exchange(needed_key_, std::nullopt)};
}

// The session ends.
void SnapshotBarrier::Forget(const Session& session) {
  if (session.paused) held_.erase(session.client_id);
}

void SnapshotBarrier::Saved(bool is_full) {
  const bool is_over = is_full_ && !is_full;
  is_full_ = is_full;
  // Only when something was given out of turn can a session's value have been among it.
  if (is_over || given_ != keyspace_.image().given_first()) Resume(/*all=*/false);
}

// The snapshot is done, or given up: no value is needed any more.
void SnapshotBarrier::End() {
  is_full_ = false;
  flags_.Lower(SlowPathFlags::kSaving);
  Resume(/*all=*/true);
}

// Each shows its request again, and is held back once more where another value is needed. By now
// that may be another value of the same name (SWAPDB), so it is asked for anew.
void SnapshotBarrier::Resume(bool all) {
  given_ = keyspace_.image().given_first();
  std::vector<Held> ready;
  for (const auto& [client_id, held] : held_) {
    const bool is_needed = !all && held.key && IsNeeded(held.db, *held.key);
    if (!is_needed && (all || held.key || !is_full_))
      ready.push_back({held.order, held.session, 0, std::nullopt});
  }
  std::ranges::sort(ready, {}, &Held::order);
  for (const Held& held : ready) {
    Session* const session = clients_.Find(held.session);
    if (session == nullptr) continue;
    held_.erase(session->client_id);
    session->paused = false;
    clients_.Resume(*session);
  }
  if (all) held_.clear();
}

}  // namespace sluice
