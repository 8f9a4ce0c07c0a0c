// MULTI / EXEC and WATCH. A Transaction is a session's queue of commands and list of watched keys;
// WatchTable maps every watched key to its watchers, and marks them dirty when the keyspace says
// the key was touched. The handlers are in server/commands/clients/transactions.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "protocol/args.h"
#include "server/engine/attention.h"
#include "storage/hashing/key_name.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

struct Command;
class Session;

// A request kept for later: its bytes in one block, and where each argument lies.
class QueuedCommand {
 public:
  QueuedCommand(Command* command, Args args);
  QueuedCommand(QueuedCommand&&) noexcept = default;
  QueuedCommand& operator=(QueuedCommand&&) noexcept = default;

  Command* command;
  Args args() const ABSL_ATTRIBUTE_LIFETIME_BOUND { return views_; }
  // What it takes of memory.
  size_t bytes() const {
    return sizeof(*this) + bytes_.capacity() + views_.capacity() * sizeof(std::string_view);
  }

 private:
  std::vector<char> bytes_;  // moves keep its address
  std::vector<std::string_view> views_;
};

struct WatchedKey {
  int db;
  std::string key;
  // Nobody saw a key there when WATCH came, dead or never born: that it is removed is no change.
  bool was_missing;
};

struct Transaction {
  std::vector<QueuedCommand> queue;
  std::vector<WatchedKey> watched;
  bool failed = false;  // a command could not be queued: EXEC answers EXECABORT
  bool writes = false;  // some queued command writes (CLIENT PAUSE WRITE holds its EXEC)
  bool dirty = false;   // a watched key was touched: EXEC answers null
  size_t queue_bytes = 0;
  std::string pushes;  // came while EXEC wrote its array: to be sent behind it
};

// A dead key (past its deadline) counts as a missing one from the first, as everywhere in Sluice.
// So a key that dies after WATCH has changed and one that was dead before it has not, and that
// comes to the same as Redis 7.0's rules.
class WatchTable {
 public:
  WatchTable(Attention& attention, const SipKey& hash_key)
      : attention_(attention), watchers_(0, KeyNameHash(hash_key)) {}

  // `missing`: Find has just answered null. A key that the session watches already is left alone.
  void Watch(Session& session, int db, std::string_view key, bool missing);
  void UnwatchAll(Session& session);
  // True when a watched key of the session has passed its deadline since WATCH.
  bool AnyExpired(const Session& session, Keyspace& keyspace, const Now& now) const;

  bool empty() const { return watchers_.empty(); }
  // A key was written or deleted; `died`: it was removed for being past its deadline.
  void Touched(int db, std::string_view key, bool died);
  // FLUSHDB (other = -1) or SWAPDB, to be called before it: every watched key that exists on one
  // side is touched.
  void Replaced(int db, int other, Keyspace& keyspace, const Now& now);

 private:
  struct Watcher {
    Session* session;
    bool was_missing;
  };

  void ReplacedBy(int db, int other, Keyspace& keyspace, const Now& now);

  Attention& attention_;
  KeyNameMap<std::vector<Watcher>> watchers_;
};

// Ends a session's MULTI and WATCH, if any: forgets the queue and the watched keys (DISCARD,
// RESET).
void EndTransaction(Session& session, WatchTable& watches);

}  // namespace sluice
