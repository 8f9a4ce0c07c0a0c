// Settings: the values of all options, as the rest of the server reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

// How many bytes of replies may wait for a client of one class. Above the hard limit it is closed
// at once, above the soft one when it has been there for so many seconds.
struct OutputLimit {
  uint64_t hard_bytes = 0;  // 0: none
  uint64_t soft_bytes = 0;
  int64_t soft_seconds = 0;
};

// After so many seconds with at least so many changes a snapshot is saved.
struct SavePoint {
  int64_t seconds = 0;
  int64_t changes = 0;
};

// How many prefixes `metrics-prefixes` may name.
inline constexpr size_t kMetricsPrefixesMax = 32;

// Of lock-priority-patience: a day.
inline constexpr int64_t kPriorityPatienceMax = 86'400'000;

// Plain values; the defaults are here and nowhere else. The rows in served.cc say what each is for.
// An option's name is mostly the member's, with '-' for '_'. Sizes are bytes; times are in the unit
// that stands beside them. CONFIG SET changes them between two commands, so a reader takes them
// anew each time instead of keeping a copy.
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
  int64_t maxclients_per_ip = 0;  // 0: any number
  bool protected_mode = true;
  bool any_port = false;  // `port any`: the system chooses; `port` is 0 until it has
  // TLS; file names as OpenSSL takes them
  int64_t tls_port = 0;
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string tls_key_file_pass;
  std::string tls_ca_cert_file;
  std::string tls_ca_cert_dir;
  std::string tls_dh_params_file;
  std::string tls_auth_clients = "yes";       // no | yes | optional
  std::string tls_auth_clients_user = "off";  // off | CN
  std::string tls_protocols;                  // of TLSv1 ... TLSv1.3; empty: 1.2 and 1.3
  std::string tls_ciphers;
  std::string tls_ciphersuites;
  bool tls_prefer_server_ciphers = false;
  bool tls_session_caching = true;
  int64_t tls_session_cache_size = 20 * 1024;
  int64_t tls_session_cache_timeout = 300;  // seconds
  // HTTP: the page, metrics and readiness
  int64_t http_port = 0;
  std::vector<std::string> http_bind = {"127.0.0.1", "-::1"};  // as `bind`
  std::string http_password;
  std::vector<std::string> http_hosts;  // names besides addresses and localhost
  bool http_tls = false;
  bool http_actions = false;
  uint64_t ready_log_lag_max = 64 * 1024 * 1024;
  // cluster
  bool cluster_enabled = false;
  std::string cluster_map;  // the operator's file; "": none
  bool cluster_map_follow = false;
  std::string cluster_me;                          // which server of it this is: id or host:port
  std::string cluster_config_file = "nodes.conf";  // this server's own file
  std::string cluster_announce_ip;                 // "": as in the map
  std::string cluster_announce_hostname;
  int64_t cluster_announce_port = 0;                   // 0: as in the map
  std::string cluster_preferred_endpoint_type = "ip";  // ip | hostname | unknown-endpoint
  bool cluster_require_full_coverage = true;
  bool cluster_allow_replica_migration = true;
  bool cluster_allow_reads_when_down = false;
  bool cluster_allow_pubsubshard_when_down = true;
  // access
  std::string requirepass;  // of the default user, when it was last set by this name
  std::string aclfile;      // "": users are in the configuration
  std::string acl_pubsub_default = "resetchannels";  // resetchannels | allchannels
  int64_t acllog_max_len = 128;
  int64_t login_timeout = 60;                // seconds; 0: for ever
  int64_t failed_login_delay = 0;            // ms
  std::string enable_debug_command = "no";   // no | local | yes
  std::string enable_module_command = "no";  // the same
  bool scripting_enabled = true;
  std::string enable_protected_configs = "no";  // the same
  // small collections: up to here they are kept, and shown, in their compact form
  int64_t hash_max_listpack_entries = 512;
  int64_t hash_max_listpack_value = 64;
  int64_t set_max_intset_entries = 512;
  int64_t hll_sparse_max_bytes = 3000;
  // limits
  // The first bounds one argument, the second all that a client has sent and that has not run.
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
  int64_t databases = 16;
  uint64_t seed = 0;  // 0: from the system
  bool test_double = false;
  bool daemonize = false;
  // for the program that starts this one
  std::string port_file;
  int64_t ready_fd = -1;            // -1: none
  std::string ready_line = "auto";  // auto | yes | no; auto: with `port any`
  bool exit_with_parent = false;
  int64_t idle_exit = 0;          // seconds; 0: never
  std::string supervised = "no";  // no | systemd | auto
  // the append-only log
  // `appendfsync` decides when an answer may go out: "always" lets it wait for the disk.
  std::string appendfilename = "appendonly.aof";
  std::string appenddirname = "appendonlydir";
  std::string appendfsync = "everysec";             // always | everysec | no
  std::string appendfsync_failure = "stop-writes";  // stop-writes | exit
  bool appendonly = false;
  bool aof_load_truncated = true;
  bool aof_timestamp_enabled = false;
  int64_t auto_aof_rewrite_percentage = 100;  // 0: never by itself
  uint64_t auto_aof_rewrite_min_size = 64 * 1024 * 1024;
  int64_t session_grace_ms = 10'000;
  // snapshots
  std::vector<SavePoint> save = {{3600, 1}, {300, 100}, {60, 10000}};
  std::string dbfilename = "dump.rdb";
  bool rdbcompression = true;
  bool rdbchecksum = true;
  bool rdb_save_incremental_fsync = true;
  bool stop_writes_on_bgsave_error = true;
  bool rdb_skip_unknown = false;
  // A snapshot shares the thread with clients: this is its share while both have work.
  int64_t snapshot_cpu_percent = 30;
  uint64_t snapshot_memory_max = 256 * 1024 * 1024;
  int64_t rdb_key_save_delay = 0;  // µs
  int64_t key_load_delay = 0;      // µs; -n: 1 µs for n keys
  int64_t loading_process_events_interval_bytes = 2 * 1024 * 1024;
  std::string shutdown_on_sigint = "default";  // words of SHUTDOWN
  std::string shutdown_on_sigterm = "default";
  int64_t shutdown_timeout = 10;  // seconds
  // replication
  uint64_t repl_backlog_size = 1024 * 1024;
  int64_t repl_backlog_ttl = 3600;        // seconds; 0: for ever
  int64_t repl_ping_replica_period = 10;  // seconds
  int64_t repl_timeout = 60;              // seconds
  bool repl_diskless_sync = true;
  int64_t repl_diskless_sync_delay = 5;  // seconds
  int64_t repl_diskless_sync_max_replicas = 0;
  bool repl_disable_tcp_nodelay = false;
  int64_t min_replicas_to_write = 0;
  int64_t min_replicas_max_lag = 10;  // seconds
  bool replica_lazy_flush = false;
  bool replica_ignore_maxmemory = true;
  int64_t replica_priority = 100;
  // of a replica
  struct Master {
    std::string host;  // empty: it follows nobody
    int64_t port = 0;
    bool operator==(const Master&) const = default;
  };
  Master replicaof;
  std::string masteruser;
  std::string masterauth;
  bool replica_read_only = true;
  bool replica_serve_stale_data = true;
  std::string replica_announce_ip;
  int64_t replica_announce_port = 0;
  bool replica_announced = true;
  std::string bind_source_addr;
  bool tls_replication = false;
  std::string tls_client_cert_file;  // empty: the server's own, with its key
  std::string tls_client_key_file;
  std::string tls_client_key_file_pass;
  std::string propagation_error_behavior = "ignore";  // ignore | panic | panic-on-replicas
  // values
  int64_t stream_node_max_entries = 100;
  int64_t stream_node_max_bytes = 4096;
  int64_t zset_max_listpack_entries = 128;
  int64_t zset_max_listpack_value = 64;
  // behaviour
  std::string maxmemory_policy = "noeviction";
  int64_t maxmemory = 0;  // bytes; 0: no limit
  int64_t maxmemory_samples = 5;
  int64_t maxmemory_eviction_tenacity = 10;
  std::string maxmemory_clients = "0";  // bytes, or "5%" of maxmemory; 0: no limit
  // Beyond maxmemory, for what makes a lock, a limiter or a bucket.
  int64_t maxmemory_reserved_for_locks = 4 * 1024 * 1024;
  std::vector<std::string> evict_never;  // globs
  int64_t lfu_log_factor = 10;
  int64_t lfu_decay_time = 1;  // minutes
  // Entries on sparse pages of the allocator are moved, so that the pages come free.
  bool activedefrag = true;
  int64_t active_defrag_ignore_bytes = 100 * 1024 * 1024;
  int64_t active_defrag_threshold_lower = 10;  // percent of what is used
  int64_t active_defrag_threshold_upper = 100;
  int64_t active_defrag_cycle_min = 1;  // percent of the time
  int64_t active_defrag_cycle_max = 25;
  bool lazyfree_lazy_user_flush = false;
  bool latency_tracking = true;
  int64_t slowlog_log_slower_than = 10'000;  // µs; -1: nothing is logged
  int64_t slowlog_max_len = 128;
  int64_t slowlog_max_argc = 32;
  int64_t latency_monitor_threshold = 0;  // ms; 0: nothing is monitored
  std::vector<double> latency_tracking_percentiles = {50, 99, 99.9};
  std::vector<std::string> metrics_prefixes;  // of names of locks, all different
  // ms; from then on a script is slow and others are answered BUSY.
  int64_t busy_reply_threshold = 5000;
  uint32_t notify_classes = 0;  // NotifyClass bits
  bool sluice_expired_value = false;
  int64_t notify_value_max = 4096;  // bytes of a value that goes with its event
  bool lbucket_second_buckets = false;
  int64_t list_max_listpack_size = -2;  // a chunk's elements; -1 to -5: its 4 to 64 kilobytes
  // locks
  // The last token of a free lock: kept for so many ms, and in all in so many bytes.
  int64_t fence_retention = 3'600'000;
  int64_t fence_memory_max = 64 * 1024 * 1024;
  std::string fence_mark_file = "fence.mark";
  int64_t request_id_memory_max = 16 * 1024 * 1024;  // of answers to requests with an ID
  // ms in which a request that waits for a lock rises by one priority.
  int64_t lock_priority_patience = 1000;
  // ms without a sign of life, after which a client's SESSION locks are free.
  int64_t lock_session_timeout = 10'000;
  std::string lock_restart_grace = "auto";  // auto | yes | no
  // ms for which locks are held back after a start in which grants may be missing.
  int64_t lock_restart_grace_max = 600'000;
  int64_t lock_min_replicas = 0;
  // ms. Two lost packets in a row (TCP sends again after 200 and 400 ms) and a replica's longest
  // slice of work fit in; and it is over before clients give up: Jedis does so after 2 s, go-redis
  // after 3 s.
  int64_t lock_replicas_timeout = 1000;
  std::string replicas_required = "grants";   // grants | all
  int64_t tracking_table_max_keys = 1000000;  // 0: no limit
};

// As Redis, which writes idle times to files only under such a policy.
inline bool EvictsByLastUse(const Settings& settings) {
  return settings.maxmemory_policy.ends_with("-lru");
}

}  // namespace sluice
