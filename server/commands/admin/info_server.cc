// INFO's sections about what the server is and holds now: all fields of Redis 7.0 in its order,
// ours behind them. A field without any truth behind it on Sluice has the value that Redis shows
// while it does no such thing.

#include <algorithm>
#include <charconv>
#include <functional>

#include "absl/base/attributes.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/commands/admin/info.h"
#include "server/config/config.h"
#include "server/config/version.h"
#include "server/core/turn_clock.h"
#include "server/engine/defragmenter.h"
#include "server/engine/facts.h"
#include "server/engine/script_engine.h"
#include "server/log/log_service.h"
#include "server/notify/tracking.h"
#include "server/observe/statistics.h"
#include "server/snapshots/snapshots.h"
#include "server/test_double/spaces.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

constexpr int64_t kDayMs = 24 * 3600 * 1000;

// Two digits; 0 where the divisor is, so that no field shows "inf".
std::string Ratio(uint64_t a, uint64_t b) {
  return FixedText(b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b), 2);
}

// µs as seconds with six digits, as getrusage's fields are shown.
std::string Seconds(int64_t micros) { return FixedText(static_cast<double>(micros) / 1e6, 6); }

// The value that CONFIG GET answers.
std::string OptionOf(const Parts& parts, std::string_view name) {
  const Config::Pairs found = parts.Get<Config>().Get({&name, 1});
  return found.empty() ? std::string() : found.front().second;
}

// A hash of the version and the compiler: the same for every build of the same.
std::string BuildId() {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : Concat(kSluiceVersion, ' ', __VERSION__)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  char digits[20];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, hash, 16).ptr);
}

// A host that is no process of its own (a library, a test) leaves such facts empty. The text is the
// host's and outlives the answer.
std::string_view OrNone(const std::string& text ABSL_ATTRIBUTE_LIFETIME_BOUND) {
  return text.empty() ? std::string_view("none") : std::string_view(text);
}

}  // namespace

// redis_version is the Redis whose commands we speak; sluice_version is ours. Times are engine
// time, except server_time_usec.
void WriteServer(const Parts& parts, InfoText& text) {
  const int64_t uptime_ms = parts.Get<TurnClock>().now().ms() - parts.Get<Facts>().started_ms();
  const std::string hz = OptionOf(parts, "hz");
  text.Field("redis_version", kRedisVersion);
  text.Field("redis_git_sha1", "00000000");
  text.Field("redis_git_dirty", 0);
  text.Field("redis_build_id", BuildId());
  text.Field("redis_mode", "standalone");
  text.Field("os", parts.Get<Facts>().process().os);
  text.Field("arch_bits", sizeof(void*) * 8);
  text.Field("monotonic_clock", parts.Get<TurnClock>().clock().TickSource());
  text.Field("multiplexing_api", OrNone(parts.Get<Facts>().process().multiplexing_api));
  text.Field("atomicvar_api", "none");  // one thread has all of it
  text.Field("gcc_version", __GNUC__, '.', __GNUC_MINOR__, '.', __GNUC_PATCHLEVEL__);
  text.Field("process_id", parts.Get<Facts>().process().process_id);
  const Settings& settings = parts.Get<Config>().settings();
  text.Field("process_supervised", settings.supervised == "systemd" ? "systemd" : "no");
  text.Field("run_id", parts.Get<Facts>().run_id());
  text.Field("tcp_port", settings.port ? settings.port : settings.tls_port);
  text.Field("server_time_usec", parts.Get<TurnClock>().now().unix_us());
  text.Field("uptime_in_seconds", uptime_ms / 1000);
  text.Field("uptime_in_days", uptime_ms / kDayMs);
  text.Field("hz", hz);
  text.Field("configured_hz", hz);
  text.Field("lru_clock", parts.Get<Keyspace>().AccessClock(parts.Get<TurnClock>().now()));
  if (const Spaces* const spaces = parts.Find<Spaces>()) {
    text.Field("test_double", "yes");
    text.Field("space", spaces->name());
  }
  text.Field("executable", parts.Get<Facts>().process().executable);
  text.Field("config_file", parts.Get<Config>().file());
  text.Field("io_threads_active", 0);
  text.Field("sluice_version", kSluiceVersion);
}

// O(clients). A client that CLIENT PAUSE holds counts as blocked, as in Redis.
void WriteClients(const Parts& parts, InfoText& text) {
  size_t input_max = 0, output_max = 0, paused = 0;
  parts.Get<Clients>().ForEach([&](Session& session) {
    paused += session.paused;
    input_max = std::max(input_max, session.pending.size());
    output_max = std::max(output_max, session.output.bytes());
  });
  text.Field("connected_clients", parts.Get<Clients>().size());
  text.Field("cluster_connections", 0);
  text.Field("maxclients", parts.Get<Config>().settings().maxclients);
  text.Field("client_recent_max_input_buffer", input_max);
  text.Field("client_recent_max_output_buffer", output_max);
  text.Field("blocked_clients", parts.Get<Waiters>().parked().size() + paused);
  text.Field("tracking_clients", parts.Get<Tracking>().clients());
  text.Field("clients_in_timeout_table", parts.Get<Waiters>().parked().with_deadline());
}

// EVAL's interpreter and FUNCTION's are two, each with its own bytes.
void WriteScriptMemory(const Parts& parts, InfoText& text) {
  const ScriptCache& cache = parts.Get<ScriptEngine>().cache();
  const FunctionLibraries& functions = parts.Get<ScriptEngine>().functions();
  text.Field("used_memory_lua", cache.lua_bytes());
  text.Field("used_memory_vm_eval", cache.lua_bytes());
  text.Human("used_memory_lua", cache.lua_bytes());
  text.Field("used_memory_scripts_eval", cache.text_bytes());
  text.Field("number_of_cached_scripts", cache.size());
  text.Field("number_of_functions", functions.function_count());
  text.Field("number_of_libraries", functions.all().size());
  text.Field("used_memory_vm_functions", functions.lua_bytes());
  text.Bytes("used_memory_vm_total", cache.lua_bytes() + functions.lua_bytes());
  text.Field("used_memory_functions", functions.code_bytes());
  text.Bytes("used_memory_scripts", cache.text_bytes() + functions.code_bytes());
}

// Three quotients of neighbours in a chain: bytes handed out, their pages, pages held, and the
// process. Differences may be negative, as the numbers are taken one after the other.
void WriteAllocator(const AllocatorUsage& allocator, uint64_t resident, InfoText& text) {
  const auto allocated = static_cast<uint64_t>(allocator.allocated_bytes);
  const auto active = static_cast<uint64_t>(allocator.active_bytes);
  const auto held = static_cast<uint64_t>(allocator.resident_bytes);
  text.Field("allocator_frag_ratio", Ratio(active, allocated));
  text.Field("allocator_frag_bytes", static_cast<int64_t>(active - allocated));
  text.Field("allocator_rss_ratio", Ratio(held, active));
  text.Field("allocator_rss_bytes", static_cast<int64_t>(held - active));
  text.Field("rss_overhead_ratio", Ratio(resident, held));
  text.Field("rss_overhead_bytes", static_cast<int64_t>(resident - held));
}

// used_memory is what Sluice accounts for, and maxmemory bounds. The system's view of the process
// is used_memory_rss.
void WriteMemory(const Parts& parts, InfoText& text) {
  const ProcessUsage usage = parts.Get<Host>().process().Usage();
  const AllocatorUsage allocator = parts.Get<Host>().process().Allocator();
  const size_t dataset = parts.Get<Keyspace>().memory_bytes();
  const uint64_t used = parts.Get<Facts>().UsedMemory();
  const uint64_t overhead = used - dataset;
  const uint64_t clients = parts.Get<Clients>().MemoryBytes();
  const uint64_t peak = std::max<uint64_t>(parts.Get<Facts>().memory_peak(), used);
  const auto resident = static_cast<uint64_t>(usage.resident_bytes);
  text.Bytes("used_memory", used);
  text.Bytes("used_memory_rss", resident);
  text.Bytes("used_memory_peak", peak);
  text.Field("used_memory_peak_perc", Ratio(used * 100, peak), '%');
  text.Field("used_memory_overhead", overhead);
  // The memory of the empty server; the data set is counted by itself.
  text.Field("used_memory_startup", parts.Get<Facts>().startup_memory());
  text.Field("used_memory_dataset", dataset);
  text.Field("used_memory_dataset_perc", Ratio(dataset * 100, used), '%');
  // As the allocator tells them; zeros where it does not.
  text.Field("allocator_allocated", allocator.allocated_bytes);
  text.Field("allocator_active", allocator.active_bytes);
  text.Field("allocator_resident", allocator.resident_bytes);
  text.Bytes("total_system_memory", parts.Get<Facts>().process().machine_memory);
  WriteScriptMemory(parts, text);
  text.Bytes("maxmemory", static_cast<uint64_t>(parts.Get<Config>().settings().maxmemory));
  text.Field("maxmemory_policy", parts.Get<Config>().settings().maxmemory_policy);
  WriteAllocator(allocator, resident, text);
  text.Field("mem_fragmentation_ratio", Ratio(resident, used));
  text.Field("mem_fragmentation_bytes", static_cast<int64_t>(resident - used));
  text.Field("mem_not_counted_for_evict", 0);
  text.Field("mem_replication_backlog", 0);
  text.Field("mem_total_replication_buffers", 0);
  text.Field("mem_clients_slaves", 0);
  text.Field("mem_clients_normal", clients);
  text.Field("mem_cluster_links", 0);
  // Bytes of the log that wait for the disk.
  text.Field("mem_aof_buffer", parts.Get<LogService>().commits().waiting_bytes());
  text.Field("mem_allocator", parts.Get<Facts>().process().allocator);
  text.Field("active_defrag_running", parts.Get<Defragmenter>().percent());
  // Pieces of big values and flushed databases that are still to be freed.
  text.Field("lazyfree_pending_objects", parts.Get<Keyspace>().waiting_to_be_freed());
  text.Field("lazyfreed_objects", parts.Get<Statistics>().freed_lazily);
  text.Bytes("used_memory_rss_peak", static_cast<uint64_t>(usage.resident_peak_bytes));
  // Bytes that were resident for nothing and went back to the system, since the start.
  text.Field("memory_returned_bytes", parts.Get<Statistics>().returned_bytes);
}

// The guess of the time that is left takes all bytes for equally fast.
void WriteLoading(const LogState& state, InfoText& text) {
  const auto& progress = state.progress;
  const double total = static_cast<double>(std::max<uint64_t>(progress.total_bytes, 1));
  const double part = static_cast<double>(progress.loaded_bytes) / total;
  const double taken_s = static_cast<double>(progress.taken_ms) / 1000;
  text.Field("loading_start_time", progress.started_unix_s);
  text.Field("loading_total_bytes", progress.total_bytes);
  text.Field("loading_rdb_used_mem", 0);
  text.Field("loading_loaded_bytes", progress.loaded_bytes);
  text.Field("loading_loaded_perc", FixedText(part * 100, 2));
  text.Field("loading_eta_seconds",
             part > 0 ? static_cast<int64_t>(taken_s / part - taken_s) : int64_t{1});
}

// Fields that are only there while a log is open, as in Redis.
void WriteLog(const Parts& parts, InfoText& text) {
  const LogService& log = parts.Get<LogService>();
  const CommitLog& commits = log.commits();
  if (parts.Get<LogState>().loading) WriteLoading(parts.Get<LogState>(), text);
  if (!commits.is_open()) return;
  text.Field("aof_current_size", log.total_bytes());
  text.Field("aof_base_size", log.base_bytes());
  text.Field("aof_pending_rewrite", 0);
  text.Field("aof_buffer_length", commits.waiting_bytes());
  text.Field("aof_pending_bio_fsync", int{commits.syncing()});
  text.Field("aof_delayed_fsync", commits.delayed_syncs());
  text.Field("aof_syncs", commits.syncs());
  // Ours: how often syncs were made, and how many answers wait for one.
  text.Field("aof_held_answers", commits.held_answers());
}

// Sluice never forks, so all that Redis counts about children is 0. A rewrite of the log is a
// snapshot into its base.
void WritePersistence(const Parts& parts, InfoText& text) {
  const LogState& log_state = parts.Get<LogState>();
  const Snapshots& snapshots = parts.Get<Snapshots>();
  text.Field("loading", int{log_state.loading});
  text.Field("async_loading", 0);
  text.Field("current_cow_peak", 0);  // it never forks
  text.Field("current_cow_size", 0);
  text.Field("current_cow_size_age", 0);
  text.Field("current_fork_perc", FixedText(0, 2));
  text.Field("current_save_keys_processed", snapshots.keys_done());
  text.Field("current_save_keys_total", snapshots.keys_in_all());
  // Changes of keys, as the keyspace counts them.
  text.Field("rdb_changes_since_last_save", snapshots.changes_since_save());
  text.Field("rdb_bgsave_in_progress", int{snapshots.saving()});
  text.Field("rdb_last_save_time", snapshots.saved_unix_s());
  text.Field("rdb_last_bgsave_status", snapshots.last_failed() ? "err" : "ok");
  text.Field("rdb_last_bgsave_time_sec", snapshots.last_took_s());
  text.Field("rdb_current_bgsave_time_sec", snapshots.running_s());
  text.Field("rdb_saves", snapshots.begun());
  text.Field("rdb_last_cow_size", 0);
  text.Field("rdb_last_load_keys_expired", log_state.last_rdb.expired);
  text.Field("rdb_last_load_keys_loaded", log_state.last_rdb.loaded);
  text.Field("aof_enabled", int{parts.Get<Config>().settings().appendonly});
  const LogService& log = parts.Get<LogService>();
  text.Field("aof_rewrite_in_progress", int{log.rewriting()});
  text.Field("aof_rewrite_scheduled",
             int{log.rewrite_wanted() || (!log.stands() && !log.rewriting())});
  text.Field("aof_last_rewrite_time_sec", log.rewrite_took_s());
  text.Field("aof_current_rewrite_time_sec", log.rewrite_running_s());
  text.Field("aof_last_bgrewrite_status", log.rewrite_failed() ? "err" : "ok");
  text.Field("aof_rewrites", log.rewrites());
  text.Field("aof_rewrites_consecutive_failures", log.rewrite_failures());
  text.Field("aof_last_write_status", log_state.write_fault.empty() ? "ok" : "err");
  text.Field("aof_last_cow_size", 0);
  text.Field("module_fork_in_progress", 0);
  text.Field("module_fork_last_cow_size", 0);
  WriteLog(parts, text);
}

// A master without replicas: the offset stays 0, the id is that of the run.
void WriteReplication(const Parts& parts, InfoText& text) {
  text.Field("role", "master");
  text.Field("connected_slaves", 0);
  text.Field("master_failover_state", "no-failover");
  text.Field("master_replid", parts.Get<Facts>().run_id());
  text.Field("master_replid2", std::string(40, '0'));
  text.Field("master_repl_offset", 0);
  text.Field("second_repl_offset", -1);
  text.Field("repl_backlog_active", 0);
  text.Field("repl_backlog_size", OptionOf(parts, "repl-backlog-size"));
  text.Field("repl_backlog_first_byte_offset", 0);
  text.Field("repl_backlog_histlen", 0);
}

// Times of the process and of its main thread; there are no children.
void WriteCpu(const Parts& parts, InfoText& text) {
  const ProcessUsage usage = parts.Get<Host>().process().Usage();
  text.Field("used_cpu_sys", Seconds(usage.system_us));
  text.Field("used_cpu_user", Seconds(usage.user_us));
  text.Field("used_cpu_sys_children", Seconds(0));  // there are none
  text.Field("used_cpu_user_children", Seconds(0));
  text.Field("used_cpu_sys_main_thread", Seconds(usage.thread_system_us));
  text.Field("used_cpu_user_main_thread", Seconds(usage.thread_user_us));
}

// An empty section still has its title. Modules of Redis that Sluice has built in are not listed:
// MODULE LIST is empty too.
void WriteModules(const Parts&, InfoText&) {}

// Clients read this field before they send CLUSTER.
void WriteCluster(const Parts&, InfoText& text) { text.Field("cluster_enabled", 0); }

// Databases with keys alone.
void WriteKeyspace(const Parts& parts, InfoText& text) {
  Keyspace& keyspace = parts.Get<Keyspace>();
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (!keyspace.made(i) || keyspace.db(i).size() == 0) continue;
    // No average is kept: Redis samples it, and shows 0 until it has.
    text.Field(Concat("db", i), "keys=", keyspace.db(i).size(),
               ",expires=", keyspace.db(i).volatile_size(), ",avg_ttl=0");
  }
}

}  // namespace sluice
