// LockWaits: the clients behind the waits for locks. storage/locks knows which waits there are for
// which lock; here a client is blocked, and answered when its wait is granted, has been replaced,
// or is for a key that holds something else now: WRONGTYPE.
//
// A wait that ends otherwise (time, CLIENT UNBLOCK, a closed connection) is noted, and cancelled
// when the locks are settled. However it ends, it is counted then (lock_wait_statistics.h).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/dispatch/effects/change_recorder.h"
#include "server/limits/request_ids.h"
#include "server/locks/held_locks.h"
#include "server/locks/lock_wait_statistics.h"
#include "server/locks/replica_waits.h"
#include "server/locks/vain_waits.h"
#include "server/waiting/blocked_clients.h"
#include "storage/locks/locks.h"

namespace sluice {

class LockWaits final : public WaitOwner, public LockCallers {
 public:
  // The parts that they work with; all of them outlive the waits.
  struct Uses {
    const Config& config;
    Host& host;
    const TurnClock& clock;
    Clients& clients;
    BlockedClients& blocked_clients;
    SlowPathFlags& flags;
    HeldLocks& held;
    Locks& locks;
    RequestIds& requests;
    ReplicaWaits& replica_waits;
    const ChangeRecorder changes;
    std::function<void()> cancelled;  // called when a wait has been noted as over
  };
  LockWaits(Uses uses, const SipKey& key) : on_(std::move(uses)), vain_(key) {}

  // Blocks the client of a request that Acquire has queued.
  void Block(CommandCall& call, uint64_t wait_id, int64_t deadline_ms);

  // A request that would have waited was refused, as it would have waited for itself.
  void CountDeadlock(const OpenLocks& asked);
  LockWaitStatistics& statistics() { return statistics_; }
  // Requests that have waited for this lock in vain, in the last hour.
  int64_t InVain(LockNameView name) const { return vain_.LastHour(name, on_.clock.now()); }
  const LockWaitStatistics& statistics() const { return statistics_; }

  bool any_cancelled() const { return !cancelled_.empty(); }
  void Cancel();  // what has been noted
  // The key holds something else now.
  void NoteTaken(const LockName& name) { taken_.insert(name); }
  bool any_to_refuse() const { return !taken_.empty(); }
  // Refuses the waiters of such keys, unless the keys have been freed since: each takes one of
  // `answers_left`.
  void Refuse(int& answers_left);

  // --- WaitOwner, LockCallers
  void WaitCancelled(uint64_t wait_id, WaitEnd end) override;
  void WaitGranted(const LockWait& wait, const LockGrants& grants) override;
  void WaitReplaced(const LockWait& wait) override;
  void HoldLost(const LockWait& wait) override;
  bool IsConnected(uint64_t connection) const override;
  void SessionBound(uint64_t session) override;

 private:
  void CountInVain(const LockNames& names, LockWaitInVain why);

  const Uses on_;
  std::vector<uint64_t> cancelled_;
  std::set<LockName> taken_;
  LockWaitStatistics statistics_;
  VainWaits vain_;
};

}  // namespace sluice
