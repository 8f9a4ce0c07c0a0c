// ClusterState: the slot map as this server sees it: which server of it this one is, who leads each
// line, and whether there is a cluster at all. The gate, CLUSTER and INFO read it.
//
// A line is a master of the map with its replicas. The map says who leads it; a failover may have
// made it another one. A server knows of its own line: it leads when it follows nobody, and else
// its master does.
//
// The map is the operator's file (cluster-map), which this server never writes; or, where there is
// none, that of cluster-config-file, which the CLUSTER commands change; or this server alone, with
// no slots yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/fault.h"
#include "server/cluster/map_file.h"
#include "server/cluster/slot_map.h"
#include "server/config/config.h"
#include "server/config/follow_state.h"
#include "server/core/slow_path_flags.h"

namespace sluice {

class ClusterState {
 public:
  // `own_id`: the id of a server without a map. All outlive it.
  ClusterState(Config& config, const FollowState& follows, SlowPathFlags& flags,
               const std::string& own_id)
      : config_(config), follows_(follows), flags_(flags), own_id_(own_id) {}

  // At the start: reads the map. The fault ends the start.
  Fault Start();
  // Reads it again. After a fault, a file that is gone included, the map is the old one.
  Fault Reload();

  bool is_on() const { return flags_.Raised(SlowPathFlags::kCluster); }
  const SlotMap& map() const { return map_; }
  size_t me() const { return me_; }
  const ClusterNode& own() const { return map_.nodes()[me_]; }
  // Whether the slots are served as a whole: all have an owner, or need not.
  bool is_up() const {
    return map_.is_whole() || !config_.settings().cluster_require_full_coverage;
  }

  // The master of the map whose line a node is in.
  size_t LineOf(size_t node) const { return map_.MasterOf(node); }
  // A master's own slots while all is well; false says nothing.
  bool ServesPlainly(KeySlot slot) const {
    return map_.IsOwner(plain_line_, slot) && !follows_.is_on;
  }
  // The same of all slots, so that the key need not be looked at.
  bool ServesAllPlainly() const { return owns_all_plainly_ && !follows_.is_on; }
  bool IsOfOwnLine(size_t node) const { return LineOf(node) == LineOf(me_); }
  bool follows() const { return follows_.is_on; }
  // The node that leads the line of that node at present. O(nodes) where this server follows.
  size_t LeaderOf(size_t node) const;
  bool Leads(size_t node) const { return LeaderOf(node) == node; }
  // It leads its line, which is not this server's own, until there is another map.
  void SetLeader(size_t node) { leaders_[LineOf(node)] = node; }
  // How many maps there have been.
  uint64_t maps() const { return maps_; }

  struct Line {
    size_t leader = 0;
    std::vector<size_t> followers;
    std::vector<SlotRange> ranges;
  };
  // By the number of the map's master; of other nodes it is empty. O(nodes + slots).
  std::vector<Line> Lines() const;

  // How clients are told to reach a node. Its own: what cluster-announce-* say.
  std::string HostOf(size_t node) const;
  uint16_t PortOf(size_t node) const;
  // The place that they connect to: as HostOf, or a name, or nothing, which is where they are
  // connected to now (cluster-preferred-endpoint-type).
  std::optional<std::string> EndpointOf(size_t node) const;
  // "": it has none.
  std::string NameOf(size_t node) const;

  // The same on servers that have the same map: 16 hex digits. O(slots).
  std::string Digest() const;

  // A new map of the CLUSTER commands. It is written first; after a fault nothing has changed.
  // `me`: this server in it.
  Fault Change(SlotMap map, size_t me);
  // The port by which this server says that others reach it, where no file of the operator does.
  uint16_t OwnPort() const;
  // Slots of this server that are on their way. They are written as the map is; those that make no
  // sense any more with a map (the slot is there) are left out.
  const SlotMoves& moves() const { return moves_; }
  Fault SetMoves(SlotMoves moves);
  // Why they may not change it; empty: they may.
  Fault WhyFixed() const;

 private:
  Fault ReadOperatorsMap();
  Fault ReadOwnMap();
  Fault BeAlone();
  void TellOwnAddress(SlotMap& map, size_t me) const;
  void Take(MapFile file);
  void Take(SlotMap map, size_t me);
  void NotePlainLine();
  Fault Write(const SlotMap& map, size_t me, const SlotMoves& moves) const;
  std::optional<size_t> FindMe(const SlotMap& map, Fault& fault) const;
  bool IsOwnHost(const std::string& host) const;

  Config& config_;
  const FollowState& follows_;
  SlowPathFlags& flags_;
  const std::string& own_id_;
  SlotMap map_;
  size_t me_ = 0;
  // This server's line while all slots have an owner and none of its own is on its way; else
  // SIZE_MAX, which is no line's number.
  size_t plain_line_ = SIZE_MAX;
  bool owns_all_plainly_ = false;
  uint64_t maps_ = 0;
  SlotMoves moves_;
  std::map<size_t, size_t> leaders_;  // of other lines, by their masters, where they are not these
};

}  // namespace sluice
