// CLIENT PAUSE: until a moment, commands (all, or those that write) are held back; their sessions
// keep their input and go on in the order in which they were stopped. Keys do not expire meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "server/clients/clients.h"
#include "server/core/parts.h"
#include "server/core/rare_flags.h"
#include "server/core/turn_clock.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Pause {
 public:
  static constexpr PartId kPartId = PartId::kPause;
  enum class Mode : uint8_t { kNone, kWrite, kAll };

  Pause(Clients& clients, Keyspace& keyspace, TimerTasks& timers, const TurnClock& clock,
        RareFlags& flags);
  ~Pause() { timers_.Disarm(end_); }

  // For `ms` from now. A second PAUSE keeps the later end and the stricter mode, as Redis does.
  void Start(Mode mode, int64_t ms);
  void End();                    // UNPAUSE, or the time is over: held sessions go on
  void TimeShifted(int64_t ms);  // see Engine::TimeShifted

  Mode mode() const { return mode_; }
  int64_t until_ms() const { return until_ms_; }
  // Precondition: mode() is not kNone. `flags`: of the request; `transaction_writes`: it ends a
  // transaction that writes.
  bool Holds(uint32_t flags, bool transaction_writes) const;
  void Hold(Session& session);

 private:
  Clients& clients_;
  Keyspace& keyspace_;
  TimerTasks& timers_;
  const TurnClock& clock_;
  RareFlags& flags_;
  Mode mode_ = Mode::kNone;
  int64_t until_ms_ = 0;
  std::vector<SessionId> held_;
  TimerTaskOf<Pause> end_{*this};
};

}  // namespace sluice
