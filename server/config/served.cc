// The rows of the options that Sluice serves, for options.h: name, member of Settings, shape,
// documentation. Ranges are Redis's where CONFIG SET's errors show them.
//
// A row is one option and all that is to know of it: to add one, add its member to Settings, write
// its row here, and read the member where it is needed. Hosted() says that a live change needs an
// OptionFollower.
#include "server/config/lists.h"
#include "server/config/options.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

using S = Settings;

// Words of options, in the order in which CONFIG SET's errors list them.
constexpr std::string_view kEndpoints[] = {"ip", "hostname", "unknown-endpoint"};
constexpr std::string_view kChannelRules[] = {"allchannels", "resetchannels"};
constexpr std::string_view kLogLevels[] = {"debug", "verbose", "notice", "warning"};
constexpr std::string_view kFsync[] = {"everysec", "always", "no"};
constexpr std::string_view kRestartGrace[] = {"auto", "yes", "no"};
constexpr std::string_view kReplicasRequired[] = {"grants", "all"};
constexpr std::string_view kTlsClients[] = {"no", "yes", "optional"};
constexpr std::string_view kTlsUsers[] = {"off", "CN"};
constexpr std::string_view kReadyLine[] = {"auto", "yes", "no"};
constexpr std::string_view kSupervised[] = {"upstart", "systemd", "auto", "no"};
constexpr std::string_view kPolicies[] = {"volatile-lru",   "volatile-lfu", "volatile-random",
                                          "volatile-ttl",   "allkeys-lru",  "allkeys-lfu",
                                          "allkeys-random", "noeviction"};
constexpr std::string_view kPropagationErrors[] = {"ignore", "panic", "panic-on-replicas"};
constexpr std::string_view kFsyncFailure[] = {"stop-writes", "exit"};
// Texts that have to pass a check of their own.
constexpr OptionShape kFileName{OptionShape::Kind::kText, 0, 0, {}, CheckAppendFileName};
constexpr OptionShape kSnapshotName{OptionShape::Kind::kText, 0, 0, {}, CheckSnapshotFileName};
constexpr OptionShape kFolderName{OptionShape::Kind::kText, 0, 0, {}, CheckAppendFolderName};
constexpr OptionShape kHostName{OptionShape::Kind::kText, 0, 0, {}, CheckHostname};
constexpr OptionShape kMemoryOrPercent{OptionShape::Kind::kMemoryOrPercent, -100, kLongMax};
constexpr OptionShape kOctalMode{OptionShape::Kind::kOctal, 0, 0777};
constexpr OptionShape kList{OptionShape::Kind::kList};
constexpr int64_t kMegabyte = 1024 * 1024;
// Redis's CONFIG_REPL_BACKLOG_MIN_SIZE: one block of what it sends.
constexpr int64_t kBacklogBytesMin = 16 * 1024;

// Ranges are Redis's, but for databases; CONFIG SET's errors show them.
constexpr Option kServedOptions[] = {
    // network
    Served("bind", &kBindList, kList, "addresses to listen on; '-' before one: it may be missing")
        .Hosted(),
    Served("port", &kPort, kAnyText, "TCP port; 0: none; any: a free one").Hosted(),
    Served("unixsocket", &S::unixsocket, kAnyText, "path of a Unix socket to listen on")
        .Immutable(),
    Served("unixsocketperm", &S::unixsocketperm, kOctalMode, "its mode; 0: as umask says")
        .Immutable(),
    Served("tcp-backlog", &S::tcp_backlog, Int(0, kIntMax), "connections that may wait")
        .Immutable(),
    Served("tcp-keepalive", &S::tcp_keepalive, Int(0, kIntMax), "seconds between probes; 0: none"),
    Served("timeout", &S::timeout, Int(0, kIntMax),
           "seconds until an idle client is closed; 0: never"),
    Served("maxclients", &S::maxclients, Int(1, 4294967295), "clients at the same time"),
    Served("maxclients-per-ip", &S::maxclients_per_ip, Int(0, kIntMax),
           "of them from one address (of IPv6: one /64 network); 0: any number"),
    Served("protected-mode", &S::protected_mode, kYesNo, "without a password, only this machine"),
    // TLS
    Served("tls-port", &S::tls_port, Int(0, 65535), "TCP port for TLS; 0: none").Hosted(),
    Served("tls-cert-file", &S::tls_cert_file, kAnyText, "the server's certificate, and its chain")
        .Hosted()
        .Reloads(),
    Served("tls-key-file", &S::tls_key_file, kAnyText, "its private key").Hosted().Reloads(),
    Served("tls-key-file-pass", &S::tls_key_file_pass, kAnyText, "the key's pass phrase")
        .Hosted()
        .Secret(),
    Served("tls-ca-cert-file", &S::tls_ca_cert_file, kAnyText,
           "certificates of the authorities that clients' certificates come from")
        .Hosted()
        .Reloads(),
    Served("tls-ca-cert-dir", &S::tls_ca_cert_dir, kAnyText,
           "folder of such, each named by its hash (openssl rehash)")
        .Hosted()
        .Reloads(),
    Served("tls-auth-clients", &S::tls_auth_clients, OneOf(kTlsClients),
           "whether clients need a certificate of their own; optional: one that is shown counts")
        .Hosted(),
    Served("tls-auth-clients-user", &S::tls_auth_clients_user, OneOf(kTlsUsers),
           "CN: the common name of a client's certificate is its user, who needs no password"),
    Served("tls-protocols", &S::tls_protocols, kAnyText,
           "of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3; empty: the last two")
        .Hosted(),
    Served("tls-ciphers", &S::tls_ciphers, kAnyText, "ciphers up to TLS 1.2, as OpenSSL has them")
        .Hosted(),
    Served("tls-ciphersuites", &S::tls_ciphersuites, kAnyText, "cipher suites of TLS 1.3").Hosted(),
    Served("tls-prefer-server-ciphers", &S::tls_prefer_server_ciphers, kYesNo,
           "the server's order of them counts, not the client's")
        .Hosted(),
    Served("tls-session-caching", &S::tls_session_caching, kYesNo,
           "a client that comes again need not shake hands in full")
        .Hosted(),
    Served("tls-session-cache-size", &S::tls_session_cache_size, Int(0, kIntMax),
           "sessions of TLS 1.2 kept here; 0: any number")
        .Hosted(),
    Served("tls-session-cache-timeout", &S::tls_session_cache_timeout, Int(0, kIntMax),
           "seconds for which a client may come again so")
        .Hosted(),
    Served("tls-dh-params-file", &S::tls_dh_params_file, kAnyText,
           "parameters of DH ciphers of TLS 1.2; without them there are none")
        .Hosted()
        .Reloads(),
    // HTTP
    Served("http-port", &S::http_port, Int(0, 65535),
           "TCP port for the page, /metrics, /healthz and /readyz; 0: none")
        .OwnImmutable(),
    Served("http-bind", &kHttpBindList, kList, "addresses that it listens on, as bind")
        .OwnImmutable(),
    Served(
        "http-password", &S::http_password, kAnyText,
        "password of its pages (HTTP Basic, any user; or a Bearer token); without one, only this "
        "machine, or who shows a certificate")
        .Own()
        .Secret(),
    Served("http-hosts", &kHttpHostList, kList,
           "names by which it may be called, besides addresses and localhost")
        .Own(),
    Served("server-name", std::monostate(), kAnyText,
           "what people call this server: the page shows it, in the title of its tab, too")
        .Own(),
    Served("http-tls", &S::http_tls, kYesNo,
           "it is HTTPS, with what tls-* say; a client's certificate counts as the password")
        .OwnImmutable(),
    Served("http-actions", &S::http_actions, kYesNo,
           "whether its page may break locks and delete keys, for who has logged in there")
        .Own(),
    Served("ready-log-lag-max", &S::ready_log_lag_max, Memory(),
           "bytes of the log that may wait for the disk while /readyz says ready; 0: any number")
        .Own(),
    // cluster
    Served("cluster-enabled", &S::cluster_enabled, kYesNo,
           "it serves some of the slots of a cluster, and names the servers of the others")
        .Immutable(),
    Served("cluster-map", &S::cluster_map, kAnyText,
           "file of the slots and servers of the cluster, the same on all; empty: the CLUSTER "
           "commands make it")
        .OwnImmutable(),
    Served("cluster-map-follow", &S::cluster_map_follow, kYesNo,
           "whether servers of the map's other lines are asked once a second which of them leads")
        .Own(),
    Served("cluster-me", &S::cluster_me, kAnyText,
           "which server of the map this one is, host:port or id; empty: the one with its port")
        .OwnImmutable(),
    Served("cluster-config-file", &S::cluster_config_file, kAnyText,
           "file in which this server keeps the map that the CLUSTER commands make")
        .Immutable(),
    Served("cluster-announce-ip", &S::cluster_announce_ip, kAnyText,
           "the host by which clients of the cluster are told of this server"),
    Served("cluster-announce-hostname", &S::cluster_announce_hostname, kHostName,
           "its name, for cluster-preferred-endpoint-type hostname"),
    Served("cluster-announce-port", &S::cluster_announce_port, Int(0, 65535),
           "the port by which clients of the cluster are told of this server; 0: the map's"),
    Served("cluster-preferred-endpoint-type", &S::cluster_preferred_endpoint_type,
           OneOf(kEndpoints), "what clients are told of servers: an address, a name, or nothing"),
    Served("cluster-require-full-coverage", &S::cluster_require_full_coverage, kYesNo,
           "whether it serves nothing while a slot of the cluster has no server"),
    Served("cluster-allow-replica-migration", &S::cluster_allow_replica_migration, kYesNo,
           "whether it follows the server that has got the last slots of its line"),
    Served("cluster-allow-reads-when-down", &S::cluster_allow_reads_when_down, kYesNo,
           "whether it is read while a slot of the cluster has no server"),
    Served("cluster-allow-pubsubshard-when-down", &S::cluster_allow_pubsubshard_when_down, kYesNo,
           "whether there are sharded messages while a slot of the cluster has no server"),
    // access
    Served("requirepass", &S::requirepass, kAnyText, "password of the default user").Secret(),
    Served("aclfile", &S::aclfile, kAnyText, "file of the users; empty: they are in this one")
        .Immutable(),
    Served("acl-pubsub-default", &S::acl_pubsub_default, OneOf(kChannelRules),
           "the channels of users that are made from now on"),
    Served("acllog-max-len", &S::acllog_max_len, Int(0, kLongMax), "entries of ACL LOG"),
    Served("login-timeout", &S::login_timeout, Int(0, kIntMax),
           "seconds that a client has to log in, where there is a password; 0: any time"),
    Served("failed-login-delay", &S::failed_login_delay, Int(0, 60'000),
           "ms until the answer to a wrong password, while others are served; 0: at once"),
    Served("enable-debug-command", &S::enable_debug_command, OneOf(kWhoMay), "who may DEBUG")
        .Immutable(),
    Served("enable-module-command", &S::enable_module_command, OneOf(kWhoMay),
           "who may try MODULE LOAD, which fails: no module can be loaded")
        .Immutable(),
    Served("scripting-enabled", &S::scripting_enabled, kYesNo,
           "whether there are EVAL, FCALL, SCRIPT and FUNCTION")
        .Immutable(),
    Served("enable-protected-configs", &S::enable_protected_configs, OneOf(kWhoMay),
           "who may CONFIG SET dir")
        .Immutable(),
    // limits
    Served("proto-max-bulk-len", &S::proto_max_bulk_len, Memory(kMegabyte),
           "bytes of one argument"),
    Served("client-query-buffer-limit", &S::client_query_buffer_limit, Memory(kMegabyte),
           "bytes of requests that one client may have waiting"),
    Served("client-output-buffer-limit", &kOutputLimitList, kList,
           "class, hard and soft bytes, soft seconds: bytes of replies that may wait"),
    // process
    Served("dir", &S::dir, kAnyText, "working directory").Protected().Hosted().NeedsData(),
    Served("logfile", &S::logfile, kAnyText, "where the log goes; empty: standard output")
        .Immutable(),
    Served("loglevel", &S::loglevel, OneOf(kLogLevels), "how much is logged"),
    Served("pidfile", &S::pidfile, kAnyText, "file for the process id").Immutable(),
    Served("daemonize", &S::daemonize, kYesNo, "run in the background").Immutable(),
    Served("databases", &S::databases, Int(1, Keyspace::kDatabasesMax), "how many SELECT can reach")
        .Immutable(),
    Served(
        "seed", &S::seed, Int(0, kLongMax),
        "of every random choice and of the secret of the hash tables: a run that can be repeated, "
        "and that who knows the seed can slow down by names that collide; 0: from the system")
        .OwnImmutable(),
    Served("test-double", &S::test_double, kYesNo,
           "SLUICE.CLOCK and its kin are served: a client may move the time and inject faults")
        .OwnImmutable(),
    // for the program that starts this one
    Served("port-file", &S::port_file, kAnyText, "file for the port, there while it is served")
        .OwnImmutable(),
    Served("ready-fd", &S::ready_fd, Int(-1, kIntMax),
           "descriptor for the line 'ready on ADDRESS:PORT', closed behind it; -1: none")
        .OwnImmutable(),
    Served("ready-line", &S::ready_line, OneOf(kReadyLine),
           "that line on standard output, and the log on standard error; auto: with port any")
        .OwnImmutable(),
    Served("exit-with-parent", &S::exit_with_parent, kYesNo,
           "the end of the process that started this one is as SIGTERM")
        .OwnImmutable(),
    Served("idle-exit", &S::idle_exit, Int(0, kIntMax),
           "seconds without any client after which it ends; 0: never")
        .OwnImmutable(),
    Served("supervised", &S::supervised, OneOf(kSupervised),
           "systemd: it hears when the server is ready, ends and lives; auto: if it asks for that")
        .Immutable(),
    // the append-only log
    Served("appendonly", &S::appendonly, kYesNo, "what changes is written to a log")
        .Hosted()
        .NeedsData(),
    Served("appendfilename", &S::appendfilename, kFileName, "begin of the names of its files")
        .Immutable(),
    Served("appenddirname", &S::appenddirname, kFolderName, "folder of its files, in dir")
        .Immutable(),
    Served("appendfsync", &S::appendfsync, OneOf(kFsync),
           "answers wait for the disk, or the log is synced every second, or by the system"),
    Served("appendfsync-failure", &S::appendfsync_failure, OneOf(kFsyncFailure),
           "after a failed sync: no changes until there is a new base, or the end"),
    Served("aof-load-truncated", &S::aof_load_truncated, kYesNo,
           "a log that ends in the middle of a turn is cut back and loaded"),
    Served("aof-timestamp-enabled", &S::aof_timestamp_enabled, kYesNo,
           "the log says when each second began"),
    Served("auto-aof-rewrite-percentage", &S::auto_aof_rewrite_percentage, Int(0, kIntMax),
           "the log is written anew when it has grown by so much; 0: only when told"),
    Served("auto-aof-rewrite-min-size", &S::auto_aof_rewrite_min_size, Memory(),
           "and has so many bytes"),
    Served("session-grace-ms", &S::session_grace_ms, Int(0, kLongMax),
           "so long after a restart locks of the sessions before it are kept"),
    // snapshots
    Served("save", &kSavePointList, kList, "seconds and changes after which a snapshot is saved"),
    Served("dbfilename", &S::dbfilename, kSnapshotName, "its name, in dir").Protected(),
    Served("rdbcompression", &S::rdbcompression, kYesNo, "texts in it are compressed by LZF"),
    Served("rdbchecksum", &S::rdbchecksum, kYesNo, "it ends with a checksum").Immutable(),
    Served("rdb-save-incremental-fsync", &S::rdb_save_incremental_fsync, kYesNo,
           "it is synced every 4 MB while it is written"),
    Served("stop-writes-on-bgsave-error", &S::stop_writes_on_bgsave_error, kYesNo,
           "no changes while snapshots are to be saved and cannot be"),
    Served("snapshot-cpu-percent", &S::snapshot_cpu_percent, Int(1, 100),
           "of the thread's time that a snapshot takes while clients have work"),
    Served("snapshot-memory-max", &S::snapshot_memory_max, Memory(kMegabyte),
           "bytes of snapshots in memory, for the disk and for replicas; commands that write wait"),
    Served("rdb-skip-unknown", &S::rdb_skip_unknown, kYesNo,
           "values of unknown modules in an RDB file are left out, and counted in the log"),
    Served("rdb-key-save-delay", &S::rdb_key_save_delay, Int(INT32_MIN, kIntMax),
           "µs that a snapshot waits after each key, for tests")
        .Hidden(),
    Served("key-load-delay", &S::key_load_delay, Int(INT32_MIN, kIntMax),
           "µs that a load waits after each key, for tests; -n: 1 µs after n keys")
        .Hidden(),
    Served("loading-process-events-interval-bytes", &S::loading_process_events_interval_bytes,
           Int(1024, kIntMax), "after so many loaded bytes at most other clients are answered")
        .Hidden(),
    Served("shutdown-on-sigint", &kSigintWords, kList, "words of SHUTDOWN"),
    Served("shutdown-on-sigterm", &kSigtermWords, kList, "words of SHUTDOWN"),
    Served("shutdown-timeout", &S::shutdown_timeout, Int(0, kIntMax),
           "seconds that the end waits for replicas to have everything; 0: it does not"),
    // replication
    Served("repl-backlog-size", &S::repl_backlog_size, MemoryRaisedTo(kBacklogBytesMin),
           "bytes of the stream that are kept for replicas that come back"),
    Served("repl-backlog-ttl", &S::repl_backlog_ttl, Int(0, kLongMax),
           "seconds without replicas until they are freed; 0: never"),
    Served("repl-ping-replica-period", &S::repl_ping_replica_period, Int(1, kIntMax),
           "seconds between two pings in the stream")
        .Alias("repl-ping-slave-period"),
    Served("repl-timeout", &S::repl_timeout, Int(1, kIntMax),
           "seconds until a silent replica is closed"),
    Served("repl-diskless-sync", &S::repl_diskless_sync, kYesNo,
           "all data are sent without their length in front"),
    Served("repl-diskless-sync-delay", &S::repl_diskless_sync_delay, Int(0, kIntMax),
           "seconds that a replica waits for others, to share an image"),
    Served("repl-diskless-sync-max-replicas", &S::repl_diskless_sync_max_replicas, Int(0, kIntMax),
           "so many wait no longer; 0: any number waits"),
    Served("repl-disable-tcp-nodelay", &S::repl_disable_tcp_nodelay, kYesNo,
           "the system may gather small packets for a replica: fewer of them, and later ones"),
    Served("min-replicas-to-write", &S::min_replicas_to_write, Int(0, kIntMax),
           "with fewer replicas that are well nothing is written; 0: none is needed")
        .Hosted()
        .Alias("min-slaves-to-write"),
    Served("min-replicas-max-lag", &S::min_replicas_max_lag, Int(0, kIntMax),
           "seconds since a replica's last word that it is well for; 0: none is needed")
        .Hosted()
        .Alias("min-slaves-max-lag"),
    Served("replica-ignore-maxmemory", &S::replica_ignore_maxmemory, kYesNo,
           "a replica evicts nothing by itself, as its master does so")
        .Alias("slave-ignore-maxmemory"),
    Served("replica-priority", &S::replica_priority, Int(0, kIntMax),
           "which replica Sentinel promotes first: that with the lowest number; 0: never this one")
        .Alias("slave-priority"),
    Served("replica-lazy-flush", &S::replica_lazy_flush, kYesNo,
           "before a full sync the old data are freed in slices, however few they are")
        .Alias("slave-lazy-flush"),
    Served("replicaof", &kMaster, kList, "the server that this one follows: host and port")
        .Alias("slaveof")
        .Immutable(),
    Served("masteruser", &S::masteruser, kAnyText, "its user there; empty: the default user")
        .Secret(),
    Served("masterauth", &S::masterauth, kAnyText, "its password there").Secret(),
    Served("replica-read-only", &S::replica_read_only, kYesNo,
           "a server that follows another one takes no writes of clients")
        .Alias("slave-read-only"),
    Served("replica-serve-stale-data", &S::replica_serve_stale_data, kYesNo,
           "it answers while it has no link to its master")
        .Alias("slave-serve-stale-data"),
    Served("replica-announce-ip", &S::replica_announce_ip, kAnyText,
           "where others find it, as it tells its master; empty: where it comes from")
        .Alias("slave-announce-ip"),
    Served("replica-announce-port", &S::replica_announce_port, Int(0, 65535),
           "the port, likewise; 0: its own")
        .Alias("slave-announce-port"),
    Served("replica-announced", &S::replica_announced, kYesNo,
           "a Sentinel may name this replica to those that ask for replicas"),
    Served("bind-source-addr", &S::bind_source_addr, kAnyText,
           "the address that its links come from; empty: the system chooses"),
    Served("tls-replication", &S::tls_replication, kYesNo, "the link to its master is TLS"),
    Served("tls-client-cert-file", &S::tls_client_cert_file, kAnyText,
           "its certificate there; empty: the server's own"),
    Served("tls-client-key-file", &S::tls_client_key_file, kAnyText, "the key of that"),
    Served("tls-client-key-file-pass", &S::tls_client_key_file_pass, kAnyText,
           "the key's pass phrase")
        .Secret(),
    Served("propagation-error-behavior", &S::propagation_error_behavior, OneOf(kPropagationErrors),
           "what follows a command of its master that fails: ignore logs it, the others end it"),
    // values
    Served("stream-node-max-bytes", &S::stream_node_max_bytes, Memory(),
           "bytes that one node of a stream holds; 0: any number"),
    Served("stream-node-max-entries", &S::stream_node_max_entries, Int(0, kLongMax),
           "entries that one node of a stream holds; 0: any number"),
    // small collections
    Served("hash-max-listpack-entries", &S::hash_max_listpack_entries, Int(0, kLongMax),
           "fields of a hash kept in order")
        .Alias("hash-max-ziplist-entries"),
    Served("hash-max-listpack-value", &S::hash_max_listpack_value, Memory(),
           "bytes of a name or value there")
        .Alias("hash-max-ziplist-value"),
    Served("set-max-intset-entries", &S::set_max_intset_entries, Int(0, kLongMax),
           "members of a set kept as sorted integers"),
    Served("hll-sparse-max-bytes", &S::hll_sparse_max_bytes, Memory(),
           "bytes of a HyperLogLog kept sparse"),
    Served("zset-max-listpack-entries", &S::zset_max_listpack_entries, Int(0, kLongMax),
           "members of a sorted set kept as a listpack")
        .Alias("zset-max-ziplist-entries"),
    Served("zset-max-listpack-value", &S::zset_max_listpack_value, Memory(),
           "bytes of its longest member")
        .Alias("zset-max-ziplist-value"),
    // memory
    Served("maxmemory", &kMaxMemory, Memory(),
           "bytes of keys, clients and all else; beyond it keys are evicted, or nothing more is "
           "taken; 0: no limit"),
    Served("maxmemory-policy", &S::maxmemory_policy, OneOf(kPolicies),
           "which keys are evicted: those with a deadline or all, by last use, use, chance or end"),
    Served("maxmemory-samples", &S::maxmemory_samples, Int(1, kIntMax),
           "how carefully they are chosen: more costs more"),
    Served("maxmemory-eviction-tenacity", &S::maxmemory_eviction_tenacity, Int(0, 100),
           "how long a turn evicts: 50 µs a step up to 10, then 15 % more each, at most 1 ms"),
    Served("maxmemory-clients", &S::maxmemory_clients, kMemoryOrPercent,
           "bytes of all clients, or percent of maxmemory; beyond it the largest are closed"),
    Served("maxmemory-reserved-for-locks", &S::maxmemory_reserved_for_locks, Memory(),
           "bytes beyond maxmemory that locks, limiters and buckets may take"),
    Served("evict-never", &kNeverEvicted, kList, "globs of keys that are not evicted"),
    Served("lfu-log-factor", &S::lfu_log_factor, Int(0, kIntMax),
           "how slowly the counters of use grow"),
    Served("lfu-decay-time", &S::lfu_decay_time, Int(0, kIntMax),
           "minutes in which they fall by one; 0: never"),
    Served("activedefrag", &S::activedefrag, kYesNo,
           "move entries off pages of memory that are sparsely used, so that those come free"),
    Served("active-defrag-ignore-bytes", &S::active_defrag_ignore_bytes, Memory(1),
           "that resident memory may be above what is used before any is moved"),
    Served("active-defrag-threshold-lower", &S::active_defrag_threshold_lower, Int(0, 1000),
           "the same in percent of what is used"),
    Served("active-defrag-threshold-upper", &S::active_defrag_threshold_upper, Int(0, 1000),
           "percent at which active-defrag-cycle-max is spent"),
    Served("active-defrag-cycle-min", &S::active_defrag_cycle_min, Int(1, 99),
           "percent of the time that moving takes at least"),
    Served("active-defrag-cycle-max", &S::active_defrag_cycle_max, Int(1, 99),
           "percent of the time that moving takes at most"),
    // behaviour
    Served("lazyfree-lazy-user-flush", &S::lazyfree_lazy_user_flush, kYesNo, "FLUSHALL is ASYNC"),
    Served("slowlog-log-slower-than", &S::slowlog_log_slower_than, Int(-1, kLongMax),
           "µs from which on SLOWLOG shows a command; -1: none"),
    Served("slowlog-max-len", &S::slowlog_max_len, Int(0, kLongMax), "entries of the slow log"),
    Served("slowlog-max-argc", &S::slowlog_max_argc, Int(2, 4096),
           "arguments that an entry of the slow log keeps; unless 32: and how many there were"),
    Served("latency-monitor-threshold", &S::latency_monitor_threshold, Int(0, kLongMax),
           "ms from which on LATENCY notes what took so long; 0: nothing"),
    Served("latency-tracking", &S::latency_tracking, kYesNo, "a histogram of times a command"),
    Served("latency-tracking-info-percentiles", &kPercentileList, kList, "those that INFO shows"),
    Served("metrics-prefixes", &kMetricsPrefixList, kList,
           "begins of names of locks whose waits /metrics and INFO tell apart; 32 at most")
        .Own(),
    Served("busy-reply-threshold", &S::busy_reply_threshold, Int(0, kLongMax),
           "ms after which a script is slow: others get BUSY")
        .Alias("lua-time-limit"),
    Served("notify-keyspace-events", &kEventClasses, kAnyText,
           "classes of keyspace events that are published, a letter each"),
    Served("sluice-expired-value", &S::sluice_expired_value, kYesNo,
           "a string whose time is over is published on __keyexpired@<db>__:<key>")
        .Own(),
    Served("notify-value-max", &S::notify_value_max, Memory(0, 1024 * 1024),
           "bytes of such a value that are published; the rest is cut off")
        .Own(),
    Served("lbucket-second-buckets", &S::lbucket_second_buckets, kYesNo,
           "LBUCKET.COUNTs of one second drain together, as redis-leaky-bucket has it"),
    Served("list-max-listpack-size", &S::list_max_listpack_size, Int(-kIntMax - 1, kIntMax),
           "elements of a list's chunk; -1 to -5: its 4 to 64 kilobytes")
        .Alias("list-max-ziplist-size"),
    // locks
    Served("fence-retention", &S::fence_retention, Int(0, kLongMax),
           "ms for which the last token of a lock without a holder is remembered"),
    Served("fence-memory-max", &S::fence_memory_max, Memory(0), "bytes of such memories"),
    Served("fence-mark-file", &S::fence_mark_file, kAnyText,
           "file that keeps fencing tokens growing over restarts; empty: none")
        .OwnImmutable(),
    Served("request-id-memory-max", &S::request_id_memory_max, Memory(0),
           "bytes of answers that are remembered of requests with an ID; 0: none is"),
    Served("lock-priority-patience", &S::lock_priority_patience, Int(1, kPriorityPatienceMax),
           "ms in which a request that waits for a lock rises by one PRIORITY"),
    Served(
        "lock-session-timeout", &S::lock_session_timeout, Int(0, kIntMax),
        "ms after which a client that holds SESSION locks and does not answer is gone; 0: never"),
    Served("lock-restart-grace", &S::lock_restart_grace, OneOf(kRestartGrace),
           "after a start in which grants may be missing, locks that no owner is known to hold are "
           "held back; auto: with appendonly"),
    Served("lock-restart-grace-max", &S::lock_restart_grace_max, Int(0, kLongMax),
           "ms for which they are at most; a longer lease is answered once it is on disk"),
    Served("lock-min-replicas", &S::lock_min_replicas, Int(0, kIntMax),
           "Sluices that follow this one and must have a grant before it is answered; 0: none"),
    Served("lock-replicas-timeout", &S::lock_replicas_timeout, Int(1, kIntMax),
           "ms for which an answer waits for them; then a grant is taken back"),
    Served("replicas-required", &S::replicas_required, OneOf(kReplicasRequired),
           "what they must have: grants, renewals and their kin; or all that is changed"),
    Served("tracking-table-max-keys", &S::tracking_table_max_keys, Int(0, kLongMax),
           "keys that are remembered for client-side caching; 0: any number"),
};

}  // namespace

std::span<const Option> ServedOptions() { return kServedOptions; }

}  // namespace sluice
