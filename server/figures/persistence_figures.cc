// Figures of the log and of snapshots. Sluice never forks, so all that Redis counts about children
// is 0. A rewrite of the log is a snapshot into its base.

#include <algorithm>

#include "server/commit/turn_gate.h"
#include "server/config/config.h"
#include "server/figures/sections.h"
#include "server/log/log_service.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

bool IsLoading(From from) { return from.Get<LogState>().loading; }
bool IsLogOpen(From from) { return from.Get<LogService>().commits().is_open(); }

// The part of all bytes that is loaded, 0 to 1.
double LoadedPart(const LogState& state) {
  const double total = static_cast<double>(std::max<uint64_t>(state.progress.total_bytes, 1));
  return static_cast<double>(state.progress.loaded_bytes) / total;
}

FigureValue LoadedPercentage(From from) {
  return FigureValue::Fixed(LoadedPart(from.Get<LogState>()) * 100, 2);
}

// The guess takes all bytes for equally fast.
FigureValue SecondsToLoad(From from) {
  const LogState& state = from.Get<LogState>();
  const double part = LoadedPart(state);
  const double taken_s = static_cast<double>(state.progress.taken_ms) / 1000;
  return part > 0 ? static_cast<int64_t>(taken_s / part - taken_s) : int64_t{1};
}

FigureValue IsRewriteDue(From from) {
  const LogService& log = from.Get<LogService>();
  return log.rewrite_wanted() || (!log.stands() && !log.rewriting());
}

void WriteSyncTimes(From from, MetricText& text) {
  constexpr int64_t kBoundsUs[] = {100,    250,    500,     1000,      2500,      5000,
                                   10'000, 25'000, 100'000, 1'000'000, 10'000'000};
  text.Value(from.Get<LogService>().commits().sync_us(), kBoundsUs, kMicro);
}

constexpr Figure kPersistenceFigures[] = {
    {"loading", "", "1 while data are loaded", Of<&LogState::loading>,
     Gauge("redis_loading_dump_file", "1 while data are loaded.")},
    {"async_loading", "", "0, kept for monitors: no full sync is loaded beside the data of before",
     Zero},
    {"current_cow_peak", "", "0, kept for monitors: it never forks", Zero},
    {"current_cow_size", "", "0, kept for monitors: it never forks", Zero},
    {"current_cow_size_age", "", "0, kept for monitors: it never forks", Zero},
    {"current_fork_perc", "", "0, kept for monitors: it never forks",
     [](From) { return FigureValue::Fixed(0, 2); }},
    {"current_save_keys_processed", "", "keys of the running snapshot that are given",
     Of<&Snapshots::keys_done>,
     Gauge("sluice_snapshot_keys_saved", "Of them those that are written.")},
    {"current_save_keys_total", "", "all of its keys", Of<&Snapshots::keys_in_all>,
     Gauge("sluice_snapshot_keys", "Keys that the snapshot in progress began with.")},
    {"rdb_changes_since_last_save", "", "changes of keys", Of<&Snapshots::changes_since_save>,
     Gauge("redis_rdb_changes_since_last_save", "Changes that no snapshot has.")},
    {"rdb_bgsave_in_progress", "", "1 while a snapshot is written, or an image for replicas",
     [](From from) { return from.Get<Snapshots>().saving() || from.Get<Snapshots>().syncing(); },
     Gauge("redis_rdb_bgsave_in_progress", "1 while a snapshot is written.")},
    {"rdb_last_save_time", "Unix s", "of the last snapshot, or of the start",
     Of<&Snapshots::saved_unix_s>,
     Gauge("redis_rdb_last_save_timestamp_seconds", "Unix time of the last snapshot.")},
    {"rdb_last_bgsave_status", "", "ok or err: of the last snapshot",
     [](From from) { return FigureValue::WentWell(!from.Get<Snapshots>().last_failed()); },
     Gauge("redis_rdb_last_bgsave_status", "1: the last snapshot was saved.")},
    {"rdb_last_bgsave_time_sec", "s", "that it took; -1: there was none",
     Of<&Snapshots::last_took_s>,
     Gauge("sluice_snapshot_last_duration_seconds", "What the last one took; -1: none.")},
    {"rdb_current_bgsave_time_sec", "s", "since the running one began; -1: none runs",
     Of<&Snapshots::running_s>},
    {"rdb_saves", "", "SAVEs, and snapshots begun beside clients, since CONFIG RESETSTAT",
     Of<&Snapshots::begun>},
    {"rdb_last_cow_size", "", "0, kept for monitors: it never forks", Zero},
    {"rdb_last_load_keys_expired", "",
     "of the snapshot loaded at the start: left out, as their time was over",
     [](From from) { return from.Get<LogState>().last_rdb.expired; }},
    {"rdb_last_load_keys_loaded", "", "of the snapshot loaded at the start",
     [](From from) { return from.Get<LogState>().last_rdb.loaded; }},
    {"aof_enabled", "", "`appendonly`: 0 or 1", Of<&Config::settings, &Settings::appendonly>,
     Gauge("redis_aof_enabled", "1 with appendonly.")},
    {"aof_rewrite_in_progress", "", "1 while a new base of the log is written",
     Of<&LogService::rewriting>,
     Gauge("redis_aof_rewrite_in_progress", "1 while the log is written anew.")},
    {"aof_rewrite_scheduled", "", "1 while one is to begin", IsRewriteDue},
    {"aof_last_rewrite_time_sec", "s", "that the last one took; -1: there was none",
     Of<&LogService::rewrite_took_s>},
    {"aof_current_rewrite_time_sec", "s", "since the running one began; -1: none runs",
     Of<&LogService::rewrite_running_s>},
    {"aof_last_bgrewrite_status", "", "ok or err: of the last one",
     [](From from) { return FigureValue::WentWell(!from.Get<LogService>().rewrite_failed()); },
     Gauge("redis_aof_last_bgrewrite_status", "1: the last rewriting went well.")},
    {"aof_rewrites", "", "new bases since the start", Of<&LogService::rewrites>,
     Counter("sluice_log_rewrites", "How often the log was written anew.")},
    {"aof_rewrites_consecutive_failures", "",
     "attempts that have failed since the last that has not", Of<&LogService::rewrite_failures>},
    {"aof_last_write_status", "", "err while the log cannot be written: changes are refused then",
     [](From from) { return FigureValue::WentWell(from.Get<LogState>().write_fault.empty()); },
     Gauge("redis_aof_last_write_status", "1: the log can be written.")},
    {"aof_last_cow_size", "", "0, kept for monitors: it never forks", Zero},
    {"module_fork_in_progress", "", "0, kept for monitors: there are no modules", Zero},
    {"module_fork_last_cow_size", "", "0, kept for monitors: there are no modules", Zero},

    Only(IsLoading, {"loading_start_time", "Unix s", "while loading: when it began",
                     [](From from) { return from.Get<LogState>().progress.started_unix_s; }}),
    Only(IsLoading, {"loading_total_bytes", "bytes", "while loading: of all files",
                     [](From from) {
                       const LogState& state = from.Get<LogState>();
                       return state.loading ? state.progress.total_bytes : 0;
                     },
                     Gauge("sluice_to_load_bytes", "While data are loaded: in all.")}),
    Only(IsLoading, {"loading_rdb_used_mem", "",
                     "0, kept for monitors: a file does not tell it; while loading", Zero}),
    Only(IsLoading, {"loading_loaded_bytes", "bytes", "while loading: of them, those that are done",
                     [](From from) {
                       const LogState& state = from.Get<LogState>();
                       return state.loading ? state.progress.loaded_bytes : 0;
                     },
                     Gauge("sluice_loaded_bytes", "While data are loaded: so far.")}),
    Only(IsLoading, {"loading_loaded_perc", "%", "while loading: the same", LoadedPercentage}),
    Only(IsLoading, {"loading_eta_seconds", "s",
                     "while loading: that it will take, if all bytes take as long", SecondsToLoad}),

    Only(IsLogOpen,
         {"aof_current_size", "bytes", "with a log: of its files",
          [](From from) { return IsLogOpen(from) ? from.Get<LogService>().total_bytes() : 0; },
          Gauge("redis_aof_current_size_bytes", "Size of the log.")}),
    Only(IsLogOpen,
         {"aof_base_size", "bytes", "with a log: of its base", Of<&LogService::base_bytes>,
          Gauge("redis_aof_base_size_bytes", "Size of its base.")}),
    Only(IsLogOpen, {"aof_pending_rewrite", "", "0, kept for monitors: with a log", Zero}),
    Only(IsLogOpen, {"aof_buffer_length", "bytes", "with a log: waiting for the disk",
                     Of<&LogService::commits, &CommitLog::waiting_bytes>}),
    Only(IsLogOpen, {"aof_pending_bio_fsync", "", "with a log: 1 while it is synced",
                     Of<&LogService::commits, &CommitLog::syncing>}),
    Only(IsLogOpen,
         {"aof_delayed_fsync", "", "with a log: turns whose write had to wait for a sync",
          Of<&LogService::commits, &CommitLog::delayed_syncs>,
          Counter("sluice_log_delayed_syncs", "Seconds whose sync was not over in time.")}),
    Only(IsLogOpen, {"aof_syncs", "", "with a log: how often it was synced",
                     Of<&LogService::commits, &CommitLog::syncs>}),
    Only(IsLogOpen,
         {"aof_syncs_in_place", "", "with a log: of these on the loop, the disk being fast enough",
          Of<&LogService::commits, &CommitLog::syncs_in_place>}),
    Only(IsLogOpen,
         {"aof_held_answers", "", "with a log: answers that wait for a sync", Of<&TurnGate::held>,
          Gauge("sluice_log_held_answers", "Answers that wait for the disk.")}),

    {.read = Of<&LogService::commits, &CommitLog::position>,
     .metric = Counter("sluice_log_appended_bytes", "Position of the log: bytes since the start.")},
    {.read = Of<&LogService::commits, &CommitLog::failed_syncs>,
     .metric = Counter("sluice_log_failed_syncs", "Syncs that failed.")},
    {.read = [](From from) { return !from.Get<LogState>().write_fault.empty(); },
     .metric = Gauge("sluice_log_faulty", "1: the log cannot be written, so no changes are made.")},
    {.read = Of<&Snapshots::saves>,
     .metric = Counter("sluice_snapshots_saved", "Snapshots that were saved.")},
    {.read = Of<&LogState::snapshot_fault>,
     .metric = Gauge("sluice_snapshot_faulty", "1: snapshots are to be saved, and cannot be.")},
    {.metric =
         Buckets("sluice_log_sync_seconds",
                 "From when a sync of the log was asked for until it was done.", WriteSyncTimes)},
};

}  // namespace

std::span<const Figure> PersistenceFigures() { return kPersistenceFigures; }

}  // namespace sluice
