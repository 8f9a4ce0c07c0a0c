// Replication: what this server is to others, and its replicas, a line each, in Redis's words.
#include <string>
#include <string_view>

#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "server/figures/sections.h"
#include "server/replication/replicas.h"

namespace sluice {
namespace {

// An image without a length counts as one that is being made.
std::string_view StateOf(const Replica& replica) {
  switch (replica.phase) {
    case ReplicaPhase::kWaits:
    case ReplicaPhase::kAwaitsAck:
      return "wait_bgsave";
    case ReplicaPhase::kTakesImage:
      return replica.is_begun && replica.end_mark.empty() ? "send_bulk" : "wait_bgsave";
    case ReplicaPhase::kOnline:
      return "online";
  }
  return "";
}

void WriteReplicas(From from, InfoText& text) {
  const Replicas& replicas = from.Get<Replicas>();
  size_t number = 0;
  replicas.VisitAll([&](const Session& session, const Replica& replica) {
    const bool is_online = replica.phase == ReplicaPhase::kOnline;
    text.Field(Concat("slave", number++), "ip=", replicas.IpOf(session), ",port=", replica.port,
               ",state=", StateOf(replica), ",offset=", replica.acked,
               ",lag=", is_online ? replicas.LagSeconds(replica) : 0);
  });
}

bool WantsReplicas(From from) {
  const Settings& settings = from.Get<Config>().settings();
  return settings.min_replicas_to_write > 0 && settings.min_replicas_max_lag > 0;
}

constexpr Figure kReplicationFigures[] = {
    {"role", "", "master", [](From) { return "master"; }},
    {"connected_slaves", "", "replicas", Of<&Clients::replicas>,
     Gauge("redis_connected_slaves", "Replicas.")},
    {"min_slaves_good_slaves", "", "replicas that are well, where min-replicas-to-write wants some",
     Of<&Replicas::good>, kNoMetric, Plot::kNone, WantsReplicas},
    {"slave*", "", "where a replica is, how it is served, what it has, seconds since its last word",
     FigureReading(WriteReplicas)},
    {"master_failover_state", "", "no-failover", [](From) { return "no-failover"; }},
    {"master_replid", "", "the id of the stream to replicas",
     Of<&Replicas::ids, &ReplicationIds::id>},
    {"master_replid2", "", "the id before, for replicas that have not gone on; zeros",
     Of<&Replicas::ids, &ReplicationIds::second>},
    {"master_repl_offset", "bytes", "of the stream so far",
     Of<&Replicas::stream, &ReplicationStream::end>,
     Gauge("redis_master_repl_offset", "Bytes of the stream to replicas so far.")},
    {"second_repl_offset", "", "the first byte that is not of the id before; -1",
     Of<&Replicas::ids, &ReplicationIds::second_end>},
    {"repl_backlog_active", "", "1 from the first replica on",
     Of<&Replicas::stream, &ReplicationStream::is_open>},
    {"repl_backlog_size", "bytes", "the option",
     Of<&Config::settings, &Settings::repl_backlog_size>},
    {"repl_backlog_first_byte_offset", "", "of the stream, that is kept",
     [](From from) {
       const Backlog* const backlog = from.Get<Replicas>().stream().backlog();
       return backlog ? backlog->begin() : 0;
     }},
    {"repl_backlog_histlen", "bytes", "of the stream that are kept",
     [](From from) {
       const Backlog* const backlog = from.Get<Replicas>().stream().backlog();
       return backlog ? static_cast<int64_t>(backlog->bytes()) : int64_t{0};
     }},
};

}  // namespace

std::span<const Figure> ReplicationFigures() { return kReplicationFigures; }

}  // namespace sluice
