// See own_line.h.
#include "server/peers/own_line.h"

#include <optional>
#include <string>
#include <utility>

#include "protocol/text/concat.h"
#include "server/core/log_level.h"

namespace sluice {
namespace {

constexpr int64_t kHandOverMs = 5000;  // as long as Redis lets one take

}  // namespace

void OwnLine::Start() {
  if (!is_kept() || !on_.cluster.own().is_replica()) return;
  const ClusterNode& master = on_.cluster.map().nodes()[*on_.cluster.own().master];
  if (on_.config.settings().replicaof.host.empty())
    on_.config.SetMaster({.host = master.host, .port = master.port});
}

void OwnLine::EverySecond() {
  master_link_.EverySecond();
  if (!is_kept()) return;
  if (!on_.following.is_on()) {
    if (on_.cluster.own().is_replica()) Claim();
  } else {
    JoinFollowed();
  }
  JoinHeir();
  const std::optional<size_t> master = on_.cluster.own().master;
  if (master && on_.following.is_on()) FollowNode(*master);
}

// --- the map follows the role

void OwnLine::Claim() {
  const size_t me = on_.cluster.me();
  const size_t master = on_.cluster.LineOf(me);
  SlotMapBuilder builder(on_.cluster.map());
  builder.Lead(me);
  for (const SlotRange& range : on_.cluster.map().RangesOf(master)) {
    builder.Take(range);
    const Fault fault = builder.Give(range, me);
    if (fault) return on_.host.Log(LogLevel::kWarning, fault.sentence());
  }
  builder.Renew(me);
  const Fault fault = on_.changes.Change(builder.Finish());
  on_.host.Log(fault ? LogLevel::kWarning : LogLevel::kNotice,
               fault ? fault.sentence() : "it leads its line of the cluster's map now");
}

// A Sentinel, or FAILOVER, has it follow a server that the map names. The master of before has
// its slots until the new one says that they are its own.
void OwnLine::JoinFollowed() {
  const auto& [host, port] = on_.config.settings().replicaof;
  const SlotMap& map = on_.cluster.map();
  const std::optional<size_t> followed = map.FindAddress(host, static_cast<uint16_t>(port));
  const size_t me = on_.cluster.me();
  if (!followed || *followed == me || map.nodes()[*followed].is_replica()) return;
  if (on_.cluster.own().master == followed || !map.RangesOf(me).empty()) return;
  const Fault fault = JoinLine(*followed);
  if (fault) on_.host.Log(LogLevel::kWarning, fault.sentence());
}

void OwnLine::JoinHeir() {
  const std::optional<std::string> heir = on_.exchange.TakeHeir();
  if (!heir || !on_.config.settings().cluster_allow_replica_migration) return;
  const std::optional<size_t> master = on_.cluster.map().FindId(*heir);
  if (!master || on_.cluster.own().master == master || *master == on_.cluster.me()) return;
  on_.host.Log(LogLevel::kNotice,
               Concat("the slots of its line are ", *heir, "'s now, which it follows"));
  const Fault fault = Replicate(*master);
  if (fault) on_.host.Log(LogLevel::kWarning, fault.sentence());
}

// Replicas of this server, which the map has still, go along.
Fault OwnLine::JoinLine(size_t master) {
  const size_t me = on_.cluster.me();
  SlotMapBuilder builder(on_.cluster.map());
  for (const size_t replica : on_.cluster.map().ReplicasOf(me)) {
    builder.Lead(replica);
    if (replica == master) continue;
    if (Fault fault = builder.Follow(replica, master)) return fault;
  }
  builder.Lead(me);
  if (Fault fault = builder.Follow(me, master)) return fault;
  builder.Renew(me);
  return on_.changes.Change(builder.Finish());
}

// --- the role follows the map

void OwnLine::FollowNode(size_t master) {
  const ClusterNode node = on_.cluster.map().nodes()[master];
  if (on_.following.Follows(node.host, node.port)) return;
  // A Sentinel may have more recent news than the map, of a server that the map has as a replica.
  const auto& [host, port] = on_.config.settings().replicaof;
  const std::optional<size_t> followed =
      on_.cluster.map().FindAddress(host, static_cast<uint16_t>(port));
  if (followed && on_.cluster.LineOf(*followed) == master) return;
  on_.following.Follow(node.host, node.port);
}

Fault OwnLine::Replicate(size_t master) {
  if (!on_.host.opens_links()) return "a database inside a program follows no other server";
  const ClusterNode node = on_.cluster.map().nodes()[master];
  if (Fault fault = JoinLine(master)) return fault;
  if (!on_.following.Follows(node.host, node.port)) on_.following.Follow(node.host, node.port);
  return {};
}

Fault OwnLine::TakeOver() {
  on_.following.BeMaster();
  if (is_kept() && on_.cluster.own().is_replica()) Claim();
  return {};
}

Fault OwnLine::BeAlone(std::string_view id, uint64_t epoch) {
  const ClusterNode own = on_.cluster.own();
  SlotMapBuilder builder;
  size_t me = 0;
  if (Fault fault = builder.AddNode(own.host, own.port, id, me)) return fault;
  if (Fault fault = builder.SetLineEpoch(me, epoch)) return fault;
  if (Fault fault = on_.changes.Change(builder.Finish(), me)) return fault;
  on_.exchange.Reset();
  return {};
}

// --- CLUSTER FAILOVER

Fault OwnLine::AskForHandOver() {
  if (master_link_.is_busy()) return "a hand-over is asked for already";
  const auto& [host, port] = on_.config.settings().replicaof;
  const size_t me = on_.cluster.me();
  // As the master sees it.
  const Settings& settings = on_.config.settings();
  const std::string own_port = settings.replica_announce_port > 0
                                   ? Concat(settings.replica_announce_port)
                                   : Concat(on_.cluster.PortOf(me));
  const std::string own_host =
      settings.replica_announce_ip.empty() ? on_.cluster.HostOf(me) : settings.replica_announce_ip;
  const std::string timeout = Concat(kHandOverMs);
  const std::string_view words[] = {"FAILOVER", "TO", own_host, own_port, "TIMEOUT", timeout};
  return master_link_.Ask({host, static_cast<uint16_t>(port)}, words, kHandOverMs);
}

void OwnLine::PeerAnswered(PeerLink& link, const PeerAnswer& answer) {
  on_.host.Log(answer.is_error ? LogLevel::kWarning : LogLevel::kNotice,
               answer.is_error ? Concat("the master does not hand over: ", answer.value())
                               : "the master hands over to this server");
  link.Close();
}

void OwnLine::PeerFailed(PeerLink&, std::string_view why) {
  on_.host.Log(LogLevel::kWarning, Concat("the master does not hand over: ", why));
}

}  // namespace sluice
