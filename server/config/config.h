// Configuration: every option is a row (name, alias, type, range, default, live or fixed at start,
// documentation; see config_options.h); values live in Settings, which the rest of the server reads
// directly.
//
// Options that Redis knows and Sluice does not serve have rows too: they say in words why, accept
// only the value that is true here (appendonly no, save "", maxmemory 0), and are never silently
// taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/disk.h"

namespace sluice {

struct OutputLimit {
  uint64_t hard_bytes = 0;  // 0: none
  uint64_t soft_bytes = 0;
  int64_t soft_seconds = 0;
};

// Plain values; the defaults are here and nowhere else.
struct Settings {
  // network
  std::vector<std::string> bind = {"127.0.0.1", "-::1"};  // a leading '-': may be unavailable
  int64_t port = 6379;
  std::string unixsocket;
  int64_t unixsocketperm = 0;
  int64_t tcp_backlog = 511;
  int64_t tcp_keepalive = 300;  // seconds; 0: off
  int64_t timeout = 0;          // seconds a client may be idle; 0: for ever
  int64_t maxclients = 10000;
  bool protected_mode = true;
  // access
  std::string requirepass;
  int64_t login_timeout = 60;                   // seconds; 0: for ever
  std::string enable_debug_command = "no";      // no | local | yes
  std::string enable_protected_configs = "no";  // the same
  // small collections: up to here they are kept, and shown, in their compact form
  int64_t hash_max_listpack_entries = 512;
  int64_t hash_max_listpack_value = 64;
  int64_t set_max_intset_entries = 512;
  int64_t hll_sparse_max_bytes = 3000;
  // limits
  int64_t proto_max_bulk_len = 512LL * 1024 * 1024;
  int64_t client_query_buffer_limit = 1024LL * 1024 * 1024;
  OutputLimit output_normal{1024UL << 20, 256UL << 20, 60};
  OutputLimit output_replica{256UL << 20, 64UL << 20, 60};
  OutputLimit output_pubsub{32UL << 20, 8UL << 20, 60};
  // process
  std::string dir = ".";
  std::string logfile;
  std::string loglevel = "notice";  // debug | verbose | notice | warning | nothing
  std::string pidfile;
  bool daemonize = false;
  int64_t databases = 16;
  uint64_t seed = 0;  // 0: from the system
  // values
  int64_t stream_node_max_entries = 100;
  int64_t stream_node_max_bytes = 4096;
  int64_t zset_max_listpack_entries = 128;
  int64_t zset_max_listpack_value = 64;
  // behaviour
  std::string maxmemory_policy = "noeviction";
  bool lazyfree_lazy_user_flush = false;
  int64_t slowlog_log_slower_than = 10'000;  // µs; -1: nothing is logged
  int64_t slowlog_max_len = 128;
  int64_t latency_monitor_threshold = 0;  // ms; 0: nothing is monitored
  bool latency_tracking = true;
  std::vector<double> latency_tracking_percentiles = {50, 99, 99.9};
  int64_t busy_reply_threshold = 5000;
  uint32_t notify_classes = 0;  // NotifyClass bits
  bool lbucket_second_buckets = false;
  int64_t list_max_listpack_size = -2;  // a chunk's elements; -1 to -5: its 4 to 64 kilobytes
  // locks
  int64_t fence_retention = 3'600'000;
  int64_t fence_memory_max = 64 * 1024 * 1024;
  std::string fence_mark_file = "fence.mark";
  int64_t lock_session_timeout = 10'000;
  int64_t tracking_table_max_keys = 1000000;  // 0: no limit
};

class Config {
 public:
  // `disk` holds the configuration file; it outlives the configuration.
  explicit Config(Disk& disk);

  const Settings& settings() const { return settings_; }
  Disk& disk() const { return *disk_; }

  // --- start: file, then flags. Each returns an error sentence, or empty; warnings are collected.
  std::string LoadFile(const std::string& path);  // redis.conf syntax, `include` too
  // The same from memory ("sluice -"); `source` names it in errors (none: flags).
  std::string LoadText(std::string_view text, std::string_view source = "standard input");
  // The fault alone, without where it was found.
  std::string SetAtStart(std::string_view name, std::vector<std::string> values);
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Those since the last call, for the log: live changes warn too.
  std::vector<std::string> TakeWarnings();

  // --- CONFIG SET: all or none. On failure the sentence as Redis words it after "ERR ".
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  // `protected_too`: the client may change protected options (enable-protected-configs).
  std::string Set(const Pairs& pairs, bool protected_too = false);
  // CONFIG GET: name and value of every option whose name or alias matches one of the globs.
  Pairs Get(std::span<const std::string_view> globs) const;
  // CONFIG REWRITE of the file given at start; error sentence or empty.
  std::string Rewrite();
  const std::string& file() const { return file_; }  // "" when there is none

  // Whether nobody may see the value of that option: MONITOR and SLOWLOG hide it.
  static bool IsSecret(std::string_view option);

  // Called after a live change of that option took place; a returned sentence rolls it back (and
  // then it is called again for the old value). Options such as `port` cannot be changed live
  // without one.
  void OnChange(std::string_view option, std::function<std::string()> apply);

 private:
  static constexpr int kIncludeDepthMax = 16;
  struct Place {
    std::string_view source;
    int line = 0;
    int depth = 0;
  };
  struct Change {
    size_t option;
    std::string_view name;  // as the client calls it: option or alias
  };

  std::string LoadFile(const std::string& path, int depth);
  std::string LoadLines(std::string_view text, Place place);
  std::string LoadDirective(std::vector<std::string> words, int depth);
  std::string CheckDefaultUser() const;
  std::string Include(const std::string& pattern, int depth);
  std::string Assign(size_t option, std::span<const std::string> values);
  std::string CheckChanges(const Pairs& pairs, bool protected_too,
                           std::vector<Change>& changes) const;
  std::string ApplyHooks(const std::vector<Change>& changes, const Pairs& old_values);
  std::string ValueOf(size_t option) const;
  const std::function<std::string()>* HookOf(std::string_view option) const;
  // The line or lines that a config file needs for an option, its name included.
  std::vector<std::string> LinesOf(size_t option) const;

  Disk* disk_;
  Settings settings_;
  std::vector<std::string> kept_;  // values of options without a member of Settings, by number
  std::vector<std::string> warnings_;
  std::string file_;                         // absolute
  std::optional<std::string> default_user_;  // what "user default" says of its password, if there
  std::vector<std::pair<std::string, std::function<std::string()>>> hooks_;
};

}  // namespace sluice
