// See cluster_servers.h.
#include "server/commands/cluster/cluster_servers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/clients/host.h"
#include "server/cluster/cluster_state.h"
#include "server/dispatch/arg_reader.h"
#include "server/following/following.h"
#include "server/notify/tracking.h"
#include "server/peers/map_changes.h"
#include "server/peers/map_exchange.h"
#include "server/peers/own_line.h"

namespace sluice {
namespace {

const ClusterState& MapOf(const CommandCall& call) { return call.part<ClusterState>(); }

void AnswerFault(CommandCall& call, const Fault& fault) {
  fault ? call.reply.Error(Concat("ERR ", fault.sentence())) : call.reply.Ok();
}

// Whether the commands make the map; else the refusal is answered.
bool MayChange(CommandCall& call) {
  const Fault fault = MapOf(call).WhyFixed();
  if (fault) AnswerFault(call, fault);
  return !fault;
}

// Null: the refusal is answered.
std::optional<size_t> ServerNamed(CommandCall& call) {
  const std::optional<size_t> node = MapOf(call).map().FindId(call.args[2]);
  if (!node) call.reply.Error(Concat("ERR Unknown node ", call.args[2]));
  return node;
}

bool IsIpAddress(std::string_view host) {
  constexpr size_t kBytesMax = 45;
  const auto fits = [&](std::string_view letters) {
    return host.find_first_not_of(letters) == host.npos;
  };
  if (host.empty() || host.size() > kBytesMax) return false;
  const bool is_ipv4 = fits("0123456789.") && std::ranges::count(host, '.') == 3;
  return is_ipv4 || (fits("0123456789abcdefABCDEF:.%") && host.find(':') != host.npos);
}

}  // namespace

// The answer comes before the other one is asked: the log and CLUSTER NODES say how it ends. The
// port of its bus, which there is none of, is read and forgotten.
//   CLUSTER MEET host 6379     → -ERR Invalid node address specified: host:6379
//   CLUSTER MEET 10.0.0.7 x    → -ERR Invalid TCP base port specified: x
void ClusterMeet(CommandCall& call) {
  constexpr int64_t kPortMax = 65535;
  if (!MayChange(call)) return;
  if (call.args.size() > 5)
    return call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '",
                                   call.args[1], "'. Try CLUSTER HELP."));
  const std::optional<int64_t> port = ParseInt64(call.args[3]);
  if (!port) return call.reply.Error(Concat("ERR Invalid TCP base port specified: ", call.args[3]));
  if (call.args.size() == 5 && !ParseInt64(call.args[4]))
    return call.reply.Error(Concat("ERR Invalid TCP bus port specified: ", call.args[4]));
  if (!IsIpAddress(call.args[2]) || *port <= 0 || *port > kPortMax) {
    return call.reply.Error(
        Concat("ERR Invalid node address specified: ", call.args[2], ":", call.args[3]));
  }
  if (!call.part<Host>().opens_links())
    return call.reply.Error("ERR a database inside a program meets no other server");
  AnswerFault(call, call.part<MapExchange>().Meet(call.args[2], static_cast<uint16_t>(*port)));
}

// For a minute no other server brings it back, so that all can be told.
void ClusterForget(CommandCall& call) {
  if (!MayChange(call)) return;
  const std::optional<size_t> node = ServerNamed(call);
  if (!node) return;
  const ClusterState& cluster = MapOf(call);
  if (*node == cluster.me())
    return call.reply.Error("ERR I tried hard but I can't forget myself...");
  if (cluster.own().master == *node) return call.reply.Error("ERR Can't forget my master!");
  std::vector<bool> dropped(cluster.map().nodes().size());
  dropped[*node] = true;
  SlotMap map = WithoutNodes(cluster.map(), dropped);
  const size_t me = *map.FindId(cluster.own().id);
  call.part<MapExchange>().Forget(cluster.map().nodes()[*node].id);
  AnswerFault(call, call.part<MapChanges>().Change(std::move(map), me));
}

// A true REPLICAOF: its data become those of that server.
void ClusterReplicate(CommandCall& call) {
  if (!MayChange(call)) return;
  const std::optional<size_t> node = ServerNamed(call);
  if (!node) return;
  const ClusterState& cluster = MapOf(call);
  if (*node == cluster.me()) return call.reply.Error("ERR Can't replicate myself");
  if (cluster.map().nodes()[*node].is_replica())
    return call.reply.Error("ERR I can only replicate a master, not a replica.");
  const bool has_slots = !cluster.map().RangesOf(cluster.me()).empty();
  if (!cluster.own().is_replica() && (has_slots || call.db.size() != 0)) {
    return call.reply.Error(
        "ERR To set a master the node must be empty and without assigned slots.");
  }
  AnswerFault(call, call.part<OwnLine>().Replicate(*node));
}

// Nobody votes, so FORCE is TAKEOVER: the master is not asked.
void ClusterFailover(CommandCall& call) {
  const bool is_forced =
      call.args.size() == 3 && (IsWord(call.args[2], "FORCE") || IsWord(call.args[2], "TAKEOVER"));
  if (call.args.size() > 2 && !is_forced) return call.reply.Error(ErrorCode::kSyntax);
  const Following& following = call.part<Following>();
  if (!following.is_on())
    return call.reply.Error("ERR You should send CLUSTER FAILOVER to a replica");
  OwnLine& line = call.part<OwnLine>();
  if (is_forced) return AnswerFault(call, line.TakeOver());
  if (following.applied() < 0) {
    return call.reply.Error("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE");
  }
  AnswerFault(call, line.AskForHandOver());
}

namespace {

// As FLUSHALL.
void DropAllData(CommandCall& call) {
  for (int i = 0; i < call.keyspace.databases(); ++i) {
    if (call.keyspace.made(i)) call.keyspace.Flush(i, /*lazily=*/true);
  }
  call.part<Tracking>().AllFlushed();
  call.ChangedDatabases();
  call.ReplaceWith({"FLUSHALL"});
}

std::string NewNodeId(CommandCall& call) {
  std::string id;
  while (id.size() < ClusterNode::kIdBytes) id += "0123456789abcdef"[call.random() & 15];
  return id;
}

}  // namespace

// A replica becomes an empty master. HARD gives it a new id, and the epoch 0.
void ClusterReset(CommandCall& call) {
  const bool is_hard = call.args.size() == 3 && IsWord(call.args[2], "HARD");
  const bool is_soft =
      call.args.size() == 2 || (call.args.size() == 3 && IsWord(call.args[2], "SOFT"));
  if (!is_hard && !is_soft) return call.reply.Error(ErrorCode::kSyntax);
  if (!MayChange(call)) return;
  Following& following = call.part<Following>();
  if (!following.is_on() && call.db.size() != 0) {
    return call.reply.Error("ERR CLUSTER RESET can't be called with master nodes containing keys");
  }
  const ClusterNode own = MapOf(call).own();
  const std::string id = is_hard ? NewNodeId(call) : own.id;
  const Fault fault = call.part<OwnLine>().BeAlone(id, is_hard ? 0 : own.epoch);
  if (fault) return AnswerFault(call, fault);
  if (following.is_on()) {
    following.BeMaster();
    DropAllData(call);
  }
  call.reply.Ok();
}

// Said by servers to each other (map_exchange.h), and by whoever has a map to hand on.
void ClusterMapPut(CommandCall& call) {
  const std::string_view peer = call.client.peer.address;
  std::string_view from = peer.substr(0, std::min(peer.rfind(':'), peer.size()));
  if (from.starts_with('[')) from = from.substr(1, from.size() - 2);
  if (call.client.peer.unix_socket) from = {};
  const auto taken = call.part<MapExchange>().Take(
      {.text = call.args[3], .from = from, .meets = call.args.size() == 5});
  if (const Fault* const fault = std::get_if<Fault>(&taken)) return AnswerFault(call, *fault);
  const auto& [digest, text] = std::get<MapExchange::Answer>(taken);
  call.reply.Array(text.empty() ? 1 : 2);
  call.reply.Bulk(digest);
  if (!text.empty()) call.reply.Bulk(text);
}

}  // namespace sluice
