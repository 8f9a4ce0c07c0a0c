// ClientLines: a client in one line, for CLIENT LIST, CLIENT INFO and the entries of ACL LOG.
#pragma once

#include <string>

#include "server/core/turn_clock.h"
#include "server/dispatch/access_gate.h"
#include "server/engine/inputs.h"

namespace sluice {

class ClientLines final : public ClientDescriber {
 public:
  ClientLines(const Inputs& inputs, const TurnClock& clock) : inputs_(inputs), clock_(clock) {}

  // Redis 7.0's fields in its order, 7.2's names of libraries behind them; no line break. Ages and
  // idle times are of engine time: a step of the wall clock does not show in them. `running`: the
  // arguments of its command that runs; none: those with which it waits, if it does.
  std::string Describe(const Session& session, Args running) const override;

 private:
  const Inputs& inputs_;
  const TurnClock& clock_;
};

}  // namespace sluice
