// MapChanges: a new map of the cluster in a server that serves. Clients whose command waits for
// keys that are another server's from now on are sent there, and those who hear of its shard
// channels are told that they no longer do; locks that are held stay until they
// end, and so do the keys.
#pragma once

#include <cstddef>
#include <utility>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/cluster/cluster_state.h"
#include "server/dispatch/slot_gate.h"
#include "server/notify/pubsub.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

// Hears of each new map, in the command or between two.
class MapListener {
 public:
  virtual ~MapListener() = default;
  virtual void MapChanged() = 0;
};

class MapChanges {
 public:
  struct Uses {
    Host& host;
    Clients& clients;
    BlockedClients& blocked_clients;
    ClusterState& cluster;
    SlotGate& slots;
    PubSub& pubsub;
  };
  explicit MapChanges(const Uses& uses) : on_(uses) {}
  void set_listener(MapListener& listener) { listener_ = &listener; }

  // The file again (CLUSTER MAP LOAD, SIGHUP). After a fault the old map stays. Both are logged.
  Fault Load();
  // A map that a command or another server makes of it. `me`: this server in it.
  Fault Change(SlotMap map, size_t me);
  // One of the same servers, in the same order.
  Fault Change(SlotMap map) { return Change(std::move(map), on_.cluster.me()); }

 private:
  void Changed();

  const Uses on_;
  MapListener* listener_ = nullptr;
};

}  // namespace sluice
