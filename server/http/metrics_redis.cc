// The figures that redis_exporter knows, under its names. Left out are those that Sluice has
// nothing to count for (forks, replicas, defragmentation), and those whose names `promtool check
// metrics` objects to.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/config/version.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/memory_limit.h"
#include "server/engine/facts.h"
#include "server/engine/script_engine.h"
#include "server/http/metrics.h"
#include "server/log/log_service.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"
#include "server/observe/command_counts.h"
#include "server/observe/slow_log.h"
#include "server/observe/statistics.h"
#include "server/snapshots/snapshots.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

using Kind = MetricText::Kind;

// Figures of the system, and of all clients: each is asked for once a scrape.
struct Sources {
  explicit Sources(const Parts& all)
      : parts(all),
        usage(all.Get<Host>().process().Usage()),
        allocator(all.Get<Host>().process().Allocator()),
        used_memory(all.Get<Facts>().UsedMemory()),
        dataset(all.Get<Keyspace>().memory_bytes()) {}
  const Statistics& statistics() const { return parts.Get<Statistics>(); }
  const Settings& settings() const { return parts.Get<Config>().settings(); }
  const Snapshots& snapshots() const { return parts.Get<Snapshots>(); }
  const LogService& log() const { return parts.Get<LogService>(); }

  const Parts& parts;
  const ProcessUsage usage;
  const AllocatorUsage allocator;
  const uint64_t used_memory;
  const uint64_t dataset;
};

struct Row {
  std::string_view name;  // of a counter without "_total"
  Kind kind;
  std::string_view help;
  double (*value)(const Sources& from);
};

// The names are those of INFO in the order of INFO.
constexpr Row kRows[] = {
    {"redis_uptime_in_seconds", Kind::kGauge, "Seconds since the start.",
     [](const Sources& from) {
       const int64_t now_ms = from.parts.Get<TurnClock>().now().ms();
       return static_cast<double>((now_ms - from.parts.Get<Facts>().started_ms()) / 1000);
     }},
    {"redis_start_time_seconds", Kind::kGauge, "Unix time of the start.",
     [](const Sources& from) {
       const Now& now = from.parts.Get<TurnClock>().now();
       const int64_t up_ms = now.ms() - from.parts.Get<Facts>().started_ms();
       return static_cast<double>((now.unix_ms() - up_ms) / 1000);
     }},
    {"redis_process_id", Kind::kGauge, "Number of the process.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<Facts>().process().process_id);
     }},
    {"redis_connected_clients", Kind::kGauge, "Clients that are connected.",
     [](const Sources& from) { return static_cast<double>(from.parts.Get<Clients>().size()); }},
    {"redis_config_maxclients", Kind::kGauge, "Clients that may be (maxclients).",
     [](const Sources& from) { return static_cast<double>(from.settings().maxclients); }},
    {"redis_blocked_clients", Kind::kGauge, "Clients that wait in a command.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<Waiters>().parked().size());
     }},
    {"redis_tracking_clients", Kind::kGauge, "Clients with client-side caching.",
     [](const Sources& from) { return static_cast<double>(from.parts.Get<Tracking>().clients()); }},
    {"redis_clients_in_timeout_table", Kind::kGauge, "Clients that wait until a deadline.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<Waiters>().parked().with_deadline());
     }},
    {"redis_memory_used_bytes", Kind::kGauge, "Memory of keys, scripts and clients, as counted.",
     [](const Sources& from) { return static_cast<double>(from.used_memory); }},
    {"redis_memory_used_rss_bytes", Kind::kGauge, "Resident memory of the process.",
     [](const Sources& from) { return static_cast<double>(from.usage.resident_bytes); }},
    {"redis_memory_used_peak_bytes", Kind::kGauge, "The most that was used at once.",
     [](const Sources& from) {
       const uint64_t peak = from.parts.Get<Facts>().memory_peak();
       return static_cast<double>(std::max(peak, from.used_memory));
     }},
    {"redis_memory_max_bytes", Kind::kGauge, "maxmemory; 0: no limit.",
     [](const Sources& from) { return static_cast<double>(from.settings().maxmemory); }},
    {"redis_memory_used_overhead_bytes", Kind::kGauge, "What is used beside the data.",
     [](const Sources& from) { return static_cast<double>(from.used_memory - from.dataset); }},
    {"redis_memory_used_startup_bytes", Kind::kGauge, "What the empty server used.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<Facts>().startup_memory());
     }},
    {"redis_memory_used_dataset_bytes", Kind::kGauge, "Memory of keys and their values.",
     [](const Sources& from) { return static_cast<double>(from.dataset); }},
    {"redis_memory_used_lua_bytes", Kind::kGauge, "Memory of EVAL's interpreter.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<ScriptEngine>().cache().lua_bytes());
     }},
    {"redis_number_of_cached_scripts", Kind::kGauge, "Scripts that EVALSHA finds.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<ScriptEngine>().cache().size());
     }},
    {"redis_allocator_allocated_bytes", Kind::kGauge, "What the allocator has handed out.",
     [](const Sources& from) { return static_cast<double>(from.allocator.allocated_bytes); }},
    {"redis_allocator_active_bytes", Kind::kGauge, "Pages that hold some of it.",
     [](const Sources& from) { return static_cast<double>(from.allocator.active_bytes); }},
    {"redis_allocator_resident_bytes", Kind::kGauge, "Pages that the allocator holds.",
     [](const Sources& from) { return static_cast<double>(from.allocator.resident_bytes); }},
    {"redis_lazyfree_pending_objects", Kind::kGauge, "Pieces that are still to be freed.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<Keyspace>().waiting_to_be_freed());
     }},
    {"redis_loading_dump_file", Kind::kGauge, "1 while data are loaded.",
     [](const Sources& from) { return FlagOf(from.parts.Get<LogState>().loading); }},
    {"redis_rdb_changes_since_last_save", Kind::kGauge, "Changes that no snapshot has.",
     [](const Sources& from) {
       return static_cast<double>(from.snapshots().changes_since_save());
     }},
    {"redis_rdb_bgsave_in_progress", Kind::kGauge, "1 while a snapshot is written.",
     [](const Sources& from) { return FlagOf(from.snapshots().saving()); }},
    {"redis_rdb_last_save_timestamp_seconds", Kind::kGauge, "Unix time of the last snapshot.",
     [](const Sources& from) { return static_cast<double>(from.snapshots().saved_unix_s()); }},
    {"redis_rdb_last_bgsave_status", Kind::kGauge, "1: the last snapshot was saved.",
     [](const Sources& from) { return FlagOf(!from.snapshots().last_failed()); }},
    {"redis_aof_enabled", Kind::kGauge, "1 with appendonly.",
     [](const Sources& from) { return FlagOf(from.settings().appendonly); }},
    {"redis_aof_rewrite_in_progress", Kind::kGauge, "1 while the log is written anew.",
     [](const Sources& from) { return FlagOf(from.log().rewriting()); }},
    {"redis_aof_last_bgrewrite_status", Kind::kGauge, "1: the last rewriting went well.",
     [](const Sources& from) { return FlagOf(!from.log().rewrite_failed()); }},
    {"redis_aof_last_write_status", Kind::kGauge, "1: the log can be written.",
     [](const Sources& from) { return FlagOf(from.parts.Get<LogState>().write_fault.empty()); }},
    {"redis_aof_current_size_bytes", Kind::kGauge, "Size of the log.",
     [](const Sources& from) {
       return from.log().commits().is_open() ? static_cast<double>(from.log().total_bytes()) : 0;
     }},
    {"redis_aof_base_size_bytes", Kind::kGauge, "Size of its base.",
     [](const Sources& from) { return static_cast<double>(from.log().base_bytes()); }},
    {"redis_connections_received", Kind::kCounter, "Connections that were accepted.",
     [](const Sources& from) { return static_cast<double>(from.statistics().connections); }},
    {"redis_commands_processed", Kind::kCounter, "Commands that were run.",
     [](const Sources& from) { return static_cast<double>(from.statistics().commands); }},
    {"redis_net_input_bytes", Kind::kCounter, "Bytes read from clients.",
     [](const Sources& from) { return static_cast<double>(from.statistics().bytes_in); }},
    {"redis_net_output_bytes", Kind::kCounter, "Bytes sent to clients.",
     [](const Sources& from) { return static_cast<double>(from.statistics().bytes_out); }},
    {"redis_rejected_connections", Kind::kCounter, "Connections that were refused.",
     [](const Sources& from) {
       return static_cast<double>(from.statistics().rejected_connections);
     }},
    {"redis_expired_keys", Kind::kCounter, "Keys whose time was over.",
     [](const Sources& from) { return static_cast<double>(from.statistics().expired_keys); }},
    {"redis_evicted_keys", Kind::kCounter, "Keys that went for want of memory (maxmemory).",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<MemoryLimit>().counts().keys);
     }},
    {"redis_keyspace_hits", Kind::kCounter, "Keys that were read and there.",
     [](const Sources& from) { return static_cast<double>(from.statistics().keyspace_hits); }},
    {"redis_keyspace_misses", Kind::kCounter, "Keys that were read and not there.",
     [](const Sources& from) { return static_cast<double>(from.statistics().keyspace_misses); }},
    {"redis_pubsub_channels", Kind::kGauge, "Channels with subscribers.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<PubSub>().names(ChannelKind::kChannel));
     }},
    {"redis_pubsub_patterns", Kind::kGauge, "Patterns with subscribers.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<PubSub>().names(ChannelKind::kPattern));
     }},
    {"redis_tracking_total_keys", Kind::kGauge, "Keys that clients have cached.",
     [](const Sources& from) { return static_cast<double>(from.parts.Get<Tracking>().keys()); }},
    {"redis_slowlog_length", Kind::kGauge, "Entries of the slow log.",
     [](const Sources& from) {
       return static_cast<double>(from.parts.Get<SlowLog>().entries().size());
     }},
    {"redis_cpu_sys_seconds", Kind::kCounter, "CPU time in the system.",
     [](const Sources& from) { return static_cast<double>(from.usage.system_us) / 1e6; }},
    {"redis_cpu_user_seconds", Kind::kCounter, "CPU time outside of it.",
     [](const Sources& from) { return static_cast<double>(from.usage.user_us) / 1e6; }},
    {"redis_cpu_sys_main_thread_seconds", Kind::kCounter, "CPU time of the main thread, system.",
     [](const Sources& from) { return static_cast<double>(from.usage.thread_system_us) / 1e6; }},
    {"redis_cpu_user_main_thread_seconds", Kind::kCounter, "CPU time of the main thread, user.",
     [](const Sources& from) { return static_cast<double>(from.usage.thread_user_us) / 1e6; }},
};

// --- by database, command and error

void WriteDatabases(const Parts& parts, MetricText& text) {
  Keyspace& keyspace = parts.Get<Keyspace>();
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    text.Begin(name, Kind::kGauge, help);
    for (int i = 0; i < keyspace.databases(); ++i) {
      if (i > 0 && !keyspace.made(i)) continue;
      const double shown = keyspace.made(i) ? static_cast<double>(value(keyspace.db(i))) : 0;
      text.Value({{"db", Concat("db", i)}}, shown);
    }
  };
  each("redis_db_keys", "Keys of a database.", [](const Database& db) { return db.size(); });
  each("redis_db_keys_expiring", "Of them those with a deadline.",
       [](const Database& db) { return db.volatile_size(); });
}

struct CommandRow {
  std::string_view name;
  std::string_view help;
  double (*value)(const CommandStatistics& statistics);
};
constexpr CommandRow kCommandRows[] = {
    {"redis_commands", "Calls of a command.",
     [](const CommandStatistics& of) { return static_cast<double>(of.calls); }},
    {"redis_commands_duration_seconds", "Time spent in a command.",
     [](const CommandStatistics& of) { return static_cast<double>(of.nanos) / 1e9; }},
    {"redis_commands_failed_calls", "Calls that answered an error.",
     [](const CommandStatistics& of) { return static_cast<double>(of.failed); }},
    {"redis_commands_rejected_calls", "Calls that were refused before they ran.",
     [](const CommandStatistics& of) { return static_cast<double>(of.rejected); }},
};

// Writes the commands that were ever called.
void WriteCommands(const Parts& parts, MetricText& text) {
  std::vector<std::pair<std::string, const CommandStatistics*>> called;
  const auto look = [&](const Command& command) {
    const CommandStatistics* const of = parts.Get<CommandCounts>().Find(command.number);
    if (of && (of->calls || of->rejected || of->failed)) called.emplace_back(command.full_name, of);
  };
  for (const Command* command : parts.Get<const CommandTable>().all()) {
    look(*command);
    for (const Command* sub : command->subcommands) look(*sub);
  }
  for (const CommandRow& row : kCommandRows) {
    text.Begin(row.name, Kind::kCounter, row.help);
    for (const auto& [name, statistics] : called) {
      text.Value({{"cmd", name}}, row.value(*statistics));
    }
  }
}

void WriteErrors(const Parts& parts, MetricText& text) {
  text.Begin("redis_errors", Kind::kCounter, "Errors that were answered, by their first word.");
  for (const auto& [code, count] : parts.Get<Statistics>().errors) {
    text.Value({{"err", code}}, static_cast<double>(count));
  }
}

}  // namespace

void WriteRedisMetrics(const Parts& parts, MetricText& text) {
  const Sources sources(parts);
  text.Begin("redis_up", Kind::kGauge, "1: this server answers.");
  text.Value(1);
  text.Begin("redis_instance_info", Kind::kGauge, "What the server is.");
  text.Value({{"role", "master"},
              {"redis_version", kRedisVersion},
              {"redis_mode", "standalone"},
              {"os", sources.parts.Get<Facts>().process().os},
              {"maxmemory_policy", sources.settings().maxmemory_policy},
              {"process_id", Concat(sources.parts.Get<Facts>().process().process_id)},
              {"run_id", sources.parts.Get<Facts>().run_id()}},
             1);
  for (const Row& row : kRows) {
    text.Begin(row.name, row.kind, row.help);
    text.Value(row.value(sources));
  }
  WriteDatabases(parts, text);
  WriteCommands(parts, text);
  WriteErrors(parts, text);
}

}  // namespace sluice
