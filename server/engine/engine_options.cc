// Which options the engine has to tell its parts of, at the start and when they change. All other
// readers look at Settings each time.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "protocol/text/concat.h"
#include "server/engine/engine.h"

namespace sluice {
namespace {

// What maxmemory-clients allows all clients together, as in Redis at least 128 KB; 0: no limit.
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
struct Engine::FollowedOptions {
  std::array<std::string_view, 8> names;
  void (*tell)(Engine& engine);
};

std::span<const Engine::FollowedOptions> Engine::AllFollowed() {
  static constexpr FollowedOptions kAll[] = {
      {{"acl-pubsub-default"}, [](Engine& engine) { engine.access_.DefaultChannelsChanged(); }},
      {{"requirepass"}, [](Engine& engine) { engine.access_.RequirePassChanged(); }},
      {{"acllog-max-len"},
       [](Engine& engine) {
         engine.access_log_.set_entries_max(static_cast<size_t>(engine.settings().acllog_max_len));
       }},
      {{"client-output-buffer-limit"}, [](Engine& engine) { engine.clients_.LimitsChanged(); }},
      {{"maxmemory-policy", "maxmemory-samples", "maxmemory-eviction-tenacity",
        "maxmemory-reserved-for-locks", "maxmemory-clients", "evict-never", "lfu-log-factor",
        "lfu-decay-time"},
       [](Engine& engine) { engine.MemoryOptionsChanged(); }},
      {{"maxmemory"}, [](Engine& engine) { engine.MaxMemoryChanged(); }},
      {{"fence-retention", "fence-memory-max"},
       [](Engine& engine) {
         FenceMemory& memory = engine.locks_.memory();
         memory.set_retention_ms(engine.settings().fence_retention);
         memory.set_memory_max(static_cast<size_t>(engine.settings().fence_memory_max));
       }},
      {{"lock-restart-grace", "lock-restart-grace-max"},
       [](Engine& engine) { engine.locks_.GraceBoundChanged(); }},
      {{"lock-session-timeout"}, [](Engine& engine) { engine.WatchPeers(); }},
      {{"slowlog-log-slower-than", "latency-monitor-threshold"},
       [](Engine& engine) {
         engine.latency_monitor_.set_threshold_ms(engine.settings().latency_monitor_threshold);
         engine.command_timer_.Configure();
       }},
      {{"slowlog-max-len"},
       [](Engine& engine) {
         engine.slow_log_.set_entries_max(static_cast<size_t>(engine.settings().slowlog_max_len));
       }},
  };
  return kAll;
}

void Engine::FollowConfig() {
  for (const FollowedOptions& options : AllFollowed()) options.tell(*this);
  config_.Follow(*this);
}

std::optional<std::string> Engine::OptionChanged(std::string_view option) {
  for (const FollowedOptions& options : AllFollowed()) {
    if (std::ranges::find(options.names, option) == options.names.end()) continue;
    options.tell(*this);
    return std::string();
  }
  return std::nullopt;
}

// Those who hold locks of their sessions, whose peers are watched from the first of them on.
void Engine::WatchPeers() {
  clients_.ForEach([this](Session& session) {
    const int64_t timeout_ms = settings().lock_session_timeout;
    if (!session.peer_watched && (timeout_ms == 0 || !locks_.HoldsBySession(session))) return;
    session.peer_watched = timeout_ms > 0;
    host_.WatchPeer(session, timeout_ms);
  });
}

void Engine::MemoryOptionsChanged() {
  client_bytes_max_ = ClientBytesMax(settings());
  clients_.SetAccounting(settings().maxmemory != 0 || settings().maxmemory_clients != "0");
  memory_limit_.Configure();
  if (memory_limit_.is_set()) {
    memory_limit_.BeginTurn(facts_.MemoryBesideKeys() + clients_.accounted_bytes());
  }
}

void Engine::MaxMemoryChanged() {
  MemoryOptionsChanged();
  if (!memory_limit_.IsOver(keyspace_)) return;
  host_.Log(LogLevel::kWarning,
            Concat("WARNING: the new maxmemory value set via CONFIG SET (",
                   static_cast<uint64_t>(settings().maxmemory),
                   ") is smaller than the current memory usage (", UsedMemory(),
                   "). This will result in key eviction and/or the inability to accept new "
                   "write commands depending on the maxmemory-policy."));
}

}  // namespace sluice
