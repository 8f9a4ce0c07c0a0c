// LineLeaders: who leads the lines of the operator's map at present (cluster-map-follow yes). The
// map names a master and its replicas; a Sentinel, or a person, may have made a replica the master
// since. So each server of another line that has replicas is asked once a second (INFO
// replication), and -MOVED and CLUSTER SLOTS name the one that says it is the master.
//
// Where two say so, one that was seen as a replica before is newer news; a master that comes back
// and has not heard of its successor changes nothing. One that does not answer stays what it was
// until another one says that it leads.
//
// Bounds: one connection to each server that is asked, kActiveMax questions at a time. Where the
// CLUSTER commands make the map nobody is asked: a promoted server changes its line (own_line.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "server/clients/host.h"
#include "server/cluster/cluster_state.h"
#include "server/peers/peer_link.h"

namespace sluice {

class LineLeaders final : private PeerAsker {
 public:
  static constexpr size_t kActiveMax = 64;

  struct Uses {
    Host& host;
    const Config& config;
    ClusterState& cluster;
    PeerLink::Uses links;
  };
  explicit LineLeaders(const Uses& uses) : on_(uses) {}

  void EverySecond();
  void TimeShifted(int64_t ms);

 private:
  enum class Role : uint8_t { kUnknown, kMaster, kReplica };
  struct Server {
    size_t node;
    std::unique_ptr<PeerLink> link;
    Role role = Role::kUnknown;
  };

  void PeerAnswered(PeerLink& link, const PeerAnswer& answer) override;
  void PeerFailed(PeerLink& link, std::string_view why) override;

  bool is_on() const;
  Server& Find(const PeerLink& link);
  Role RoleOf(size_t node) const;
  void BeginAnew();
  void AskAll();
  void SaysItIsMaster(Server& server);
  void SaysItFollows(Server& server, std::string_view info);
  void SetLeader(size_t node);

  const Uses on_;
  uint64_t maps_ = UINT64_MAX;   // ClusterState::maps() of `servers_`
  std::vector<Server> servers_;  // of other lines that have replicas
  size_t next_ = 0;              // of servers_, to be asked
};

}  // namespace sluice
