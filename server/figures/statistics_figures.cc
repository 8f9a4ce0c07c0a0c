// Figures of what has been counted since the start or CONFIG RESETSTAT: Redis's in its order, then
// those of later versions and ours. One that counts what never happens is 0.

#include "server/clients/clients.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/memory_limit.h"
#include "server/engine/defragmenter.h"
#include "server/engine/script_engine.h"
#include "server/figures/sections.h"
#include "server/following/own_deadlines.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"
#include "server/observe/slow_log.h"
#include "server/observe/statistics.h"
#include "server/replication/replicas.h"

namespace sluice {
namespace {

// Kilobytes, as Redis's kbps.
FigureValue Kilobytes(uint64_t bytes) {
  return FigureValue::Fixed(static_cast<double>(bytes) / 1024, 2);
}
// The "instantaneous" fields are per second, over the last seconds.
template <auto... counts>
FigureValue KilobytesPerSecond(From from) {
  return Kilobytes(((from.Get<Rates>().per_second().*counts) + ...));
}

template <auto... counts>
FigureValue SumOf(From from) {
  return ((from.Get<Statistics>().*counts) + ...);
}

constexpr int64_t kNanosPerMilli = 1'000'000;
FigureValue ExpiryMillis(From from) { return from.Get<Statistics>().expiry_ns / kNanosPerMilli; }

// In ms: for how long more has been used than maxmemory now.
int64_t ExceededNowMs(From from) {
  const int64_t since_ms = from.Get<MemoryLimit>().counts().exceeded_since_ms;
  return since_ms == 0 ? 0 : from.Get<TurnClock>().now().ms() - since_ms;
}
FigureValue ExceededMs(From from) {
  return from.Get<MemoryLimit>().counts().exceeded_ms + ExceededNowMs(from);
}

template <ChannelKind kind>
FigureValue Names(From from) {
  return from.Get<PubSub>().names(kind);
}

template <auto count>
FigureValue Moved(From from) {
  return from.Get<Defragmenter>().counts().moved.*count;
}

constexpr Figure kStatisticsFigures[] = {
    {"total_connections_received", "", "since the start, as all of this section",
     Of<&Statistics::connections>,
     Counter("redis_connections_received", "Connections that were accepted.")},
    {"total_commands_processed", "", "those of scripts among them", Of<&Statistics::commands>,
     Counter("redis_commands_processed", "Commands that were run."), Plot::kCommands},
    {"instantaneous_ops_per_sec", "1/s", "commands, over the last seconds",
     Of<&Rates::per_second, &Rates::Counts::commands>},
    {"total_net_input_bytes", "bytes", "from clients and a master",
     SumOf<&Statistics::bytes_in, &Statistics::bytes_from_master>,
     Counter("redis_net_input_bytes", "Bytes read.")},
    {"total_net_output_bytes", "bytes", "to clients and replicas",
     SumOf<&Statistics::bytes_out, &Statistics::bytes_to_replicas>,
     Counter("redis_net_output_bytes", "Bytes sent.")},
    {"total_net_repl_input_bytes", "bytes", "from a master", Of<&Statistics::bytes_from_master>,
     Counter("sluice_replication_input_bytes", "Bytes read from a master.")},
    {"total_net_repl_output_bytes", "bytes", "to replicas", Of<&Statistics::bytes_to_replicas>,
     Counter("sluice_replication_output_bytes", "Bytes sent to replicas.")},
    {"instantaneous_input_kbps", "KB/s", "from clients and a master, over the last seconds",
     KilobytesPerSecond<&Rates::Counts::bytes_in, &Rates::Counts::bytes_from_master>},
    {"instantaneous_output_kbps", "KB/s", "to clients and replicas",
     KilobytesPerSecond<&Rates::Counts::bytes_out, &Rates::Counts::bytes_to_replicas>},
    {"instantaneous_input_repl_kbps", "KB/s", "from a master",
     KilobytesPerSecond<&Rates::Counts::bytes_from_master>},
    {"instantaneous_output_repl_kbps", "KB/s", "to replicas",
     KilobytesPerSecond<&Rates::Counts::bytes_to_replicas>},
    {"rejected_connections", "",
     "clients beyond maxclients or maxclients-per-ip, and strangers in protected mode",
     Of<&Statistics::rejected_connections>,
     Counter("redis_rejected_connections", "Connections that were refused.")},
    {"sync_full", "", "full syncs of replicas", Of<&Replicas::counts, &Replicas::Counts::full>},
    {"sync_partial_ok", "", "replicas that went on where they were",
     Of<&Replicas::counts, &Replicas::Counts::partial>},
    {"sync_partial_err", "", "replicas that could not, and had a full sync",
     Of<&Replicas::counts, &Replicas::Counts::refused_partial>},
    {"expired_keys", "", "keys whose time was over", Of<&Statistics::expired_keys>,
     Counter("redis_expired_keys", "Keys whose time was over.")},
    {"expired_stale_perc", "", "0, kept for monitors: each key has a timer, none is found late",
     [](From) { return FigureValue::Fixed(0, 2); }},
    {"expired_time_cap_reached_count", "", "0, kept for monitors: each key has a timer", Zero},
    {"expire_cycle_cpu_milliseconds", "ms", "CPU time of expiry", ExpiryMillis},
    {"evicted_keys", "", "keys that went for maxmemory",
     Of<&MemoryLimit::counts, &EvictionCounts::keys>,
     Counter("redis_evicted_keys", "Keys that went for want of memory (maxmemory).")},
    {"evicted_clients", "", "clients that were closed for maxmemory-clients",
     Of<&Clients::evicted>},
    {"total_eviction_exceeded_time", "ms", "for so long more was used than maxmemory", ExceededMs},
    {"current_eviction_exceeded_time", "ms", "for so long it has been so now",
     [](From from) { return ExceededNowMs(from); }},
    // As Redis 7.4 calls it.
    {"evicted_scripts", "", "scripts that left the cache of EVAL",
     Of<&ScriptEngine::cache, &ScriptCache::evicted>},
    {"keyspace_hits", "", "keys that were looked for and there", Of<&Statistics::keyspace_hits>,
     Counter("redis_keyspace_hits", "Keys that were read and there.")},
    {"keyspace_misses", "", "keys that were looked for and not there",
     Of<&Statistics::keyspace_misses>,
     Counter("redis_keyspace_misses", "Keys that were read and not there.")},
    {"pubsub_channels", "", "channels with a subscriber, now", Names<ChannelKind::kChannel>,
     Gauge("redis_pubsub_channels", "Channels with subscribers.")},
    {"pubsub_patterns", "", "patterns with a subscriber, now", Names<ChannelKind::kPattern>,
     Gauge("redis_pubsub_patterns", "Patterns with subscribers.")},
    {"pubsubshard_channels", "", "shard channels with a subscriber, now",
     Names<ChannelKind::kShardChannel>},
    {"latest_fork_usec", "", "0, kept for monitors: it never forks", Zero},
    {"total_forks", "", "0, kept for monitors: it never forks", Zero},
    {"migrate_cached_sockets", "", "0, kept for monitors: MIGRATE keeps no connection", Zero},
    {"slave_expires_tracked_keys", "",
     "keys with a deadline that clients of a writable replica wrote", Of<&OwnDeadlines::count>},
    {"active_defrag_hits", "", "blocks that were moved off sparse pages of memory",
     Moved<&EntryMover::Counts::blocks>},
    {"active_defrag_misses", "", "0, kept for monitors: what is moved is known before", Zero},
    {"active_defrag_key_hits", "", "keys of which something lay on such a page",
     Moved<&EntryMover::Counts::keys>},
    {"active_defrag_key_misses", "", "keys that were looked at and left",
     Moved<&EntryMover::Counts::keys_left>},
    {"total_active_defrag_time", "ms", "that runs of it took, rests included",
     Of<&Defragmenter::counts, &Defragmenter::Counts::ran_ms>},
    {"current_active_defrag_time", "ms", "the same of the run that goes on",
     Of<&Defragmenter::running_ms>},
    {"tracking_total_keys", "", "keys that CLIENT TRACKING remembers, now", Of<&Tracking::keys>,
     Gauge("redis_tracking_total_keys", "Keys that clients have cached.")},
    {"tracking_total_items", "", "clients of those keys in all, now", Of<&Tracking::items>},
    {"tracking_total_prefixes", "", "prefixes of CLIENT TRACKING BCAST, now",
     Of<&Tracking::prefixes>},
    {"unexpected_error_replies", "",
     "commands of its master that have failed, and errors that replicas were owed",
     Of<&Statistics::unexpected_error_replies>},
    {"total_error_replies", "", "answers that were errors", Of<&Statistics::error_replies>},
    {"dump_payload_sanitizations", "",
     "0, kept for monitors: every payload is checked as it is read", Zero},
    {"total_reads_processed", "", "reads of sockets", Of<&Statistics::reads>},
    {"total_writes_processed", "", "writes to sockets", Of<&Statistics::writes>},
    {"io_threaded_reads_processed", "", "0, kept for monitors: there is one thread", Zero},
    {"io_threaded_writes_processed", "", "0, kept for monitors: there is one thread", Zero},
    {"reply_buffer_shrinks", "", "0, kept for monitors: output is one list of pieces", Zero},
    {"reply_buffer_expands", "", "0, kept for monitors: output is one list of pieces", Zero},
    {"expired_subkeys", "", "fields of hashes whose time was over",
     Of<&Statistics::expired_fields>},
    {"client_query_buffer_limit_disconnections", "", "clients closed for client-query-buffer-limit",
     Of<&Statistics::query_limit_closed>},
    {"client_output_buffer_limit_disconnections", "",
     "clients closed for client-output-buffer-limit", Of<&Statistics::output_limit_closed>},
    {"client_login_timeout_disconnections", "", "clients closed for login-timeout",
     Of<&Statistics::login_timeout_closed>},

    {.read = [](From from) { return from.Get<SlowLog>().entries().size(); },
     .metric = Gauge("redis_slowlog_length", "Entries of the slow log.")},
};

}  // namespace

std::span<const Figure> StatisticsFigures() { return kStatisticsFigures; }

}  // namespace sluice
