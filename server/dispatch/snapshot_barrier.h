// SnapshotBarrier: while a snapshot is taken, a command that may change a large value which the
// snapshot still needs is held back until that value is saved, which is done next. So no turn has
// to save a large value at once. The session keeps its input, as in CLIENT PAUSE; other clients go
// on.
//
// Where more waits for the disk than snapshot-memory-max, all commands that may write are held
// back.
//
// An end by a timer waits too (KeyspaceImage): of a key, a field of a hash, a lease. A change that
// cannot be held back saves the rest of a large value at once: by a script that does not declare
// the key, by COPY and transactions that go to another database, and by an element that is handed
// over to a client that waits for one (BLMOVE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "protocol/args.h"
#include "server/clients/clients.h"
#include "server/core/slow_path_flags.h"
#include "server/dispatch/command_table.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

class SnapshotBarrier {
 public:
  SnapshotBarrier(Clients& clients, Keyspace& keyspace, SlowPathFlags& flags)
      : clients_(clients), keyspace_(keyspace), flags_(flags) {}

  // The request must wait; `flags` are its own. Inside MULTI only EXEC does, for all that it will
  // run.
  bool Holds(const Session& session, const Request& request, uint32_t flags);
  void Hold(Session& session);
  void Forget(const Session& session);  // its connection is gone

  // --- for who takes the snapshot
  void Begin() { flags_.Raise(SlowPathFlags::kSaving); }
  // Some of it was saved: sessions go on whose value was. `is_full`: too much waits for the disk.
  void Saved(bool is_full);
  void End();
  bool any_held() const { return !held_.empty(); }

 private:
  bool HoldsEach(int db, const Request& request);
  bool HoldsQueue(const Session& session);
  bool HoldsKey(int db, std::string_view key);
  // While the snapshot needs it and it is large; it is saved next then. Small values are not worth
  // waiting for: they are saved as they are changed. O(1).
  bool IsNeeded(int db, std::string_view key);
  void Resume(bool all);

  // The value that it waits for; there is none where too much waits for the disk.
  struct Held {
    uint64_t order = 0;  // that of the requests
    SessionId session;
    int db = 0;
    std::optional<std::string> key;
  };

  Clients& clients_;
  Keyspace& keyspace_;
  SlowPathFlags& flags_;
  absl::flat_hash_map<uint64_t, Held> held_;  // by client id
  uint64_t held_ever_ = 0;
  // The key that is saved last, of the request that Holds was asked about.
  std::optional<std::string> needed_key_;
  uint64_t given_ = 0;  // KeyspaceImage's, when sessions went on the last time
  bool is_full_ = false;
};

}  // namespace sluice
