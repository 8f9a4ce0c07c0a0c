// LockService: the locks of the server as one part. It joins the rules (storage/locks) to these
// parts: HeldLocks keeps locks in the keyspace, LockWaits answers clients that wait for them,
// LockRecorder says what has happened to holders (log, events), LockLosses tells those that lost a
// lock, Reservation keeps tokens growing over restarts and failovers, RestartGrace knows which
// names are held back after one. Its own work is the order in which the parts' notes are dealt with
// (Settle), between commands and in slices.
//
//   Locks& locks = call.part<LockService>().Enter();    // what has happened to locks comes first
//   const std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/locks/held_locks.h"
#include "server/locks/lock_connections.h"
#include "server/locks/lock_losses.h"
#include "server/locks/lock_recorder.h"
#include "server/locks/lock_waits.h"
#include "server/locks/replica_waits.h"
#include "server/locks/reservation.h"
#include "server/locks/turn_meter.h"
#include "server/notify/key_listeners.h"
#include "storage/locks/locks.h"

namespace sluice {

class Standstill;

// A server that has followed another, when it becomes the master.
struct PromotedReplica {
  bool may_lack_locks = false;  // it has followed a Sluice; its data are no longer its own
  bool is_whole = false;
  bool is_link_up = false;
};
// As a master has said: what it has reserved ahead for locks.
struct MasterReserve {
  int64_t token_mark = 0;
  int64_t horizon_ms = 0;    // engine ms: every lease ends before; 0: that is not known
  bool is_complete = false;  // no grant is answered before this server has it
};
// Why names are held back.
enum class GraceReason : uint8_t {
  kNone,
  kStart,             // grants of before it may be missing
  kLinkWasDown,       // this server was promoted: its master may have granted more
  kGrantsDidNotWait,  // the same: grants were answered before this server had them
  kDataNotWhole,      // the same, in the middle of a full sync or before the first
};

class LockService final : public KeyListener {
 public:
  // The parts that it works with; all of them outlive the service.
  struct Uses {
    const Config& config;
    Host& host;
    TurnClock& clock;
    Keyspace& keyspace;
    const ChangeRecorder changes;
    TimerTasks& timers;
    Clients& clients;
    BlockedClients& blocked_clients;
    const Standstill& standstill;
    const CurrentClient& current_client;
    LogState& log;
    TurnNeeds& turn_needs;
    const FollowerTurns& followers;
    SlowPathFlags& flags;
    RequestIds& requests;
  };
  LockService(const Uses& uses, HashKeys& hash_keys);

  // --- for handlers
  // Each command on locks begins with it. Deals with what has happened to locks since (a DEL in the
  // same script, a client that is gone), and sees to it that there are tokens to give.
  Locks& Enter();
  HeldLocks& held_locks() { return held_; }
  LockWaits& waits() { return waits_; }
  ReplicaWaits& replica_waits() { return replica_waits_; }
  const ReplicaWaits& replica_waits() const { return replica_waits_; }
  FenceMemory& memory() { return memory_; }
  const FenceMemory& memory() const { return memory_; }
  FenceTokens& tokens() { return tokens_; }
  const LockCounts& counts() const { return locks_.counts(); }
  const WaitQueue& queue() const { return locks_.queue(); }
  size_t waiting() const { return locks_.queue().size(); }
  LockWaitStatistics& wait_statistics() { return waits_.statistics(); }
  const LockWaitStatistics& wait_statistics() const { return waits_.statistics(); }
  size_t held() const { return held_.size(); }  // locks
  const Lock* FindLock(LockNameView name) const { return held_.FindLock(name); }
  Session* FindConnection(uint64_t connection) const {
    return sluice::FindConnection(on_.clients, connection);
  }
  // A key was deleted by name, be it there or not: the tokens of a lock without a holder are
  // stale. False when nothing was known of it.
  bool Deleted(LockNameView name) {
    if (grace_.is_on()) [[unlikely]]
      grace_.Settle(name, grace_.last_token());
    return memory_.size() > 0 && !held_.are_aside() && memory_.Forget(name);
  }
  // For a fired TimerNode of kind kLease.
  void LeaseTimerFired(TimerNode& node) { held_.LeaseTimerFired(node); }
  // A key was renamed or moved to where it is now, over a lock without a holder too: see HeldLocks.
  void Moved(Database& db, HashedKey key) {
    held_.Moved(db, key);
    Deleted({db.index(), key.bytes});
  }
  // Sees to it that a request's hold, or a renewal, is safe over a restart where no log keeps it;
  // may wait for the disk. Why that cannot be, as an error, or empty.
  std::string_view Reserve(const LockTerms& terms, int64_t wait_ms);

  // --- in the grace after a restart; none of it costs more than a test outside of it
  // The owner renews this lock. If it is known to hold it, it has proved that; if it has it alone,
  // no other owner has, so the name is held back no more.
  void Claims(OpenLock& open, std::string_view owner, int64_t token);
  // The owner is known to hold this lock, but may have given it back in a record that is missing: a
  // second ACQUIRE cannot be granted as re-entrant.
  bool IsInDoubt(OpenLock& open, std::string_view owner) const;
  // The owner's grant is missing, and it has shown its token: it gets the lock back, in this shape.
  // Known holders that cannot hold it beside this owner lose it.
  bool GetBack(OpenLock& open, std::string_view owner, int64_t lease_ms, int64_t token,
               const LockShape& shape);
  // Not held as far as is known, but this token (0: one that the owner does not tell) may be that
  // of a grant which is missing.
  bool MayBeMissing(OpenLock& open, int64_t token) const;
  // FENCED: whether the token passes is not known until its owner has proved itself. Until then it
  // does not pass, and is not stale.
  bool IsTokenInDoubt(OpenLock& open, int64_t token);
  // A request was refused only because other holders may be missing.
  bool IsHeldBack(OpenLock& open, const LockShape& shape) const;
  // An administrator says that no owner holds it: tokens of before are stale from now on.
  void EndDoubt(OpenLock& open);
  bool IsWithheld(OpenLock& open) const { return held_.IsWithheld(open.lock()); }
  GraceReason grace_reason() const { return grace_.is_on() ? grace_reason_ : GraceReason::kNone; }
  int64_t GraceLeftMs() const { return grace_.LeftMs(on_.clock.now()); }
  // RESET: the connection's session bindings end at once, as if it had closed.
  void EndBindings(const Session& session);

  // --- for replicas
  Reservation& reservation() { return reservation_; }
  LeaseHorizon& horizon() { return horizon_; }

  // --- for the engine
  void SessionEnded(const Session& session);
  // Locks of sessions that were there before the start; and the time for their owners is over.
  bool AnyHeldFromBefore() const { return locks_.HoldsAny(kSessionElsewhere); }
  void SessionsOfBeforeAreOver() { are_over_.sessions_of_before = true; }
  // Locks would end with the connection.
  bool HoldsBySession(const Session& session) const {
    return locks_.HoldsAny(ConnectionOf(session));
  }
  bool listens() const override { return locks_.queue().size() > 0; }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override { held_.DatabaseReplaced(db, other); }
  // A slice of what crowds have left to do; true when there is more. Once a turn, when what the
  // clients had sent by `read_ms` has been run: so a RENEW that came in time and had to wait is in
  // time.
  bool Continue(int64_t read_ms);
  bool has_left_over() const {
    return locks_.has_left_over() || held_.any_detached() || held_.any_due() || held_.retries() ||
           waits_.any_to_refuse() || any_to_tell() || memory_.has_new_bounds() || are_over_.any();
  }
  bool pending() const {
    return held_.any_noted() || losses_.any_noted() || waits_.any_cancelled() || !ended_.empty() ||
           replica_waits_.any_noted();
  }
  // A lock is being changed by this service now, and LockRecorder tells of that.
  bool changes_itself() const { return held_.changes_a_key(); }
  // Once a turn, when it has its number: answers requests whose grants replicas have by now.
  void AnswerKept() { replica_waits_.Settle(); }
  // Before a turn and behind it: sees to it that there are tokens to give.
  void BetweenTurns() { reservation_.LookAhead(); }
  // Once, before the first client is served: whether data were loaded, whether the grants of before
  // are known, all of them, and the wall clock's time of the last thing that is known. Holds names
  // back if need be, for as long as the file says, or leases may run that count here; never longer
  // than lock-restart-grace-max.
  void Started(bool has_data, bool has_all_grants, int64_t last_unix_ms);
  // The same of one that followed a master, and is one from now on: tokens go on above that one's.
  // The last word of that one counts, since this server has followed it.
  void MasterHasSaid(const MasterReserve& reserve);
  void Promoted(const PromotedReplica& was);
  // lock-restart-grace or -max was changed: the grace that runs follows, counted from its
  // beginning. It never gets longer: the grants that are missing do not.
  void GraceBoundChanged();
  // A live server loads its data anew: what it knows of locks stays as it is. See HeldLocks.
  void SetAside();
  void BringBack() { held_.BringBack(); }
  // All data have just been taken away, for those of a server that this one follows: nothing is
  // known of locks any more, nor in doubt. And those data have been loaded.
  void AllGone();
  void AllReplaced();
  // See HeldLocks.
  void ImageBegins() { held_.ImageBegins(); }
  // At the end: all that was granted is in a log, on disk.
  void AllIsDurable() { reservation_.Forget(); }
  // At the end, too: a sync of the log has failed.
  void LogIsUnsure() { reservation_.WriteUnsure(); }
  void TimeShifted(int64_t ms) {  // see Assembly::TimeShifted
    memory_.Shift(ms);
    if (master_has_.horizon_ms > 0) master_has_.horizon_ms += ms;
    reservation_.TimeShifted();
  }
  // Deals with what has been noted; between top-level commands, and after timers.
  void CatchUp();
  // The same, and of locks that SWAPDB or FLUSHALL has cut loose nothing is left: for a replay, in
  // which the next command may be of a later turn. O(locks that were cut loose).
  void CatchUpInFull();

 private:
  // Times that are over, noted by their timers: dealt with once what was sent in time has been run.
  struct AreOver {
    bool grace = false;
    bool sessions_of_before = false;
    bool any() const { return grace || sessions_of_before; }
  };

  void FollowStandstill();
  void EndTimes();
  void HoldBack(int64_t left_ms, RestartGrace::Terms terms, GraceReason reason);
  GraceReason ReasonAfter(const PromotedReplica& was) const;
  bool MayHoldBack() const;
  void NoteDoubt(int64_t held_back_until_unix_ms);
  int64_t NewestKnown(OpenLock& open) const;
  void EndGrace();
  bool GoOn();
  void SettleDue();
  void Settle();
  void SettleUnlessInside();
  void SettleTouched();
  bool any_to_tell() const { return recorder_.any_to_tell() || losses_.any_to_tell(); }
  bool MayAnswer() { return answers_left_ > 0 && !meter_.IsSpent(); }
  void DealOut(absl::FunctionRef<bool()> any_left, absl::FunctionRef<void(int&)> answer);

  const Uses on_;
  FenceTokens tokens_;
  FenceMemory memory_;
  LeaseHorizon horizon_;
  Reservation reservation_;
  RestartGrace grace_;
  TurnMeter meter_;
  LockLosses losses_;
  LockRecorder recorder_;
  HeldLocks held_;
  ReplicaWaits replica_waits_;
  LockWaits waits_;
  Locks locks_;
  TimerTaskOf<LockService> retry_{*this};  // while a wait is ready for which no token could be had
  TimerTaskOf<LockService> grace_ends_{*this};
  std::vector<uint64_t> ended_;  // sessions, noted
  AreOver are_over_;
  GraceReason grace_reason_ = GraceReason::kNone;
  MasterReserve master_has_;
  int answers_left_;  // of this turn: refusals and pushes
};

}  // namespace sluice
