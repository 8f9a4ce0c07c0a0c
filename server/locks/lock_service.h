// LockService: the locks of the server as one part. It joins the rules (storage/locks) to four
// parts: HeldLocks keeps locks in the keyspace, LockWaits answers clients that wait for them,
// LockNews tells of them, FenceMark keeps tokens growing over restarts. What it does itself is the
// order in which the parts' notes are dealt with (Settle), between commands and in slices.
//
//   Locks& locks = call.part<LockService>().Enter();    // what has happened to locks comes first
//   const std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/locks/fence_mark.h"
#include "server/locks/held_locks.h"
#include "server/locks/lock_connections.h"
#include "server/locks/lock_news.h"
#include "server/locks/lock_waits.h"
#include "server/locks/turn_meter.h"
#include "server/notify/key_listeners.h"
#include "storage/locks/locks.h"

namespace sluice {

class LockService final : public KeyListener {
 public:
  static constexpr PartId kPartId = PartId::kLocks;

  // What it works with; all of it outlives the service, but for what is said below.
  struct Uses {
    const Config& config;
    Host& host;
    TurnClock& clock;
    DiskWorker& worker;
    Keyspace& keyspace;
    Effects& effects;
    Notifications& notifications;
    TimerTasks& timers;
    Clients& clients;
    ParkedClients& parked;
    const Pause& pause;
    const Acting& acting;
    RareFlags& flags;
  };
  LockService(const Uses& uses, HashKeys& hash_keys);

  // --- for handlers
  // Deals with what has happened to locks since (a DEL in the same script, a client that is gone),
  // and sees to it that there are tokens to give.
  Locks& Enter();
  HeldLocks& held_locks() { return held_; }
  LockWaits& waits() { return waits_; }
  LockNews& news() { return news_; }
  FenceMemory& memory() { return memory_; }
  FenceTokens& tokens() { return tokens_; }
  const LockCounts& counts() const { return locks_.counts(); }
  const WaitQueue& queue() const { return locks_.queue(); }
  size_t waiting() const { return locks_.queue().size(); }
  size_t held() const { return held_.size(); }  // locks
  const Lock* FindLock(LockNameView name) const { return held_.FindLock(name); }
  Session* FindConnection(uint64_t connection) const {
    return sluice::FindConnection(on_.clients, connection);
  }
  // A key was deleted by name, be it there or not: the tokens of a lock without a holder are
  // stale. False when nothing was known of it.
  bool Deleted(LockNameView name) { return memory_.size() > 0 && memory_.Forget(name); }
  // RESET: the connection's session bindings end, as if it had closed.
  void EndBindings(const Session& session);

  // --- for the engine
  void SessionEnded(const Session& session);
  bool listens() const override { return locks_.queue().size() > 0; }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override { held_.DatabaseReplaced(db, other); }
  // A slice of what crowds have left to do; true when there is more. Once a turn, when what the
  // clients had sent by `read_ms` has been run: so a RENEW that came in time and had to wait is in
  // time.
  bool Continue(int64_t read_ms);
  bool has_left_over() const {
    return locks_.has_left_over() || held_.any_loose() || held_.any_due() ||
           waits_.any_to_refuse() || news_.any_to_push();
  }
  bool pending() const {
    return held_.any_noted() || news_.any_noted() || waits_.any_cancelled() || !ended_.empty();
  }
  // It is changing a lock now, and tells of that itself.
  bool changes_itself() const { return held_.changes_a_key(); }
  // Before a turn and behind it: sees to it that there are tokens to give.
  void BetweenTurns() { mark_.LookAhead(); }
  // Deals with what has been noted; between top-level commands, and after timers.
  void CatchUp();

 private:
  bool GoOn();
  void SettleDue();
  void Settle();
  void SettleUnlessInside();
  void SettleTouched();
  bool MayAnswer() { return answers_left_ > 0 && !meter_.IsSpent(); }
  void DealOut(absl::FunctionRef<bool()> any_left, absl::FunctionRef<void(int&)> answer);

  const Uses on_;
  FenceTokens tokens_;
  FenceMemory memory_;
  FenceMark mark_;
  TurnMeter meter_;
  LockNews news_;
  HeldLocks held_;
  LockWaits waits_;
  Locks locks_;
  TimerTaskOf<LockService> retry_{*this};  // while a wait is ready for which no token could be had
  std::vector<uint64_t> ended_;            // sessions, noted
  int answers_left_;                       // of this turn: refusals and pushes
};

}  // namespace sluice
