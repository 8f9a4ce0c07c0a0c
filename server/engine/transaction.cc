#include "server/engine/transaction.h"

#include <algorithm>
#include <cstring>

#include "absl/base/macros.h"
#include "server/engine/session.h"

namespace sluice {

// --- the queue

QueuedCommand::QueuedCommand(Command* queued, Args args) : command(queued) {
  size_t size = 0;
  for (const std::string_view argument : args) size += argument.size();
  bytes_.reserve(size);
  views_.reserve(args.size());
  for (const std::string_view argument : args) {
    views_.emplace_back(bytes_.data() + bytes_.size(), argument.size());
    bytes_.insert(bytes_.end(), argument.begin(), argument.end());
  }
}

void EndTransaction(Session& session, WatchTable& watches) {
  watches.UnwatchAll(session);
  session.transaction.reset();
  session.conditions &= ~kInMulti;
}

// --- watched keys

void WatchTable::Watch(Session& session, int db, std::string_view key, bool missing) {
  if (!session.transaction) session.transaction = std::make_unique<Transaction>();
  auto place = watchers_.find(KeyNameView{db, key});
  if (place == watchers_.end()) {
    place = watchers_.emplace(KeyName({db, key}), std::vector<Watcher>()).first;
  }
  for (const Watcher& watcher : place->second) {
    if (watcher.session == &session) return;
  }
  place->second.push_back({&session, missing});
  attention_.Raise(Attention::kKeys);
  session.transaction->watched.push_back({db, std::string(key), missing});
}

void WatchTable::UnwatchAll(Session& session) {
  if (!session.transaction) return;
  for (const WatchedKey& watched : session.transaction->watched) {
    const auto place = watchers_.find(KeyNameView{watched.db, watched.key});
    ABSL_HARDENING_ASSERT(place != watchers_.end());
    std::erase_if(place->second,
                  [&](const Watcher& watcher) { return watcher.session == &session; });
    if (place->second.empty()) watchers_.erase(place);
  }
  session.transaction->watched.clear();
  session.transaction->dirty = false;
}

bool WatchTable::AnyExpired(const Session& session, Keyspace& keyspace, const Now& now) const {
  if (!session.transaction) return false;
  // One that was there, is gone and was not touched can only have died. (Where Find removes it, the
  // transaction is marked dirty as well.)
  const auto died = [&](const WatchedKey& watched) {
    return !watched.was_missing && !keyspace.db(watched.db).Find(keyspace.Hash(watched.key), now);
  };
  return std::ranges::any_of(session.transaction->watched, died);
}

void WatchTable::Touched(int db, std::string_view key, bool died) {
  const auto place = watchers_.find(KeyNameView{db, key});
  if (place == watchers_.end()) return;
  for (const Watcher& watcher : place->second) {
    if (!(died && watcher.was_missing)) watcher.session->transaction->dirty = true;
  }
}

void WatchTable::Replaced(int db, int other, Keyspace& keyspace, const Now& now) {
  ReplacedBy(db, other, keyspace, now);
  if (other >= 0) ReplacedBy(other, db, keyspace, now);
}

// The keys of `db` become those of `other`, or none.
void WatchTable::ReplacedBy(int db, int other, Keyspace& keyspace, const Now& now) {
  for (const auto& [name, watchers] : watchers_) {
    if (name.db != db) continue;
    const bool comes =
        other >= 0 && keyspace.db(other).Find(keyspace.Hash(name.key), now) != nullptr;
    for (const Watcher& watcher : watchers) {
      if (comes || !watcher.was_missing) watcher.session->transaction->dirty = true;
    }
  }
}

}  // namespace sluice
