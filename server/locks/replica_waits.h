// ReplicaWaits: clients whose grant has been made, and is told to them once so many Sluices that
// follow this server have it: as lock-min-replicas says, or as they asked themselves
// (LOCK.ACQUIRE ... REPLICAS k ms). They wait in the place of their request, so nobody else's
// answer does because of REPLICAS; what lock-min-replicas asks for, GrantPromise lets others wait
// for, too.
//
//   Block, GoOn ── k have its turn ──────────── the token, with what is left of the lease
//        └──────── the time is over ─────────── NOREPLICAS, and the grant is taken back
//        └──────── the client is gone ───────── it is taken back, for nobody knows its token
//
// A grant is taken back as a holder is broken: its token is worth nothing on any server, and the
// lock goes to the next. Whatever else has ended it meanwhile (its lease, DEL, FLUSHALL,
// LOCK.BREAK) ends the wait with NOREPLICAS as well, when the replicas have its turn or its time is
// over; of several locks the others are taken back.
//
// Waits for equally many Sluices stand in one line, by their turns, so what has been reached stands
// in front. Beginning and ending a wait is O(log waits); looking whether any is over costs what
// FollowerTurns takes, for each line. Nothing without waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "server/clients/clients.h"
#include "server/config/settings.h"
#include "server/core/follower_turns.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/core/turn_needs.h"
#include "server/locks/held_locks.h"
#include "server/waiting/blocked_clients.h"
#include "storage/locks/locks.h"

namespace sluice {

class ReplicaWaits final : public WaitOwner {
 public:
  // The parts that they work with; all of them outlive the waits.
  struct Uses {
    const Settings& settings;
    const TurnClock& clock;
    Clients& clients;
    BlockedClients& blocked_clients;
    SlowPathFlags& flags;
    const FollowerTurns& followers;
    TurnNeeds& turn_needs;
    HeldLocks& held;
    Locks& locks;
    Handler answer_late;          // what why_late() says
    std::function<void()> noted;  // called when a wait has been noted as over within a turn
  };
  explicit ReplicaWaits(Uses uses) : on_(std::move(uses)) {}

  // A grant as its owner asked for it.
  struct Grant {
    LockRequest request;  // with its names
    LockGrants grants;
    int64_t waited_ms = 0;  // for the lock
  };

  // Whether a grant has to be kept first. `replicas`: those that the request asks for itself.
  bool Wants(uint32_t replicas) const { return replicas > 0 || on_.settings.lock_min_replicas > 0; }
  // Why a request that asks for so many is refused at once, or empty: so many do not follow.
  std::string WhyTooMany(uint32_t replicas) const;
  // Blocks the client of a request that was granted just now. Requires: the call may wait.
  void Block(CommandCall& call, Grant grant);
  // The same of a client that has waited for the lock.
  void GoOn(Session& session, Grant grant);

  // Once a turn: answers all whose grants are kept by now.
  void Settle() {
    if (!waits_.empty()) [[unlikely]]
      SettleLines();
  }
  // Takes back what was noted.
  void TakeBack();
  bool any_noted() const { return !noted_.empty(); }
  size_t size() const { return waits_.size(); }
  // The wait that was cancelled last: for its `answer_late`, which follows at once.
  const std::string& why_late() const { return why_late_; }

  // The grant under this token, if it waits: how many Sluices it waits for, and how many have it;
  // of several waits for it, the one that came last.
  struct Progress {
    uint32_t wanted = 0;
    size_t have = 0;
  };
  Progress ProgressOf(int64_t token) const;

  // --- WaitOwner
  void WaitCancelled(uint64_t wait_id, WaitEnd end) override;

 private:
  struct Place {
    uint32_t sluices;  // that the request asks for itself; 0: none
    uint64_t turn;
    uint64_t id;
    auto operator<=>(const Place&) const = default;
  };
  struct Wait {
    SessionId session;
    Grant grant;
    bool adds_hold;  // by which the lock is held once more: to be taken back
  };
  using Waits = std::map<Place, Wait>;

  // The option may be changed while a request waits for as many as it has asked for.
  uint32_t Asked(uint32_t sluices) const {
    return std::max(sluices, static_cast<uint32_t>(on_.settings.lock_min_replicas));
  }
  BlockTerms Begin(const Session& session, Grant grant);
  void SettleLines();
  void Finish(Waits::iterator wait);
  bool Refresh(Grant& grant) const;
  Wait Take(Waits::iterator wait);
  // That it is to be taken back, unless that is left to another.
  bool Note(Wait wait);
  bool LeaveToAnother(const Wait& wait);
  static int64_t TokenOf(const Grant& grant) { return grant.grants.front().token; }
  static size_t BytesOf(const Wait& wait);

  const Uses on_;
  Waits waits_;
  absl::btree_map<uint64_t, Place> places_;  // by id
  // Of each wait its first token and its id: one grant may be waited for several times.
  absl::btree_set<std::pair<int64_t, uint64_t>> by_token_;
  std::vector<Wait> noted_;  // that are over, to be taken back
  std::string why_late_;     // of the wait that was cancelled last
  uint64_t last_id_ = 0;
};

}  // namespace sluice
