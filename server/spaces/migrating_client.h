// MigratingClient: a client on its way from one engine to another, with what goes with it: its
// connection, name, protocol, login, and what it has sent that has not run. Its database,
// transaction, subscriptions and waits stay behind.
//
// Between two turns only: no engine runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/spaces/space.h"

namespace sluice {

struct MigratingClient {
  boost::intrusive_ptr<ClientConnection> connection;
  Peer peer;
  BoxedText name, library_name, library_version;
  int resp = 2;
  int db = 0;
  bool authenticated = false;
  bool is_answered = false;  // the reset was its own
  std::string bytes;         // that it has sent
};

MigratingClient Leave(Space& space, Session& session);
// All that may: the rest is closed. `caller`: who has asked for it, and is not told that its wait
// has ended.
std::vector<MigratingClient> LeaveAll(Space& space, std::optional<SessionId> caller);
// False: its connection is gone.
bool Arrive(Space& space, MigratingClient client);

}  // namespace sluice
