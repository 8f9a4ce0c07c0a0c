// OwnDeadlines: keys with a deadline that clients of a writable replica wrote (`replica-read-only
// no`). Nothing ends on a replica by time, since its master tells what has ended; of these keys it
// knows nothing. So each has a timer here, and is removed when it is over. A key that the master
// writes is the master's from then on.
//
// A touched key is noted in the middle of its change, and looked at when the turn ends. INFO's
// slave_expires_tracked_keys is how many there are, as in Redis, whose slaveKeysWithExpire this is
// (expire.c of 7.0).
//
// Costs: a lookup for each write of such a client; a name and some 100 bytes for each key. A flush
// and a promotion forget them at once, and free a thousand a turn.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
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

  // `replica-read-only` has changed. A server that begins to follow raises kKeys by itself.
  void Changed();
  void EndTurn() {
    if (has_work()) [[unlikely]]
      Tidy();
  }
  size_t count() const { return count_; }

  // --- KeyListener
  bool listens() const override { return IsWritable() || (count_ > 0 && on_.state.is_on); }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override;

 private:
  static constexpr int kNoDatabase = -1;

  struct Own;
  // A database with its keys, so that neither a swap nor a flush looks at each.
  struct Place {
    Place(int index, const KeyNameHash& hash) : db(index), owns(0, hash) {}
    int db;                                 // kNoDatabase: it was dropped
    KeyNameMap<std::unique_ptr<Own>> owns;  // named as of database 0
  };
  struct Own : TimerTask {
    Own(OwnDeadlines& whose, Place& its_place, KeyNameView its_name);
    ~Own();
    OwnDeadlines& deadlines;
    Place& place;
    const KeyName name;
  };

  bool IsWritable() const { return on_.state.is_on && !on_.settings.replica_read_only; }
  bool IsOwnWrite() const;
  bool has_work() const {
    return !written_.empty() || !dropped_.empty() || (count_ > 0 && !on_.state.is_on);
  }
  void LookAtWritten();
  void Tidy();
  void LookAt(Own& own);
  void Arm(Own& own, Deadline deadline);
  void Forget(int db, std::string_view key);
  void Drop(std::unique_ptr<Place>& place);

  const Uses on_;
  const KeyNameHash hash_;
  std::vector<std::unique_ptr<Place>> places_;  // by database; null: nothing is tracked there
  std::vector<std::unique_ptr<Place>> dropped_;
  size_t count_ = 0;                                                 // in places_
  absl::flat_hash_set<KeyName, KeyNameHash, KeyNameEqual> written_;  // in this turn
};

}  // namespace sluice
