// MULTI / EXEC and WATCH. A Transaction is a session's queue of commands and list of watched keys;
// WatchTable maps every watched key to its watchers, and marks them dirty when the keyspace says
// the key was touched. The handlers are in server/commands/clients/transactions.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients/session.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/memory_limit.h"
#include "server/dispatch/queued_command.h"
#include "server/notify/key_listeners.h"
#include "storage/hashing/key_name.h"
#include "storage/keyspace/keyspace.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {

struct WatchedKey {
  int db;
  std::string key;
  // No key was there when WATCH came, dead or never born: that it is removed is no change.
  bool was_missing;
};

struct Transaction final : SessionState {
  std::vector<QueuedCommand> queue;
  std::vector<WatchedKey> watched;
  bool failed = false;       // a command could not be queued: EXEC answers EXECABORT
  bool writes = false;       // some queued command writes (CLIENT PAUSE WRITE holds its EXEC)
  bool writes_keys = false;  // some is a kWrite
  // Every queued command is served while data are loaded; and while a replica's link is down.
  bool may_run_while_loading = true;
  bool may_run_while_stale = true;
  MemoryNeed memory_need = MemoryNeed::kNone;  // the greatest of what is queued
  bool dirty = false;                          // a watched key was touched: EXEC answers null
  size_t queue_bytes = 0;                      // QueuedCommand::bytes of all
  size_t queue_heap_bytes = 0;                 // QueuedCommand::heap_bytes of all
  size_t watch_bytes = 0;  // names of watched keys, and what WatchTable keeps for this client

  size_t MemoryBytes() const override {
    return BlockSize(sizeof(*this)) + HeapBytes(queue) + queue_heap_bytes + HeapBytes(watched) +
           watch_bytes;
  }
};

// Null before MULTI and WATCH.
inline Transaction* TransactionOf(const Session& session) {
  return static_cast<Transaction*>(session.rare->transaction.get());
}
// The transaction that is queued or run by EXEC; null outside of both.
inline const Transaction* QueueOf(const Session& session) {
  return session.in_multi() || session.in_exec() ? TransactionOf(session) : nullptr;
}

// A dead key (past its deadline) counts as a missing one from the first, as everywhere in Sluice.
// So a key that dies after WATCH has changed and one that was dead before it has not, and that
// comes to the same as Redis 7.0's rules.
class WatchTable final : public KeyListener {
 public:
  WatchTable(Keyspace& keyspace, const TurnClock& clock, SlowPathFlags& flags,
             const SipKey& hash_key)
      : keyspace_(keyspace), clock_(clock), flags_(flags), watchers_(0, KeyNameHash(hash_key)) {}

  // `missing`: Find has just answered null. A key that the session watches already is left alone.
  // O(watchers of the key).
  void Watch(Session& session, int db, std::string_view key, bool missing);
  void UnwatchAll(Session& session);
  // True when a watched key of the session has passed its deadline since WATCH. O(watched keys).
  bool AnyExpired(const Session& session) const;

  // Memory that no client is charged with: slots that are free.
  size_t MemoryBytes() const { return TableBytes(watchers_) - watchers_.size() * kSlotBytes; }

  bool listens() const override { return !watchers_.empty(); }
  void KeyTouched(int db, std::string_view key, bool died) override;
  // Every watched key that exists on one side is touched. O(watched keys of all sessions).
  void DatabaseReplaced(int db, int other) override;

 private:
  struct Watcher {
    Session* session;
    bool was_missing;
  };

  // A key that is watched is paid for, with the list of its watchers, by the first of them.
  using Watched = KeyNameMap<std::vector<Watcher>>::value_type;
  static constexpr size_t kSlotBytes = SlotBytes(sizeof(Watched));
  static void Charge(const Watched& watched, int sign);

  void ReplacedBy(int db, int other);
  const Entry* Find(int db, std::string_view key) const;

  Keyspace& keyspace_;
  const TurnClock& clock_;
  SlowPathFlags& flags_;
  KeyNameMap<std::vector<Watcher>> watchers_;
};

// Ends a session's MULTI and WATCH, if any: forgets the queue and the watched keys (DISCARD,
// RESET).
void EndTransaction(Session& session, WatchTable& watches);

}  // namespace sluice
