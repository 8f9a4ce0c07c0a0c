// CLIENT PAUSE: until a moment, commands (all, or those that write) are held back; their sessions
// keep their input and go on in the order in which they were stopped.
#pragma once

#include <cstdint>
#include <vector>

#include "server/engine/session.h"
#include "storage/time/clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

class Engine;

class Pause {
 public:
  enum class Mode : uint8_t { kNone, kWrite, kAll };

  // A second PAUSE keeps the later end and the stricter mode, as Redis does.
  void Start(Mode mode, int64_t until_ms);
  void End(Engine& engine);  // UNPAUSE, or the time is over: held sessions go on

  Mode mode() const { return mode_; }
  int64_t until_ms() const { return until_ms_; }
  // Precondition: mode() is not kNone. `flags`: of the request; `transaction_writes`: it ends a
  // transaction that writes.
  bool Holds(uint32_t flags, bool transaction_writes) const;
  void Hold(Session& session);

 private:
  Mode mode_ = Mode::kNone;
  int64_t until_ms_ = 0;
  std::vector<SessionId> held_;
};

}  // namespace sluice
