// GracefulEnd: the end of a server that others follow. It waits until they have all that was
// written, up to `shutdown-timeout`; then it saves what is to be saved.
//
//   SHUTDOWN, SIGTERM ── all have everything ───────────────────────┬─ save ─┬─ the end
//        └─ waits: writes are held back ─┬─ all have, or time over ─┘        └─ the server goes on
//                                        └─ SHUTDOWN ABORT: the server goes on
//
// Those that have said SHUTDOWN are blocked meanwhile, and answered only if the server goes on. As
// in Redis another SHUTDOWN waits with them, whatever its words.
//
// A replica that never acknowledges anything (SYNC, redis-cli --rdb) is not waited for.
#pragma once

#include <cstdint>
#include <map>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/config/settings.h"
#include "server/core/end_outcome.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/blocked_call.h"
#include "server/dispatch/command.h"
#include "server/dispatch/effects/effects.h"
#include "server/dispatch/pause.h"
#include "server/replication/replicas.h"
#include "server/snapshots/snapshots.h"
#include "server/waiting/blocked_clients.h"
#include "storage/time/timer_task.h"

namespace sluice {

class GracefulEnd final : public WaitOwner {
 public:
  // All of them outlive it.
  struct Uses {
    const Settings& settings;
    Host& host;
    const TurnClock& clock;
    TimerTasks& timers;
    Clients& clients;
    BlockedClients& blocked_clients;
    const Effects& effects;
    Pause& pause;
    Snapshots& snapshots;
    Replicas& replicas;
  };
  explicit GracefulEnd(const Uses& uses);
  ~GracefulEnd() override { on_.timers.Disarm(deadline_); }

  // The end is wanted. While one is waited for already its words count.
  EndOutcome Begin(const EndWords& words);
  // Blocks a client that has said SHUTDOWN. Requires: waits().
  void Block(CommandCall& call);
  // The server goes on. False: no end is waited for.
  bool Abort();

  void TimeShifted(int64_t ms);  // see Assembly::TimeShifted

  bool waits() const { return waits_; }
  int64_t ms_left() const;  // Requires: waits()
  // Behind all that the turn has done: whether the wait is over.
  void EndTurn() {
    if (waits_) [[unlikely]]
      Look();
  }

  // --- WaitOwner
  void WaitCancelled(uint64_t wait_id, WaitEnd) override { waiting_.erase(wait_id); }

 private:
  void Look();
  bool Finish();
  void CallOff();

  const Uses on_;
  EndWords words_;
  bool waits_ = false;
  bool is_overdue_ = false;
  int64_t until_ms_ = 0;
  std::map<uint64_t, SessionId> waiting_;  // clients that have said SHUTDOWN, by their waits
  uint64_t last_wait_ = 0;
  TimerTaskOf<GracefulEnd> deadline_{*this};
};

}  // namespace sluice
