// OwnDeadlines: keys with a deadline that clients of a writable replica wrote (`replica-read-only
// no`). Nothing ends on a replica by time, since its master tells what has ended; of these keys it
// knows nothing. So each has a timer here, and is removed when it is over. A key that the master
// writes is the master's from then on.
//
// A touched key is noted in the middle of its change, and looked at when the turn ends. INFO's
// slave_expires_tracked_keys is how many there are, as in Redis, whose slaveKeysWithExpire this is
// (expire.c of 7.0).
//
// Costs: a lookup for each write of such a client; a name and some 100 bytes for each key.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "server/clients/current_client.h"
#include "server/config/follow_state.h"
#include "server/config/settings.h"
#include "server/core/slow_path_flags.h"
#include "server/core/standstill.h"
#include "server/core/turn_clock.h"
#include "server/notify/key_listeners.h"
#include "storage/hashing/key_hash.h"
#include "storage/hashing/key_name.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/timer_task.h"

namespace sluice {

class OwnDeadlines final : public KeyListener {
 public:
  // All of them outlive it.
  struct Uses {
    Keyspace& keyspace;
    const TurnClock& clock;
    TimerTasks& timers;
    const Settings& settings;
    const FollowState& state;
    const CurrentClient& current_client;
    const Standstill& standstill;
    SlowPathFlags& flags;
  };
  OwnDeadlines(const Uses& uses, HashKeys& hash_keys);

  // A role or `replica-read-only` has changed.
  void Changed();
  void EndTurn() {
    if (!written_.empty()) [[unlikely]]
      LookAtWritten();
  }
  size_t count() const { return owns_.size(); }

  // --- KeyListener
  bool listens() const override { return IsWritable() || !owns_.empty(); }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override;

 private:
  // Its name has the place of its database, so that neither a swap nor a flush looks at each key.
  struct Own : TimerTask {
    Own(OwnDeadlines& whose, KeyNameView own_name);
    ~Own();
    OwnDeadlines& deadlines;
    const KeyName name;
  };

  bool IsWritable() const { return on_.state.is_on && !on_.settings.replica_read_only; }
  bool IsOwnWrite() const;
  int DatabaseAt(int place) const;  // -1: it was flushed
  void LookAtWritten();
  void LookAt(Own& own);
  void Arm(Own& own, Deadline deadline);
  void Forget(KeyNameView name);

  const Uses on_;
  KeyNameMap<std::unique_ptr<Own>> owns_;
  std::vector<KeyName> written_;  // in this turn
  std::vector<int> places_;       // by database; each has another
  int last_place_ = 0;
};

}  // namespace sluice
