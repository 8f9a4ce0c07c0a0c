// Facts on a server as its answers would make them, and the text of what is drawn.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/program/top/facts.h"
#include "server/program/top/screen_line.h"

namespace sluice {

inline constexpr std::string_view kMadeInfo =
    "redis_version:7.0.15\r\nsluice_version:0.1.0\r\nuptime_in_seconds:187200\r\n"
    "server_time_usec:1700000100000000\r\nconnected_clients:12\r\nblocked_clients:3\r\n"
    "instantaneous_ops_per_sec:15234\r\nused_memory:1048576\r\nused_memory_rss:2097152\r\n"
    "maxmemory:0\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n"
    "aof_current_size:10485760\r\naof_buffer_length:0\r\nrdb_saves:1\r\n"
    "rdb_last_save_time:1700000000\r\nrdb_last_bgsave_status:ok\r\n"
    "rdb_changes_since_last_save:33\r\nturns:10\r\n"
    "turn_cpu_us_p999:800\r\nturn_cpu_us_max:3200\r\nexpiry_lateness_ms_p999:1\r\n"
    "expiry_lateness_ms_max:12\r\ntimers_pending:5\r\nlocks_held:2\r\nlocks_waiting:1\r\n"
    "locks_granted:1000\r\nlocks_expired:4\r\nlocks_deadlocks:0\r\nlocks_restart_grace:0\r\n"
    "limits_taken:500\r\nlimits_refused:20\r\nlimits_waiting:1\r\nlimit_policies:2\r\n"
    "limits_window:taken=100,refused=0\r\nlimits_log:taken=0,refused=0\r\n"
    "limits_gcra:taken=400,refused=20\r\n";

inline TopFacts FactsOf(std::string_view info = kMadeInfo) {
  TopFacts facts{.address = "127.0.0.1:6379", .at_ms = 5'000};
  facts.info.Add(info);
  return facts;
}

inline LockFacts HeldBy(std::string name, std::string owner, int64_t lease_ms) {
  return {.name = std::move(name),
          .is_known = true,
          .mode = "exclusive",
          .owner = std::move(owner),
          .holders = 1,
          .lease_ms = lease_ms};
}

inline LockFacts WaitedFor(LockFacts lock, std::vector<WaiterFacts> waiters) {
  lock.is_waited_for = true;
  lock.waiters = static_cast<int64_t>(waiters.size());
  lock.first_waiters = std::move(waiters);
  return lock;
}

// Without the spaces that end a line.
inline std::vector<std::string> LinesOf(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> texts;
  for (const ScreenLine& line : lines) {
    std::string text = line.text;
    text.erase(text.find_last_not_of(' ') + 1);
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace sluice
