// Which options the parts have to be told of, at the start and when they change. All other
// readers look at Settings each time.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "protocol/text/concat.h"
#include "server/engine/assembly.h"

namespace sluice {
namespace {

// Bytes maxmemory-clients allows all clients together, as in Redis at least 128 KB; 0: no limit.
size_t ClientBytesMax(const Settings& settings) {
  constexpr size_t kLeast = 128 * 1024;
  const std::string& limit = settings.maxmemory_clients;
  const auto value = static_cast<size_t>(std::strtoull(limit.c_str(), nullptr, 10));
  const bool is_percent = limit.ends_with('%');
  if (value == 0 || (is_percent && settings.maxmemory == 0)) return 0;
  const size_t bytes = is_percent ? static_cast<size_t>(settings.maxmemory) / 100 * value : value;
  return std::max(bytes, kLeast);
}

}  // namespace

// Options that are told of together, and how.
struct Assembly::FollowedOptions {
  std::array<std::string_view, 8> names;
  void (*tell)(Assembly& all);
};

std::span<const Assembly::FollowedOptions> Assembly::AllFollowed() {
  static constexpr FollowedOptions kAll[] = {
      {{"acl-pubsub-default"}, [](Assembly& all) { all.access.DefaultChannelsChanged(); }},
      {{"requirepass"}, [](Assembly& all) { all.access.RequirePassChanged(); }},
      {{"acllog-max-len"},
       [](Assembly& all) {
         all.access_log.set_entries_max(static_cast<size_t>(all.settings().acllog_max_len));
       }},
      {{"client-output-buffer-limit"}, [](Assembly& all) { all.clients.LimitsChanged(); }},
      {{"maxmemory-policy", "maxmemory-samples", "maxmemory-eviction-tenacity",
        "maxmemory-reserved-for-locks", "maxmemory-clients", "evict-never", "lfu-log-factor",
        "lfu-decay-time"},
       [](Assembly& all) { all.MemoryOptionsChanged(); }},
      {{"maxmemory"}, [](Assembly& all) { all.MaxMemoryChanged(); }},
      {{"fence-retention", "fence-memory-max"},
       [](Assembly& all) {
         FenceMemory& memory = all.locks.memory();
         memory.set_retention_ms(all.settings().fence_retention);
         memory.set_memory_max(static_cast<size_t>(all.settings().fence_memory_max));
       }},
      {{"request-id-memory-max"},
       [](Assembly& all) {
         all.request_ids.memory().set_bytes_max(
             static_cast<size_t>(all.settings().request_id_memory_max));
       }},
      {{"lock-restart-grace", "lock-restart-grace-max"},
       [](Assembly& all) { all.locks.GraceBoundChanged(); }},
      {{"lock-session-timeout"}, [](Assembly& all) { all.WatchPeers(); }},
      {{"slowlog-log-slower-than", "latency-monitor-threshold"},
       [](Assembly& all) {
         all.latency_monitor.set_threshold_ms(all.settings().latency_monitor_threshold);
         all.command_timer.Configure();
       }},
      {{"metrics-prefixes"},
       [](Assembly& all) {
         all.locks.wait_statistics().SetPrefixes(all.settings().metrics_prefixes);
       }},
      {{"replica-read-only"}, [](Assembly& all) { all.own_deadlines.Changed(); }},
      {{"min-replicas-to-write", "min-replicas-max-lag"},
       [](Assembly& all) { all.replicas.NoteGood(); }},
      {{"lock-min-replicas", "replicas-required"},
       [](Assembly& all) { all.grant_promise.Configure(); }},
      {{"slowlog-max-len", "slowlog-max-argc"},
       [](Assembly& all) {
         all.slow_log.set_entries_max(static_cast<size_t>(all.settings().slowlog_max_len));
         all.slow_log.set_args_max(static_cast<size_t>(all.settings().slowlog_max_argc));
       }},
  };
  return kAll;
}

void Assembly::FollowConfig() {
  for (const FollowedOptions& options : AllFollowed()) options.tell(*this);
  config.Follow(*this);
}

std::optional<std::string> Assembly::OptionChanged(std::string_view option) {
  for (const FollowedOptions& options : AllFollowed()) {
    if (std::ranges::find(options.names, option) == options.names.end()) continue;
    options.tell(*this);
    return std::string();
  }
  return std::nullopt;
}

// Gives the new time to clients that hold locks by their sessions: their peers are watched from the
// first such lock on.
void Assembly::WatchPeers() {
  clients.ForEach([this](Session& session) {
    const int64_t timeout_ms = settings().lock_session_timeout;
    if (!session.peer_watched && (timeout_ms == 0 || !locks.HoldsBySession(session))) return;
    session.peer_watched = timeout_ms > 0;
    host.WatchPeer(session, timeout_ms);
  });
}

void Assembly::MemoryOptionsChanged() {
  client_bytes_max = ClientBytesMax(settings());
  clients.SetAccounting(settings().maxmemory != 0 || settings().maxmemory_clients != "0");
  memory_limit.Configure();
  if (memory_limit.is_set()) memory_limit.BeginTurn(facts.CountedBesideKeys());
}

void Assembly::MaxMemoryChanged() {
  MemoryOptionsChanged();
  if (!memory_limit.IsOver(keyspace)) return;
  host.Log(LogLevel::kWarning,
           Concat("WARNING: the new maxmemory value set via CONFIG SET (",
                  static_cast<uint64_t>(settings().maxmemory),
                  ") is smaller than the current memory usage (", facts.UsedMemory(),
                  "). This will result in key eviction and/or the inability to accept new "
                  "write commands depending on the maxmemory-policy."));
}

}  // namespace sluice
