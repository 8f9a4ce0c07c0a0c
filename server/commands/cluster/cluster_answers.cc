// See cluster_answers.h. A line is a master of the map with its replicas; who leads it may have
// changed since the map was written, and is shown as the master.
#include "server/commands/cluster/cluster_answers.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/cluster/cluster_state.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_service.h"
#include "server/peers/map_exchange.h"
#include "server/replication/replicas.h"
#include "storage/hashing/key_slot.h"

namespace sluice {
namespace {

ClusterState& ClusterOf(CommandCall& call) { return call.part<ClusterState>(); }

// Those with slots in the order of their first ones, then those without.
std::vector<size_t> LinesInOrder(const ClusterState& cluster) {
  std::vector<size_t> lines;
  std::vector<bool> is_seen(cluster.map().nodes().size());
  const auto see = [&](size_t line) {
    if (!is_seen[line]) lines.push_back(line);
    is_seen[line] = true;
  };
  for (const auto& [range, owner] : cluster.map().Ranges()) see(owner);
  for (size_t node = 0; node < is_seen.size(); ++node) see(cluster.LineOf(node));
  return lines;
}

// --- CLUSTER SLOTS

// Where a client may connect to beside the endpoint. In RESP3 a map, in RESP2 its flat array.
void ReplyMetadata(ReplySink& reply, const ClusterState& cluster, size_t node,
                   const std::string& endpoint) {
  std::vector<std::pair<std::string_view, std::string>> pairs;
  if (cluster.HostOf(node) != endpoint) pairs.emplace_back("ip", cluster.HostOf(node));
  const std::string name = cluster.NameOf(node);
  if (!name.empty() && name != endpoint) pairs.emplace_back("hostname", name);
  reply.Map(pairs.size());
  for (const auto& [field, value] : pairs) {
    reply.Bulk(field);
    reply.Bulk(value);
  }
}

void ReplyNodeOfSlots(ReplySink& reply, const ClusterState& cluster, size_t node) {
  const std::optional<std::string> endpoint = cluster.EndpointOf(node);
  reply.Array(4);
  endpoint ? reply.Bulk(*endpoint) : reply.Null();
  reply.Integer(cluster.PortOf(node));
  reply.Bulk(cluster.map().nodes()[node].id);
  ReplyMetadata(reply, cluster, node, endpoint.value_or(""));
}

}  // namespace

// After the map `0-16383 10.0.0.1:6379`:
//   CLUSTER SLOTS  → [[0, 16383, ["10.0.0.1", 6379, "<id>", []]]]
void ClusterSlots(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  const std::vector<ClusterState::Line> lines = cluster.Lines();
  const std::vector<SlotMap::Owned> ranges = cluster.map().Ranges();
  call.reply.Array(ranges.size());
  for (const auto& [range, owner] : ranges) {
    const ClusterState::Line& line = lines[owner];
    call.reply.Array(3 + line.followers.size());
    call.reply.Integer(range.first);
    call.reply.Integer(range.last);
    ReplyNodeOfSlots(call.reply, cluster, line.leader);
    for (const size_t node : line.followers) ReplyNodeOfSlots(call.reply, cluster, node);
  }
}

// --- CLUSTER SHARDS

namespace {

// A server knows how far its own data reach; of others it is not told.
void ReplyNodeOfShard(CommandCall& call, size_t node, bool leads) {
  const ClusterState& cluster = ClusterOf(call);
  const std::string name = cluster.NameOf(node);
  const std::optional<std::string> endpoint = cluster.EndpointOf(node);
  call.reply.Map(name.empty() ? 7 : 8);
  call.reply.Bulk("id");
  call.reply.Bulk(cluster.map().nodes()[node].id);
  call.reply.Bulk("port");
  call.reply.Integer(cluster.PortOf(node));
  call.reply.Bulk("ip");
  call.reply.Bulk(cluster.HostOf(node));
  call.reply.Bulk("endpoint");
  endpoint ? call.reply.Bulk(*endpoint) : call.reply.Null();
  if (!name.empty()) {
    call.reply.Bulk("hostname");
    call.reply.Bulk(name);
  }
  call.reply.Bulk("role");
  call.reply.Bulk(leads ? "master" : "replica");
  call.reply.Bulk("replication-offset");
  call.reply.Integer(node == cluster.me() ? call.part<Replicas>().stream().end() : 0);
  call.reply.Bulk("health");
  call.reply.Bulk("online");
}

}  // namespace

// Masters without slots have a shard of their own.
void ClusterShards(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  const std::vector<ClusterState::Line> lines = cluster.Lines();
  const std::vector<size_t> order = LinesInOrder(cluster);
  call.reply.Array(order.size());
  for (const size_t number : order) {
    const ClusterState::Line& line = lines[number];
    call.reply.Map(2);
    call.reply.Bulk("slots");
    call.reply.Array(line.ranges.size() * 2);
    for (const SlotRange& range : line.ranges) {
      call.reply.Integer(range.first);
      call.reply.Integer(range.last);
    }
    call.reply.Bulk("nodes");
    call.reply.Array(1 + line.followers.size());
    ReplyNodeOfShard(call, line.leader, /*leads=*/true);
    for (const size_t node : line.followers) ReplyNodeOfShard(call, node, /*leads=*/false);
  }
}

// --- CLUSTER NODES

namespace {

// <id> <host:port@0[,name]> <flags> <master> 0 0 <epoch> <link> <slots …>. There is no bus, so its
// port is 0 and nothing is measured by it; a link is down if the map could not be told.
std::string NodeLine(const CommandCall& call, size_t node, const ClusterState::Line& line) {
  const ClusterState& cluster = call.part<ClusterState>();
  const bool is_reachable = call.part<MapExchange>().IsReachable(cluster.map().nodes()[node].id);
  const std::string name = cluster.NameOf(node);
  const bool leads = line.leader == node;
  std::string text = Concat(cluster.map().nodes()[node].id, " ", cluster.HostOf(node), ":",
                            cluster.PortOf(node), "@0", name.empty() ? "" : ",", name,
                            node == cluster.me() ? " myself," : " ", leads ? "master -" : "slave ");
  if (!leads) text += cluster.map().nodes()[line.leader].id;
  ConcatTo(text, " 0 0 ", cluster.map().nodes()[line.leader].epoch,
           is_reachable ? " connected" : " disconnected");
  if (!leads) return text;
  for (const auto& [first, last] : line.ranges) {
    ConcatTo(text, " ", first);
    if (last != first) ConcatTo(text, "-", last);
  }
  if (node != cluster.me()) return text;
  std::map<KeySlot, std::string> open;
  for (const auto& [slot, id] : cluster.moves().to) open[slot] = Concat("->-", id);
  for (const auto& [slot, id] : cluster.moves().from) open[slot] = Concat("-<-", id);
  for (const auto& [slot, way] : open) ConcatTo(text, " [", slot, way, "]");
  return text;
}

}  // namespace

void ClusterNodes(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  const std::vector<ClusterState::Line> lines = cluster.Lines();
  std::string text;
  for (size_t node = 0; node < lines.size(); ++node) {
    ConcatTo(text, NodeLine(call, node, lines[cluster.LineOf(node)]), "\n");
  }
  call.reply.Verbatim(text, "txt");
}

// --- CLUSTER REPLICAS, MYID, LINKS, COUNT-FAILURE-REPORTS

namespace {

// Null: the refusal is answered.
std::optional<size_t> NodeNamed(CommandCall& call, size_t argument) {
  const std::string_view id = call.args[argument];
  const std::optional<size_t> node = ClusterOf(call).map().FindId(id);
  if (!node) call.reply.Error(Concat("ERR Unknown node ", id));
  return node;
}

}  // namespace

void ClusterReplicas(CommandCall& call) {
  const std::optional<size_t> node = NodeNamed(call, 2);
  if (!node) return;
  const ClusterState& cluster = ClusterOf(call);
  if (!cluster.Leads(*node)) return call.reply.Error("ERR The specified node is not a master");
  const std::vector<ClusterState::Line> lines = cluster.Lines();
  const ClusterState::Line& line = lines[cluster.LineOf(*node)];
  call.reply.Array(line.followers.size());
  for (const size_t follower : line.followers) call.reply.Bulk(NodeLine(call, follower, line));
}

void ClusterMyId(CommandCall& call) { call.reply.Bulk(ClusterOf(call).own().id); }

// There is no bus.
void ClusterLinks(CommandCall& call) { call.reply.Array(0); }

// Nobody reports failures, as there is no bus.
void ClusterFailureReports(CommandCall& call) {
  if (NodeNamed(call, 2)) call.reply.Integer(0);
}

// --- CLUSTER INFO

namespace {

// The servers that have another map, as far as is known; the first few.
std::string DifferingNames(const CommandCall& call) {
  constexpr size_t kNamed = 16;
  std::string names;
  size_t count = 0;
  call.part<MapExchange>().ForEachThatDiffers([&](const ClusterNode& node) {
    if (++count <= kNamed) ConcatTo(names, names.empty() ? "" : ",", AddressText(node));
  });
  if (count > kNamed) ConcatTo(names, " and ", count - kNamed, " more");
  return names;
}

}  // namespace

// Slots are of the map; what Redis counts of its bus is 0.
void ClusterInfo(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  const std::vector<ClusterState::Line> lines = cluster.Lines();
  const auto masters_with_slots = std::ranges::count_if(
      lines, [](const ClusterState::Line& line) { return !line.ranges.empty(); });
  const size_t assigned = cluster.map().assigned();
  call.reply.Verbatim(
      Concat("cluster_state:", cluster.is_up() ? "ok" : "fail",
             "\r\ncluster_slots_assigned:", assigned, "\r\ncluster_slots_ok:", assigned,
             "\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:",
             cluster.map().nodes().size(),
             "\r\ncluster_size:", std::max<std::ptrdiff_t>(masters_with_slots, 1),
             "\r\ncluster_current_epoch:", cluster.map().epoch(),
             "\r\ncluster_my_epoch:", cluster.map().nodes()[cluster.LeaderOf(cluster.me())].epoch,
             "\r\ncluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\n"
             "total_cluster_links_buffer_limit_exceeded:0\r\ncluster_map_digest:",
             cluster.Digest(), "\r\ncluster_map_differs:", DifferingNames(call), "\r\n"),
      "txt");
}

// --- slots and keys

namespace {

const SlotKeys& KeysOfSlots(CommandCall& call) { return *call.db.slot_keys(); }

}  // namespace

// Known without a map: what a client computes.
void ClusterKeySlot(CommandCall& call) { call.reply.Integer(SlotOfKey(call.args[2])); }

void ClusterCountKeysInSlot(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t slot = args.Int();
  if (!args.Finish()) return call.reply.Error(args.error());
  if (slot < 0 || slot >= kKeySlots) return call.reply.Error("ERR Invalid slot");
  call.reply.Integer(static_cast<int64_t>(KeysOfSlots(call).CountOf(static_cast<KeySlot>(slot))));
}

// As in Redis, keys past their deadline count until they go. O(keys that are given).
void ClusterGetKeysInSlot(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t slot = args.Int();
  const int64_t most = args.Int();
  if (!args.Finish()) return call.reply.Error(args.error());
  if (slot < 0 || slot >= kKeySlots || most < 0)
    return call.reply.Error("ERR Invalid slot or number of keys");
  const auto wanted = static_cast<KeySlot>(slot);
  const SlotKeys& keys = KeysOfSlots(call);
  const size_t count = std::min(keys.CountOf(wanted), static_cast<size_t>(most));
  call.reply.Array(count);
  keys.Walk(wanted, count, [&](const Entry& entry) { call.reply.Bulk(entry.key()); });
}

// A page of the locks that are held here, counted by slots, with a cursor as LOCK.LIST's. A lock of
// a slot that is to be another server's has to be over first.
//   CLUSTER MAP CHECK 0   → ["0", [[3300, 2], [15495, 1]]]
void ClusterMapCheck(CommandCall& call) {
  constexpr size_t kLocksAtOnce = 10'000;
  const std::optional<int64_t> cursor =
      call.args.size() > 3 ? ParseInt64(call.args[3]) : std::optional<int64_t>(0);
  if (!cursor || *cursor < 0) return call.reply.Error(ErrorCode::kInvalidCursor);
  LockService& locks = call.part<LockService>();
  locks.Enter();
  std::map<KeySlot, int64_t> held;
  const uint64_t next =
      locks.held_locks().List(call.db.index(), static_cast<uint64_t>(*cursor), kLocksAtOnce,
                              [&](const Lock& lock) { ++held[SlotOfKey(lock.name().key)]; });
  call.reply.Array(2);
  call.reply.Bulk(Concat(next));
  call.reply.Array(held.size());
  for (const auto& [slot, count] : held) {
    call.reply.Array(2);
    call.reply.Integer(slot);
    call.reply.Integer(count);
  }
}

}  // namespace sluice
