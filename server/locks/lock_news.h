// LockNews: what is told about locks: effects to the log, events to those that subscribe, and
// "lock-lost" pushes to holders that asked for them with NOTIFY.
//
// A loss is noted in the middle of a change of the keyspace, when its reason is perhaps not known
// yet, and told behind the command: not into the middle of an answer, for the holder may be the one
// whose command runs. Crowds of holders are told in slices.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "server/clients/clients.h"
#include "server/core/rare_flags.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/effects.h"
#include "server/dispatch/log_state.h"
#include "server/locks/lease_horizon.h"
#include "server/notify/notifications.h"
#include "storage/locks/locks.h"

namespace sluice {

// How a holder came to lose a lock against its will, as the push says it.
enum class LockLoss : uint8_t {
  kExpired,
  kBroken,
  kDeleted,
  kFlushed,
  kOverwritten,
  kRenamed,
  kSwapped,
  kGone,  // deleted or overwritten: not known yet
};

class LockNews final : public LockListener {
 public:
  // What it works with; all of it outlives it.
  struct Uses {
    const TurnClock& clock;
    Effects& effects;
    Notifications& notifications;
    Clients& clients;
    RareFlags& flags;
    LeaseHorizon& horizon;
    LogState& log;
  };
  explicit LockNews(const Uses& uses) : on_(uses) {}

  // Tells the log how the owner holds the lock now, if it does: after RENEW, a hold more or one
  // less. What begins and ends is told by itself.
  void RecordHolder(OpenLock& lock, std::string_view owner);

  // --- losses
  // All holders of a lock that is going away, by `why`. Those of a crowd are noted when they are
  // freed.
  void NoteLosses(const Lock& lock, LockLoss why);
  // One of such a crowd is being freed.
  void HolderFreed(const Lock& lock, const LockHolder& holder);
  // All are.
  void Freed(const Lock& lock);
  // What was lost under this name, and not known why, was overwritten.
  void NoteOverwritten(LockNameView name);
  bool any_noted() const { return !losses_.empty() || !unsure_.empty(); }
  // Finds the reasons that are not known yet: whether something else stands under the name now.
  void FindReasons(absl::FunctionRef<bool(LockNameView)> is_taken);
  // Tells holders of what is noted, and of crowds an event for each that was one: each takes one of
  // `answers_left`.
  void PushLosses(int& answers_left);
  bool any_to_push() const { return !losses_.empty() || !pushes_.empty() || !events_.empty(); }

  // --- LockListener
  void LockAcquired(const Lock& lock, const LockHolder& holder) override;
  void LockEnded(const Lock& lock, const LockHolder& holder, LockEnd end) override;
  void AllEnded(const Lock& lock, const Lock::CrowdEnd& crowd, LockEnd end) override;
  void LingeringEnded(const Lock& lock, const LockHolder& holder, LockEnd end) override;

 private:
  // Of one holder, however many are to be told.
  struct Loss {
    LockClients connections;
    LockName name;
    int64_t token;
    LockLoss why;
    size_t told = 0;  // of the connections
  };

  // The same event so many times.
  struct Events {
    LockName name;
    std::string_view event;
    int64_t left;
  };

  void Record(const Lock& lock, const LockHolder& holder);
  void RecordEnd(const Lock& lock, int64_t token, LockEnd end);
  void NoteLosses(const Lock& lock, const LockHolder& holder, LockLoss why);
  void NoteEvents(const Lock& lock, int64_t holders, LockEnd end);
  void TellEvents(int& answers_left);
  void Push(const Loss& loss, uint64_t connection);

  const Uses on_;
  std::vector<Loss> losses_;  // noted, their reason perhaps not known yet
  std::deque<Loss> pushes_;   // to be told
  std::deque<Events> events_;
  absl::flat_hash_map<const Lock*, LockLoss> dying_;  // crowds that are to be freed
  std::vector<const Lock*> unsure_;                   // of these, their reason not known yet
};

}  // namespace sluice
