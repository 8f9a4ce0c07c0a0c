// CLIENT PAUSE: until a moment, commands (all, or those that write) are held back; their sessions
// keep their input and go on in the order in which they were stopped.
//
// One rule for all that ends by time: nothing that a request which is held back could have kept
// goes to another before that request has run. So a pause is a reason of Standstill, from its begin
// until the held requests have run. Waits themselves end on time, as in Redis: their clients are
// answered that they got nothing.
//
// The server itself holds writes back, too: before it ends or hands over, so that replicas come up
// to it. What clients ask for and each cause of the server's own are apart; the strictest holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "server/clients/clients.h"
#include "server/core/slow_path_flags.h"
#include "server/core/standstill.h"
#include "server/core/turn_clock.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Pause {
 public:
  enum class Mode : uint8_t { kNone, kWrite, kAll };
  // Why the server itself holds writes back, as bits.
  enum class Cause : uint8_t { kEnd = 1, kFailover = 2, kMigration = 4 };

  Pause(Clients& clients, Standstill& standstill, TimerTasks& timers, const TurnClock& clock,
        SlowPathFlags& flags);
  ~Pause() { timers_.Disarm(end_); }

  // For `ms` from now. A second PAUSE keeps the later end and the stricter mode, as Redis does.
  void Start(Mode mode, int64_t ms);
  void End();                    // UNPAUSE, or the time is over: held sessions go on
  void TimeShifted(int64_t ms);  // see Assembly::TimeShifted
  // --- the server's own: from one to the other; twice is as once
  void HoldWrites(Cause cause);
  void LetWrites(Cause cause);

  Mode mode() const { return causes_ != 0 ? std::max(asked_, Mode::kWrite) : asked_; }
  bool is_on() const { return mode() != Mode::kNone; }
  // It is over, and requests that it has held back are still to be run.
  bool is_resuming() const { return !is_on() && any_resumed(); }
  // Looks whether the requests that were held back have been run. Once a turn, behind its requests.
  void TurnEnded() {
    if (any_resumed()) [[unlikely]]
      ForgetThoseThatRan();
  }
  // A host program has run what a pause may have held back of this session.
  void Ran(const Session& session) {
    if (!of_host_.empty()) [[unlikely]]
      ForgetOfHost(session);
  }
  // Requires: mode() is not kNone. `flags`: of the request; `transaction_writes`: it ends a
  // transaction that writes.
  bool Holds(uint32_t flags, bool transaction_writes) const;
  void Hold(Session& session);

 private:
  // However much held sessions have sent, and go on sending: then time goes on.
  static constexpr int64_t kResumedMsMax = 1000;

  bool any_resumed() const { return !resumed_.empty() || !of_host_.empty(); }
  void Begin();
  void LetGo(Mode before);
  void ForgetThoseThatRan();
  void ForgetOfHost(const Session& session);
  void EndResuming();

  Clients& clients_;
  Standstill& standstill_;
  TimerTasks& timers_;
  const TurnClock& clock_;
  SlowPathFlags& flags_;
  Mode asked_ = Mode::kNone;  // by clients
  uint8_t causes_ = 0;        // the server's
  int64_t until_ms_ = 0;      // of what they asked
  std::vector<SessionId> held_;
  std::vector<SessionId> resumed_;  // by the end of the last pause; they have requests to be run
  std::vector<SessionId> of_host_;  // the same, but a host program runs them, between turns
  int64_t ended_ms_ = 0;
  TimerTaskOf<Pause> end_{*this};
};

}  // namespace sluice
