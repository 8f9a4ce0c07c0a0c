// MapChanges: a new map of the cluster in a server that serves. Clients whose command waits for
// keys that are another server's from now on are sent there; locks that are held stay until they
// end, and so do the keys.
#pragma once

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/cluster/cluster_state.h"
#include "server/dispatch/slot_gate.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

class MapChanges {
 public:
  struct Uses {
    Host& host;
    Clients& clients;
    BlockedClients& blocked_clients;
    ClusterState& cluster;
    SlotGate& slots;
  };
  explicit MapChanges(const Uses& uses) : on_(uses) {}

  // The file again (CLUSTER MAP LOAD, SIGHUP). After a fault the old map stays. Both are logged.
  Fault Load();
  // The map that a CLUSTER command makes of it.
  Fault Change(SlotMap map);

 private:
  void SendWaitersAway();

  const Uses on_;
};

}  // namespace sluice
