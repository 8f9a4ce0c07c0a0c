// MONITOR: clients that are shown every command as it is run, one line each:
//
//   +1339518083.107412 [0 127.0.0.1:60866] "set" "key" "value"
//
// Commands of administrators are not shown, nor arguments that a handler has called secret.
#pragma once

#include <span>
#include <vector>

#include "protocol/args.h"
#include "server/clients/clients.h"
#include "server/core/slow_path_flags.h"

namespace sluice {

class Monitors {
 public:
  Monitors(const Settings& settings, Clients& clients, TurnClock& clock, SlowPathFlags& flags)
      : settings_(settings), clients_(clients), clock_(clock), flags_(flags) {}

  // From now on the client takes output as a subscriber does, with that class's limits. The session
  // must be removed before it ends: pointers to it are kept.
  void Add(Session& session);
  void Remove(Session& session);

  bool any() const { return !watching_.empty(); }
  // `secret`: indexes of arguments to be hidden. A script's stand-in client is shown as "lua".
  // O(bytes of the request) for all monitors together, and a copy for each.
  void Show(const Session& client, Args args, std::span<const size_t> secret = {});

 private:
  bool IsTooLong(Args args) const;

  const Settings& settings_;
  Clients& clients_;
  TurnClock& clock_;
  SlowPathFlags& flags_;
  std::vector<Session*> watching_;
};

}  // namespace sluice
