// MULTI / EXEC and WATCH. A Transaction is a session's queue of commands and list of watched keys;
// WatchTable maps every watched key to its watchers, and marks them dirty when the keyspace says the
// key was touched. The handlers are in server/commands/transactions.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "protocol/args.h"
#include "storage/keyspace.h"

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
  Args args() const { return views_; }
  size_t bytes() const { return bytes_.size(); }

 private:
  std::vector<char> bytes_;  // moves keep its address
  std::vector<std::string_view> views_;
};

struct WatchedKey {
  int db;
  std::string key;
  bool was_expired;  // past its deadline already when WATCH came: its removal is no change
};

struct Transaction {
  std::vector<QueuedCommand> queue;
  std::vector<WatchedKey> watched;
  bool failed = false;  // a command could not be queued: EXEC answers EXECABORT
  bool writes = false;  // some queued command writes (CLIENT PAUSE WRITE holds its EXEC)
  bool dirty = false;   // a watched key was touched: EXEC answers null
  size_t queue_bytes = 0;
};

class WatchTable {
 public:
  void Watch(Session& session, int db, HashedKey key, bool expired);
  void UnwatchAll(Session& session);
  // True when a watched key of the session has passed its deadline since WATCH.
  bool AnyExpired(const Session& session, Keyspace& keyspace, const Now& now) const;

  bool empty() const { return watchers_.empty(); }
  void Touched(int db, std::string_view key);
  // FLUSHDB (other = -1) or SWAPDB: every watched key that exists on one side is touched.
  void Replaced(int db, int other, Keyspace& keyspace);

 private:
  using Key = std::pair<int, std::string>;
  absl::flat_hash_map<Key, std::vector<Session*>> watchers_;
};

}  // namespace sluice
