// OwnLine: what the map says of this server, and whom it follows, are kept as one, where the
// CLUSTER commands make the map (and no operator's file).
//
//   the map makes it a replica           it follows that master (Following): REPLICATE, the start
//   it has become a master (REPLICAOF    its line takes the slots of its master's, and is renewed,
//   NO ONE, FAILOVER, a Sentinel)        so that all servers hear of it
//   another has the last slots of        it follows that one (cluster-allow-replica-migration)
//   its line
//
// So who leads is decided by a person or by a Sentinel, as elsewhere, and the map tells of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/clients/host.h"
#include "server/cluster/cluster_state.h"
#include "server/config/config.h"
#include "server/following/following.h"
#include "server/peers/map_changes.h"
#include "server/peers/map_exchange.h"
#include "server/peers/peer_link.h"

namespace sluice {

class OwnLine final : private PeerAsker {
 public:
  struct Uses {
    Host& host;
    Config& config;
    ClusterState& cluster;
    Following& following;
    MapChanges& changes;
    MapExchange& exchange;
    PeerLink::Uses links;
  };
  explicit OwnLine(const Uses& uses) : on_(uses), master_link_(uses.links, *this) {}

  // Before Following's: a replica of the map has its `replicaof` from there.
  void Start();
  void EverySecond();
  void TimeShifted(int64_t ms) { master_link_.TimeShifted(ms); }

  // --- commands
  // It follows that master of the map from here on; its slots have to be others' already.
  Fault Replicate(size_t master);
  // It follows nobody, whoever else there is, and has its master's slots.
  Fault TakeOver();
  // Asks its master to hand over to it (FAILOVER), with nothing lost. How it ends is in the log.
  Fault AskForHandOver();
  // It is a server without slots that knows no other; `id` is its own from here on.
  Fault BeAlone(std::string_view id, uint64_t epoch);

 private:
  void PeerAnswered(PeerLink& link, const PeerAnswer& answer) override;
  void PeerFailed(PeerLink& link, std::string_view why) override;

  bool is_kept() const { return on_.cluster.is_on() && on_.cluster.WhyFixed().empty(); }
  void Claim();
  void JoinFollowed();
  void JoinHeir();
  Fault JoinLine(size_t master);
  void FollowNode(size_t master);

  const Uses on_;
  PeerLink master_link_;
};

}  // namespace sluice
