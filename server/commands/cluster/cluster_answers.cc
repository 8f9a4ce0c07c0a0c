// See cluster_answers.h. A line is a master of the map with its replicas; who leads it may have
// changed since the map was written, and is shown as the master.
#include "server/commands/cluster/cluster_answers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/cluster/cluster_state.h"
#include "server/dispatch/arg_reader.h"
#include "server/replication/replicas.h"
#include "storage/hashing/key_slot.h"

namespace sluice {
namespace {

ClusterState& ClusterOf(CommandCall& call) { return call.part<ClusterState>(); }

// The masters that have slots or replicas to show, in the order of their first slots.
std::vector<size_t> LinesInOrder(const ClusterState& cluster) {
  std::vector<size_t> lines;
  for (int slot = 0; slot < kKeySlots; ++slot) {
    const ClusterNode* const owner = cluster.map().OwnerOf(static_cast<KeySlot>(slot));
    if (!owner) continue;
    const size_t line = cluster.map().NumberOf(*owner);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  for (size_t node = 0; node < cluster.map().nodes().size(); ++node) {
    const size_t line = cluster.LineOf(node);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
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

struct OwnedRange {
  SlotRange range;
  size_t line;
};

std::vector<OwnedRange> RangesInOrder(const ClusterState& cluster) {
  std::vector<OwnedRange> ranges;
  for (size_t node = 0; node < cluster.map().nodes().size(); ++node) {
    for (const SlotRange& range : cluster.map().RangesOf(node)) ranges.push_back({range, node});
  }
  std::ranges::sort(ranges, {}, [](const OwnedRange& owned) { return owned.range.first; });
  return ranges;
}

}  // namespace

// After the map `0-16383 10.0.0.1:6379`:
//   CLUSTER SLOTS  → [[0, 16383, ["10.0.0.1", 6379, "<id>", []]]]
void ClusterSlots(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  const std::vector<OwnedRange> ranges = RangesInOrder(cluster);
  call.reply.Array(ranges.size());
  for (const auto& [range, line] : ranges) {
    const size_t leader = cluster.LeaderOf(line);
    const std::vector<size_t> followers = cluster.FollowersOf(leader);
    call.reply.Array(3 + followers.size());
    call.reply.Integer(range.first);
    call.reply.Integer(range.last);
    ReplyNodeOfSlots(call.reply, cluster, leader);
    for (const size_t follower : followers) ReplyNodeOfSlots(call.reply, cluster, follower);
  }
}

// --- CLUSTER SHARDS

namespace {

// A server knows how far its own data reach; of others it is not told.
void ReplyNodeOfShard(CommandCall& call, size_t node) {
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
  call.reply.Bulk(cluster.Leads(node) ? "master" : "replica");
  call.reply.Bulk("replication-offset");
  call.reply.Integer(node == cluster.me() ? call.part<Replicas>().stream().end() : 0);
  call.reply.Bulk("health");
  call.reply.Bulk("online");
}

}  // namespace

// Masters without slots have a shard of their own.
void ClusterShards(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  const std::vector<size_t> lines = LinesInOrder(cluster);
  call.reply.Array(lines.size());
  for (const size_t line : lines) {
    const size_t leader = cluster.LeaderOf(line);
    const std::vector<SlotRange> ranges = cluster.map().RangesOf(line);
    const std::vector<size_t> followers = cluster.FollowersOf(leader);
    call.reply.Map(2);
    call.reply.Bulk("slots");
    call.reply.Array(ranges.size() * 2);
    for (const SlotRange& range : ranges) {
      call.reply.Integer(range.first);
      call.reply.Integer(range.last);
    }
    call.reply.Bulk("nodes");
    call.reply.Array(1 + followers.size());
    ReplyNodeOfShard(call, leader);
    for (const size_t follower : followers) ReplyNodeOfShard(call, follower);
  }
}

// --- CLUSTER NODES

namespace {

// <id> <host:port@0[,name]> <flags> <master> 0 0 <epoch> connected <slots …>. There is no bus, so
// its port is 0 and nothing is measured by it.
std::string NodeLine(const ClusterState& cluster, size_t node) {
  const std::string name = cluster.NameOf(node);
  const size_t leader = cluster.LeaderOf(node);
  std::string line =
      Concat(cluster.map().nodes()[node].id, " ", cluster.HostOf(node), ":", cluster.PortOf(node),
             "@0", name.empty() ? "" : ",", name, node == cluster.me() ? " myself," : " ",
             leader == node ? "master -" : "slave ");
  if (leader != node) line += cluster.map().nodes()[leader].id;
  ConcatTo(line, " 0 0 ", cluster.map().epoch(), " connected");
  if (leader != node) return line;
  for (const auto& [first, last] : cluster.map().RangesOf(cluster.LineOf(node))) {
    ConcatTo(line, " ", first);
    if (last != first) ConcatTo(line, "-", last);
  }
  return line;
}

}  // namespace

void ClusterNodes(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  std::string text;
  for (size_t node = 0; node < cluster.map().nodes().size(); ++node) {
    ConcatTo(text, NodeLine(cluster, node), "\n");
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
  const std::vector<size_t> followers = cluster.FollowersOf(*node);
  call.reply.Array(followers.size());
  for (const size_t follower : followers) call.reply.Bulk(NodeLine(cluster, follower));
}

void ClusterMyId(CommandCall& call) { call.reply.Bulk(ClusterOf(call).own().id); }

// There is no bus.
void ClusterLinks(CommandCall& call) { call.reply.Array(0); }

// Nobody reports failures, as there is no bus.
void ClusterFailureReports(CommandCall& call) {
  if (NodeNamed(call, 2)) call.reply.Integer(0);
}

// --- CLUSTER INFO

// Slots are of the map; what Redis counts of its bus is 0.
void ClusterInfo(CommandCall& call) {
  const ClusterState& cluster = ClusterOf(call);
  size_t masters_with_slots = 0;
  for (size_t node = 0; node < cluster.map().nodes().size(); ++node) {
    masters_with_slots += !cluster.map().RangesOf(node).empty();
  }
  const size_t assigned = cluster.map().assigned();
  call.reply.Verbatim(
      Concat("cluster_state:", cluster.is_up() ? "ok" : "fail",
             "\r\ncluster_slots_assigned:", assigned, "\r\ncluster_slots_ok:", assigned,
             "\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:",
             cluster.map().nodes().size(),
             "\r\ncluster_size:", std::max<size_t>(masters_with_slots, 1),
             "\r\ncluster_current_epoch:", cluster.map().epoch(),
             "\r\ncluster_my_epoch:", cluster.map().epoch(),
             "\r\ncluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\n"
             "total_cluster_links_buffer_limit_exceeded:0\r\ncluster_map_digest:",
             cluster.Digest(), "\r\n"),
      "txt");
}

// --- slots and keys

// Known without a map: what a client computes.
void ClusterKeySlot(CommandCall& call) { call.reply.Integer(SlotOfKey(call.args[2])); }

namespace {

// O(keys): a slot has no list of its keys.
template <typename Found>
void ForEachKeyOf(CommandCall& call, KeySlot slot, const Found& found) {
  call.db.ForEach([&](const Entry& entry) {
    if (!entry.Expired(call.now) && SlotOfKey(entry.key()) == slot) found(entry.key());
  });
}

}  // namespace

void ClusterCountKeysInSlot(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t slot = args.Int();
  if (!args.Finish()) return call.reply.Error(args.error());
  if (slot < 0 || slot >= kKeySlots) return call.reply.Error("ERR Invalid slot");
  int64_t count = 0;
  ForEachKeyOf(call, static_cast<KeySlot>(slot), [&](std::string_view) { ++count; });
  call.reply.Integer(count);
}

void ClusterGetKeysInSlot(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t slot = args.Int();
  const int64_t most = args.Int();
  if (!args.Finish()) return call.reply.Error(args.error());
  if (slot < 0 || slot >= kKeySlots || most < 0)
    return call.reply.Error("ERR Invalid slot or number of keys");
  std::vector<std::string_view> keys;
  ForEachKeyOf(call, static_cast<KeySlot>(slot), [&](std::string_view key) {
    if (keys.size() < static_cast<size_t>(most)) keys.push_back(key);
  });
  call.reply.Array(keys.size());
  for (const std::string_view key : keys) call.reply.Bulk(key);
}

}  // namespace sluice
