// The rows of the options that Redis knows and Sluice does not serve, for options.h: the value that
// is true here, and why there is no other.
#include "protocol/text/glob.h"
#include "server/config/lists.h"
#include "server/config/options.h"
#include "server/config/value.h"

namespace sluice {
namespace {

constexpr OptionShape List(std::string (*check)(OptionValues)) {
  return {OptionShape::Kind::kList, 0, 0, {}, check};
}
constexpr OptionShape Text(std::string (*check)(OptionValues)) {
  return {OptionShape::Kind::kText, 0, 0, {}, check};
}
constexpr OptionShape kCount = Int(0, kIntMax);
constexpr OptionShape kFromOne = Int(1, kIntMax);
constexpr OptionShape kLongCount = Int(0, kLongMax);
constexpr OptionShape kPort = Int(0, 65535);

constexpr std::string_view kDisklessLoad[] = {"disabled", "on-empty-db", "swapdb"};
constexpr std::string_view kFacilities[] = {"user",   "local0", "local1", "local2", "local3",
                                            "local4", "local5", "local6", "local7"};
constexpr std::string_view kOomAdjust[] = {"no", "yes", "relative", "absolute"};
constexpr std::string_view kSanitize[] = {"no", "yes", "clients"};

// Reasons, as the end of a sentence: "Sluice does not serve option 'x': <reason>".
constexpr std::string_view kNoBus = "servers of a cluster have no bus here, but a map";
constexpr std::string_view kNoMoves = "servers of a cluster elect nobody: a Sentinel does";
constexpr std::string_view kExactExpiry =
    "every key expires by a timer of its own, nothing is sampled";
constexpr std::string_view kOneThread = "it runs in one thread";
constexpr std::string_view kFewMoved = "values of more than 64 parts stay where they are";
constexpr std::string_view kOwnTables = "its tables and allocator need no such tuning";
constexpr std::string_view kProcess = "it leaves this to the system that starts it";
constexpr std::string_view kNoModules = "it loads no modules";
constexpr std::string_view kNoOldLua = "scripts never have getfenv, setfenv and newproxy";
constexpr std::string_view kAlwaysLazy = "big values are always freed in slices";

constexpr Option kUnserved[] = {
    // --- durability
    NoEffect("no-appendfsync-on-rewrite", "no", kYesNo, "a sync never stops it"),
    NoEffect("aof-use-rdb-preamble", "yes", kYesNo, "a base is always an RDB file"),
    NoEffect("aof-rewrite-incremental-fsync", "yes", kYesNo,
             "rdb-save-incremental-fsync says it of all files"),
    NoEffect("aof-disable-auto-gc", "no", kYesNo, "it keeps no old files"),
    NoEffect("rdb-del-sync-files", "no", kYesNo, "the file of a full sync always goes"),
    NoEffect("sanitize-dump-payload", "no", OneOf(kSanitize), "payloads are always checked"),

    // --- replication
    NoEffect("replica-ignore-disk-write-errors", "no", kYesNo,
             "a replica goes on while its log cannot be written"),
    Refused("repl-diskless-load", "disabled", OneOf(kDisklessLoad),
            "all data of a full sync are on the disk before the old ones go"),
    // Redis's own tests set these.
    NoEffect("watchdog-period", "0", kCount, "it has no software watchdog").Hidden(),
    NoEffect("use-exit-on-panic", "no", kYesNo, "a panic always ends it by SIGABRT").Hidden(),

    // --- cluster
    NoEffect("cluster-port", "0", kPort, kNoBus).Immutable(),
    NoEffect("cluster-node-timeout", "15000", kLongCount, kNoBus),
    NoEffect("cluster-announce-bus-port", "0", kPort, kNoBus),
    NoEffect("cluster-announce-tls-port", "0", kPort, "a server of the map has one port"),
    NoEffect("cluster-migration-barrier", "1", kCount, kNoMoves),
    NoEffect("cluster-replica-validity-factor", "10", kCount, kNoMoves)
        .Alias("cluster-slave-validity-factor"),
    NoEffect("cluster-replica-no-failover", "no", kYesNo, kNoMoves)
        .Alias("cluster-slave-no-failover"),
    NoEffect("cluster-link-sendbuf-limit", "0", Memory(), kNoBus),

    // --- security
    Refused("tls-cluster", "no", kYesNo, kNoBus),
    Refused("lua-enable-deprecated-api", "no", kYesNo, kNoOldLua).Immutable().Hidden(),

    // --- tuning
    NoEffect("hz", "10", IntMovedTo(1, 500), kExactExpiry),
    NoEffect("dynamic-hz", "yes", kYesNo, kExactExpiry),
    NoEffect("active-expire-effort", "1", Int(1, 10), kExactExpiry),
    NoEffect("activerehashing", "yes", kYesNo, kOwnTables),
    NoEffect("active-defrag-max-scan-fields", "1000", Int(1, kLongMax), kFewMoved),
    NoEffect("lazyfree-lazy-user-del", "no", kYesNo, kAlwaysLazy),
    NoEffect("lazyfree-lazy-expire", "no", kYesNo, kAlwaysLazy),
    NoEffect("lazyfree-lazy-eviction", "no", kYesNo, kAlwaysLazy),
    NoEffect("lazyfree-lazy-server-del", "no", kYesNo, kAlwaysLazy),
    NoEffect("list-compress-depth", "0", kCount, "its lists are not compressed"),
    NoEffect("jemalloc-bg-thread", "yes", kYesNo, kOwnTables),
    NoEffect("disable-thp", "yes", kYesNo, kOwnTables).Immutable(),
    NoEffect("io-threads", "1", Int(1, 128), kOneThread).Immutable(),
    NoEffect("io-threads-do-reads", "no", kYesNo, kOneThread).Immutable(),
    NoEffect("server_cpulist", "", kAnyText, kProcess).Immutable(),
    NoEffect("bio_cpulist", "", kAnyText, kOneThread).Immutable(),
    NoEffect("aof_rewrite_cpulist", "", kAnyText, kOneThread).Immutable(),
    NoEffect("bgsave_cpulist", "", kAnyText, kOneThread).Immutable(),
    NoEffect("syslog-enabled", "no", kYesNo, "it logs to logfile or to standard output")
        .Immutable(),
    NoEffect("syslog-ident", "redis", kAnyText, "it does not log to syslog").Immutable(),
    NoEffect("syslog-facility", "local0", OneOf(kFacilities), "it does not log to syslog")
        .Immutable(),
    NoEffect("oom-score-adj", "no", OneOf(kOomAdjust), kProcess),
    NoEffect("oom-score-adj-values", "0 200 800", List(CheckOomScores), kProcess),
    NoEffect("crash-log-enabled", "yes", kYesNo, "it leaves a core dump, not a report of its own"),
    NoEffect("crash-memcheck-enabled", "yes", kYesNo, "it does not test the memory"),
    NoEffect("socket-mark-id", "0", Int(0, 4294967295), kProcess).Immutable(),
    NoEffect("always-show-logo", "no", kYesNo, "it shows none").Immutable(),
    NoEffect("set-proc-title", "yes", kYesNo, "its process keeps its name").Immutable(),
    NoEffect("proc-title-template", "{title} {listen-addr} {server-mode}", Text(CheckTitleTemplate),
             "its process keeps its name"),
    NoEffect("ignore-warnings", "", kAnyText, "it refuses no kernel"),
};

constexpr CommandDirective kCommandDirectives[] = {{"user", 1, SIZE_MAX}, {"rename-command", 2, 2}};

constexpr RefusedDirective kRefusedDirectives[] = {
    {"loadmodule", kNoModules},
    {"sentinel", "it is no Sentinel; run redis-sentinel beside it"},
};

constexpr std::string_view kIgnoredDirectives[] = {
    "list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands"};

}  // namespace

std::span<const Option> UnservedOptions() { return kUnserved; }
std::span<const CommandDirective> CommandDirectives() { return kCommandDirectives; }
std::span<const RefusedDirective> RefusedDirectives() { return kRefusedDirectives; }
std::span<const std::string_view> IgnoredDirectives() { return kIgnoredDirectives; }

}  // namespace sluice
