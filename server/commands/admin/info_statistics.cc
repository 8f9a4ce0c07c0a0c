// INFO's sections about what has been counted since the start or CONFIG RESETSTAT.

#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "server/commands/admin/info.h"
#include "server/config/config.h"
#include "server/dispatch/command_table.h"
#include "server/engine/defragmenter.h"
#include "server/engine/facts.h"
#include "server/engine/script_engine.h"
#include "server/locks/lock_service.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"
#include "server/observe/command_counts.h"
#include "server/observe/statistics.h"

namespace sluice {
namespace {

// Containers and subcommands, each with statistics of its own; the container's are those of its own
// calls.
void ForEachCommand(const Parts& parts,
                    absl::FunctionRef<void(const Command&, const CommandStatistics&)> visit) {
  const auto visit_one = [&](const Command& command) {
    const CommandStatistics* const own = parts.Get<CommandCounts>().Find(command.number);
    if (own) visit(command, *own);
  };
  for (const Command* command : parts.Get<const CommandTable>().all()) {
    visit_one(*command);
    for (const Command* sub : command->subcommands) visit_one(*sub);
  }
}

// Bytes that would break the line, as Redis replaces them.
std::string SafeName(std::string_view name) {
  std::string safe(name);
  for (char& c : safe) {
    if (c == '#' || c == ':' || c == '\n' || c == '\r') c = '_';
  }
  return safe;
}

// "%f" without the zeros at its end: 99.900000 is "99.9".
std::string ShortText(double value) {
  std::string text = FixedText(value, 6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// A percentile of a histogram, which INFO shows in a line of its own.
struct Percentile {
  std::string_view suffix;
  double percent;
};
// 99.9 is written without its point, as names of fields have none.
constexpr Percentile kPercentiles[] = {{"_p50", 50}, {"_p99", 99}, {"_p999", 99.9}};

// Percentiles, the maximum, and one line of counts up to bounds that suit the thing. The unit is in
// the name. The line's counts are cumulative; the last one is all.
void WriteHistogram(InfoText& text, std::string_view name, const Histogram& histogram,
                    std::span<const int64_t> bounds) {
  for (const Percentile& row : kPercentiles) {
    text.Field(Concat(name, row.suffix), histogram.Percentile(row.percent));
  }
  text.Field(Concat(name, "_max"), histogram.max());
  std::string counts;
  for (const int64_t bound : bounds) {
    ConcatTo(counts, "le_", bound, '=', histogram.CountAtMost(bound), ',');
  }
  text.Field(Concat(name, "_histogram"), counts, "inf=", histogram.count());
}

// Kilobytes, as Redis's kbps.
std::string Kilobytes(uint64_t bytes) { return FixedText(static_cast<double>(bytes) / 1024, 2); }

// µs and ms: a good turn is below the first bounds, a lateness of some ms is normal.
constexpr int64_t kTurnBoundsUs[] = {50, 100, 250, 500, 1000, 2000, 5000, 10000};
constexpr int64_t kLatenessBoundsMs[] = {0, 1, 2, 5, 10, 100, 1000};

// Counters of Redis that never count here are 0, for monitors that look for them.
void WriteZeros(std::initializer_list<std::string_view> names, InfoText& text) {
  for (const std::string_view name : names) text.Field(name, 0);
}

// The "instantaneous" fields are per second, over the last seconds (Rates).
void WriteTraffic(const Statistics& stats, const Rates::Counts& rates, InfoText& text) {
  text.Field("total_connections_received", stats.connections);
  text.Field("total_commands_processed", stats.commands);
  text.Field("instantaneous_ops_per_sec", rates.commands);
  text.Field("total_net_input_bytes", stats.bytes_in);
  text.Field("total_net_output_bytes", stats.bytes_out);
  WriteZeros({"total_net_repl_input_bytes", "total_net_repl_output_bytes"}, text);
  text.Field("instantaneous_input_kbps", Kilobytes(rates.bytes_in));
  text.Field("instantaneous_output_kbps", Kilobytes(rates.bytes_out));
  text.Field("instantaneous_input_repl_kbps", Kilobytes(0));
  text.Field("instantaneous_output_repl_kbps", Kilobytes(0));
  text.Field("rejected_connections", stats.rejected_connections);
  WriteZeros({"sync_full", "sync_partial_ok", "sync_partial_err"}, text);
}

// Expiry is by timers: none is stale, and no cycle ever runs out of time.
void WriteExpiry(const Statistics& stats, InfoText& text) {
  constexpr int64_t kNanosPerMilli = 1'000'000;
  text.Field("expired_keys", stats.expired_keys);
  text.Field("expired_stale_perc", FixedText(0, 2));  // each has a timer
  text.Field("expired_time_cap_reached_count", 0);
  text.Field("expire_cycle_cpu_milliseconds", stats.expiry_ns / kNanosPerMilli);
}

// In ms: for how long more was used than maxmemory, in all and as long as it has been so now.
void WriteEviction(const Parts& parts, InfoText& text) {
  const EvictionCounts counts = parts.Get<MemoryLimit>().counts();
  const int64_t now_ms = parts.Get<TurnClock>().now().ms();
  const int64_t current_ms = counts.exceeded_since_ms == 0 ? 0 : now_ms - counts.exceeded_since_ms;
  text.Field("evicted_keys", counts.keys);
  text.Field("evicted_clients", parts.Get<Clients>().evicted());
  text.Field("total_eviction_exceeded_time", counts.exceeded_ms + current_ms);
  text.Field("current_eviction_exceeded_time", current_ms);
}

// Blocks that were moved, and keys of which some block was or none.
void WriteDefragmentation(const Defragmenter& defragmenter, InfoText& text) {
  const Defragmenter::Counts counts = defragmenter.counts();
  text.Field("active_defrag_hits", counts.moved.blocks);
  text.Field("active_defrag_misses", 0);  // it asks before it moves
  text.Field("active_defrag_key_hits", counts.moved.keys);
  text.Field("active_defrag_key_misses", counts.moved.keys_left);
  text.Field("total_active_defrag_time", counts.ran_ms);
  text.Field("current_active_defrag_time", defragmenter.running_ms());
}

// The percentiles that latency-tracking-info-percentiles names; the unit is in the field's name.
std::string PercentilesText(const Parts& parts, const Histogram& histogram) {
  std::string shown;
  for (const double percent : parts.Get<Config>().settings().latency_tracking_percentiles) {
    ConcatTo(shown, shown.empty() ? "p" : ",p", ShortText(percent), '=',
             histogram.Percentile(percent));
  }
  return shown;
}

std::string InVainText(const LockWaitStatistics::Waits& waits) {
  std::string shown;
  for (size_t i = 0; i < kLockWaitInVainWords.size(); ++i) {
    ConcatTo(shown, i == 0 ? "" : ",", kLockWaitInVainWords[i], '=', waits.in_vain[i]);
  }
  return shown;
}

// How long requests waited for the locks that they then had, in ms, and which waited in vain: of
// all, and a line for each of metrics-prefixes. Since the start or CONFIG RESETSTAT.
void WriteLockWaits(const Parts& parts, InfoText& text) {
  const LockWaitStatistics& statistics = parts.Get<LockService>().wait_statistics();
  const Histogram& granted_ms = statistics.all().granted_ms;
  text.Field("locks_wait_count", granted_ms.count());
  text.Field("locks_wait_ms_sum", granted_ms.sum());
  text.Field("locks_wait_ms_percentiles", PercentilesText(parts, granted_ms));
  text.Field("locks_wait_in_vain", InVainText(statistics.all()));
  for (const LockWaitStatistics::OfPrefix& each : statistics.by_prefix()) {
    const Histogram& waited_ms = each.waits.granted_ms;
    const std::string percentiles = PercentilesText(parts, waited_ms);
    text.Field(Concat("locks_wait_prefix_", SafeName(each.prefix)), "count=", waited_ms.count(),
               ",ms_sum=", waited_ms.sum(), percentiles.empty() ? "" : ",", percentiles, ',',
               InVainText(each.waits));
  }
}

}  // namespace

// Redis's fields in its order, then ours. A field that counts what never happens is 0.
void WriteStats(const Parts& parts, InfoText& text) {
  const Statistics& stats = parts.Get<Statistics>();
  WriteTraffic(stats, parts.Get<Rates>().per_second(), text);
  WriteExpiry(stats, text);
  WriteEviction(parts, text);
  text.Field("evicted_scripts",
             parts.Get<ScriptEngine>().cache().evicted());  // as Redis 7.4 calls it
  text.Field("keyspace_hits", stats.keyspace_hits);
  text.Field("keyspace_misses", stats.keyspace_misses);
  text.Field("pubsub_channels", parts.Get<PubSub>().names(ChannelKind::kChannel));
  text.Field("pubsub_patterns", parts.Get<PubSub>().names(ChannelKind::kPattern));
  text.Field("pubsubshard_channels", parts.Get<PubSub>().names(ChannelKind::kShardChannel));
  WriteZeros(
      {"latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys"},
      text);
  WriteDefragmentation(parts.Get<Defragmenter>(), text);
  text.Field("tracking_total_keys", parts.Get<Tracking>().keys());
  text.Field("tracking_total_items", parts.Get<Tracking>().items());
  text.Field("tracking_total_prefixes", parts.Get<Tracking>().prefixes());
  text.Field("unexpected_error_replies", 0);
  text.Field("total_error_replies", stats.error_replies);
  text.Field("dump_payload_sanitizations", 0);
  text.Field("total_reads_processed", stats.reads);
  text.Field("total_writes_processed", stats.writes);
  WriteZeros({"io_threaded_reads_processed", "io_threaded_writes_processed", "reply_buffer_shrinks",
              "reply_buffer_expands"},
             text);
  // Ours, and later versions'.
  text.Field("expired_subkeys", stats.expired_fields);
  text.Field("client_query_buffer_limit_disconnections", stats.query_limit_closed);
  text.Field("client_output_buffer_limit_disconnections", stats.output_limit_closed);
  text.Field("client_login_timeout_disconnections", stats.login_timeout_closed);
}

// By the first word of the error, as it was answered.
void WriteErrorStats(const Parts& parts, InfoText& text) {
  for (const auto& [code, count] : parts.Get<Statistics>().errors) {
    text.Field(Concat("errorstat_", SafeName(code)), "count=", count);
  }
}

// Commands that were never called are left out. rejected: stopped before they ran; failed: they
// answered an error.
void WriteCommandStats(const Parts& parts, InfoText& text) {
  ForEachCommand(parts, [&](const Command& command, const CommandStatistics& stats) {
    if (stats.calls == 0 && stats.rejected == 0 && stats.failed == 0) return;
    const double micros = static_cast<double>(stats.nanos) / 1000;
    // In µs, two digits, as Redis shows it.
    const double per_call = stats.calls == 0 ? 0 : micros / static_cast<double>(stats.calls);
    text.Field(Concat("cmdstat_", SafeName(command.full_name)), "calls=", stats.calls,
               ",usec=", stats.nanos / 1000, ",usec_per_call=", FixedText(per_call, 2),
               ",rejected_calls=", stats.rejected, ",failed_calls=", stats.failed);
  });
}

// Which percentiles is an option. Nothing is shown with latency-tracking off.
void WriteLatencyStats(const Parts& parts, InfoText& text) {
  if (!parts.Get<Config>().settings().latency_tracking) return;
  ForEachCommand(parts, [&](const Command& command, const CommandStatistics& stats) {
    const Histogram& histogram = stats.latency_ns;
    if (histogram.count() == 0) return;
    std::string shown;
    for (const double percent : parts.Get<Config>().settings().latency_tracking_percentiles) {
      const double micros = static_cast<double>(histogram.Percentile(percent)) / 1000;
      ConcatTo(shown, shown.empty() ? "p" : ",p", ShortText(percent), '=', FixedText(micros, 3));
    }
    text.Field(Concat("latency_percentiles_usec_", SafeName(command.full_name)), shown);
  });
}

// Locks that are held or linger, and what has come of all that was asked.
void WriteLocks(const Parts& parts, InfoText& text) {
  const LockCounts counts = parts.Get<LockService>().counts();
  // Locks with a holder, also one of no holds that lingers by MINHOLD.
  text.Field("locks_held", parts.Get<LockService>().held());
  // Requests in queues; one of LOCK.MACQUIRE counts once.
  text.Field("locks_waiting", parts.Get<LockService>().waiting());
  // Tokens of locks without a holder, see fence-retention.
  text.Field("locks_remembered", parts.Get<LockService>().memory().size());
  // Since the start, never reset: a monitor takes differences.
  text.Field("locks_granted", counts.granted);
  text.Field("locks_handed_over", counts.hand_overs);
  text.Field("locks_released", counts.released);
  text.Field("locks_expired", counts.expired);
  text.Field("locks_broken", counts.broken);
  text.Field("locks_deadlocks", counts.deadlocks);
  // FENCED that was answered STALE.
  text.Field("locks_fences_refused", counts.fenced);
  // After a restart: whether names without a known owner are held back, and for how many ms.
  const int64_t grace_left_ms = parts.Get<LockService>().GraceLeftMs();
  text.Field("locks_restart_grace", grace_left_ms > 0 ? 1 : 0);
  text.Field("locks_restart_grace_left_ms", grace_left_ms);
  WriteLockWaits(parts, text);
}

// A turn of the loop: what was ready was read, run and answered. Its CPU time bounds how long any
// client waits for others.
void WriteTurns(const Parts& parts, InfoText& text) {
  const Statistics& stats = parts.Get<Statistics>();
  // How many turns, and how their CPU times are spread, in µs.
  text.Field("turns", stats.turns);
  WriteHistogram(text, "turn_cpu_us", stats.turn_cpu_us, kTurnBoundsUs);
  text.Field("read_calls", stats.reads);
  text.Field("write_calls", stats.writes);
}

// How late keys went, in ms: a timer is late when turns are long.
void WriteTimers(const Parts& parts, InfoText& text) {
  // Everything on the wheel: keys, leases, waits, drains.
  text.Field("timers_pending", parts.Get<Facts>().timers());
  WriteHistogram(text, "expiry_lateness_ms", parts.Get<Statistics>().expiry_lateness_ms,
                 kLatenessBoundsMs);
}

}  // namespace sluice
