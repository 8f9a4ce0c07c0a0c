// See transaction.h. A key that dies makes EXEC fail only where it was there when it was watched.
#include "server/dispatch/transaction.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {

// EXEC, DISCARD, RESET and the end of the session.
void EndTransaction(Session& session, WatchTable& watches) {
  watches.UnwatchAll(session);
  if (session.in_exec()) return;  // the queue that runs now (it has an UNWATCH) stays to its end
  if (session.rare->transaction) session.rare.Make().transaction.reset();
  session.conditions &= ~kInMulti;
}

// --- watched keys

// Null for a key past its time as well.
const Entry* WatchTable::Find(int db, std::string_view key) const {
  return keyspace_.db(db).Find(keyspace_.Hash(key), clock_.now());
}

void WatchTable::Watch(Session& session, int db, std::string_view key, bool missing) {
  if (!session.rare->transaction) session.rare.Make().transaction = std::make_unique<Transaction>();
  auto place = watchers_.find(KeyNameView{db, key});
  if (place == watchers_.end()) {
    place = watchers_.emplace(KeyName({db, key}), std::vector<Watcher>()).first;
  }
  for (const Watcher& watcher : place->second) {
    if (watcher.session == &session) return;
  }
  Charge(*place, -1);
  place->second.push_back({&session, missing});
  Charge(*place, 1);
  Transaction& own = *TransactionOf(session);
  own.watched.push_back({db, std::string(key), missing});
  own.watch_bytes += HeapBytes(own.watched.back().key);
  flags_.Raise(SlowPathFlags::kKeys);
}

// O(1). Nothing where there is no watcher yet, or no longer.
void WatchTable::Charge(const Watched& watched, int sign) {
  if (watched.second.empty()) return;
  const size_t bytes = kSlotBytes + HeapBytes(watched.first.key) + HeapBytes(watched.second);
  size_t& charged = TransactionOf(*watched.second.front().session)->watch_bytes;
  charged += sign > 0 ? bytes : -bytes;
}

// O(keys watched by the session * watchers of each).
void WatchTable::UnwatchAll(Session& session) {
  if (!session.rare->transaction) return;
  Transaction& own = *TransactionOf(session);
  const std::vector<WatchedKey> all = std::exchange(own.watched, {});
  for (const WatchedKey& watched : all) {
    own.watch_bytes -= HeapBytes(watched.key);
    const auto place = watchers_.find(KeyNameView{watched.db, watched.key});
    ABSL_HARDENING_ASSERT(place != watchers_.end());
    Charge(*place, -1);
    std::erase_if(place->second,
                  [&](const Watcher& watcher) { return watcher.session == &session; });
    Charge(*place, 1);
    if (place->second.empty()) watchers_.erase(place);
  }
  assert(own.watch_bytes == 0);
  own.dirty = false;
}

bool WatchTable::AnyExpired(const Session& session) const {
  if (!session.rare->transaction) return false;
  // One that was there, is gone and was not touched can only have died. (Where Find removes it, the
  // transaction is marked dirty as well.)
  const auto died = [&](const WatchedKey& watched) {
    return !watched.was_missing && !Find(watched.db, watched.key);
  };
  return std::ranges::any_of(TransactionOf(session)->watched, died);
}

// A key that dies does not concern a watcher for whom it was missing already.
void WatchTable::KeyTouched(int db, std::string_view key, bool died) {
  const auto place = watchers_.find(KeyNameView{db, key});
  if (place == watchers_.end()) return;
  for (const Watcher& watcher : place->second) {
    if (!(died && watcher.was_missing)) TransactionOf(*watcher.session)->dirty = true;
  }
}

void WatchTable::DatabaseReplaced(int db, int other) {
  ReplacedBy(db, other);
  if (other >= 0) ReplacedBy(other, db);
}

// The keys of `db` become those of `other`, or none.
void WatchTable::ReplacedBy(int db, int other) {
  for (const auto& [name, watchers] : watchers_) {
    if (name.db != db) continue;
    const bool comes = other >= 0 && Find(other, name.key) != nullptr;
    for (const Watcher& watcher : watchers) {
      if (comes || !watcher.was_missing) TransactionOf(*watcher.session)->dirty = true;
    }
  }
}

}  // namespace sluice
