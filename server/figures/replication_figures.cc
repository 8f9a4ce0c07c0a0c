// Replication: what this server is to others, and its replicas, a line each, in Redis's words.
#include <string>
#include <string_view>

#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "server/figures/sections.h"
#include "server/following/failover.h"
#include "server/following/following.h"
#include "server/replication/promotion_watch.h"
#include "server/replication/replicas.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

void WriteReplicas(From from, InfoText& text) {
  const Replicas& replicas = from.Get<Replicas>();
  size_t number = 0;
  replicas.VisitAll([&](const Session& session, const Replica& replica) {
    const bool is_online = replica.phase == ReplicaPhase::kOnline;
    text.Field(Concat("slave", number++), "ip=", replicas.IpOf(session), ",port=", replica.port,
               ",state=", Replicas::StateOf(replica), ",offset=", replica.acked,
               ",lag=", is_online ? replicas.LagSeconds(replica) : 0);
  });
}

bool WantsReplicas(From from) {
  const Settings& settings = from.Get<Config>().settings();
  return settings.min_replicas_to_write > 0 && settings.min_replicas_max_lag > 0;
}

// --- of a replica

const MasterLink& LinkOf(From from) { return from.Get<Following>().link(); }
bool IsReplica(From from) { return from.Get<Following>().is_on(); }
bool TakesImage(From from) {
  return IsReplica(from) && LinkOf(from).state() == LinkState::kTransfer;
}
int64_t PriorityOf(From from) {
  return from.Get<Following>().is_whole() ? from.Get<Config>().settings().replica_priority : 0;
}
bool IsDown(From from) { return IsReplica(from) && LinkOf(from).state() != LinkState::kConnected; }

FigureValue ImageBytesLeft(From from) {
  const MasterLink& link = LinkOf(from);
  return static_cast<int64_t>(link.image_total()) - static_cast<int64_t>(link.image_received());
}

FigureValue ImagePercent(From from) {
  const auto total = static_cast<double>(LinkOf(from).image_total());
  const auto received = static_cast<double>(LinkOf(from).image_received());
  return FigureValue::Fixed(total > 0 ? received / total * 100 : 0, 2);
}

FigureValue FailoverState(From from) {
  switch (from.Get<Failover>().state()) {
    case Failover::State::kNone:
      return "no-failover";
    case Failover::State::kWaitsForSync:
      return "waiting-for-sync";
    case Failover::State::kInProgress:
      return "failover-in-progress";
  }
  return "";
}

constexpr Figure kReplicationFigures[] = {
    {"role", "", "master or slave", [](From from) { return IsReplica(from) ? "slave" : "master"; }},
    {"master_host", "", "of a replica: where its master is",
     [](From from) { return LinkOf(from).host(); }, kNoMetric, Plot::kNone, IsReplica},
    {"master_port", "", "and its port", [](From from) { return int64_t{LinkOf(from).port()}; },
     kNoMetric, Plot::kNone, IsReplica},
    {"master_link_status", "", "up or down: whether the stream comes",
     [](From from) { return IsDown(from) ? "down" : "up"; }, kNoMetric, Plot::kNone, IsReplica},
    {"master_last_io_seconds_ago", "seconds", "since the master's last word; -1: the link is down",
     [](From from) { return LinkOf(from).silent_s(); }, kNoMetric, Plot::kNone, IsReplica},
    {"master_sync_in_progress", "", "1 while all data come, or are loaded",
     Of<&Following::is_syncing>, kNoMetric, Plot::kNone, IsReplica},
    {"slave_read_repl_offset", "bytes", "of the stream that have come", Of<&Following::received>,
     kNoMetric, Plot::kNone, IsReplica},
    {"slave_repl_offset", "bytes", "and that are applied",
     Of<&Replicas::stream, &ReplicationStream::end>, kNoMetric, Plot::kNone, IsReplica},
    {"master_sync_total_bytes", "bytes", "of the image that comes; 0: not known",
     [](From from) { return LinkOf(from).image_total(); }, kNoMetric, Plot::kNone, TakesImage},
    {"master_sync_read_bytes", "bytes", "of it that have come",
     [](From from) { return LinkOf(from).image_received(); }, kNoMetric, Plot::kNone, TakesImage},
    {"master_sync_left_bytes", "bytes", "and that have not", ImageBytesLeft, kNoMetric, Plot::kNone,
     TakesImage},
    {"master_sync_perc", "", "per cent of it that have come", ImagePercent, kNoMetric, Plot::kNone,
     TakesImage},
    {"master_sync_last_io_seconds_ago", "seconds", "since some of it has come",
     [](From from) { return LinkOf(from).image_silent_s(); }, kNoMetric, Plot::kNone, TakesImage},
    {"master_link_down_since_seconds", "seconds", "since the link was lost",
     [](From from) { return LinkOf(from).down_s(); }, kNoMetric, Plot::kNone, IsDown},
    {"slave_priority", "",
     "the option; 0 where a Sentinel must not choose it: its data are not whole",
     [](From from) { return PriorityOf(from); }, kNoMetric, Plot::kNone, IsReplica},
    {"slave_read_only", "", "the option", Of<&Config::settings, &Settings::replica_read_only>,
     kNoMetric, Plot::kNone, IsReplica},
    {"replica_announced", "", "the option; 0: a Sentinel names it to no client",
     Of<&Config::settings, &Settings::replica_announced>, kNoMetric, Plot::kNone, IsReplica},
    {"connected_slaves", "", "replicas", Of<&Clients::replicas>,
     Gauge("redis_connected_slaves", "Replicas.")},
    {"min_slaves_good_slaves", "", "replicas that are well, where min-replicas-to-write wants some",
     Of<&Replicas::good>, kNoMetric, Plot::kNone, WantsReplicas},
    {"slave*", "", "where a replica is, how it is served, what it has, seconds since its last word",
     FigureReading(WriteReplicas)},
    {"replication_left_out_keys", "",
     "that the last full sync of a redis-server left out: locks, limiters, leaky buckets",
     Of<&Snapshots::left_out, &LeftOut::keys>},
    {"redis_replicas_promotable", "",
     "redis-servers that follow this master while it has locks or limits, which they lack",
     Of<&PromotionWatch::promotable>,
     Gauge("sluice_redis_replicas_promotable",
           "redis-servers that follow this master and lack its locks and limits.")},
    {"master_failover_state", "", "no-failover, waiting-for-sync or failover-in-progress",
     FailoverState},
    {"master_replid", "", "the id of the stream to replicas",
     Of<&Replicas::ids, &ReplicationIds::id, &ReplicationId::text>},
    {"master_replid2", "", "the id before, for replicas that have not gone on; zeros",
     Of<&Replicas::ids, &ReplicationIds::second, &ReplicationId::text>},
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
