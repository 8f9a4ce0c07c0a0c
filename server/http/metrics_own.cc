// The figures that only Sluice has: locks, limiters, lateness, turns, the log and snapshots.

#include <algorithm>
#include <vector>

#include "server/config/version.h"
#include "server/engine/facts.h"
#include "server/http/metrics.h"
#include "server/http/readiness_report.h"
#include "server/limits/limit_waiters.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "server/observe/statistics.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

using Kind = MetricText::Kind;

// Policies that are shown one by one: those that were asked most. The others are shown as one,
// which has no name.
constexpr size_t kPoliciesShown = 200;

// µs and ms.
constexpr int64_t kShortUs[] = {50, 100, 250, 500, 1000, 2500, 5000, 10'000, 50'000, 250'000};
constexpr int64_t kSyncUs[] = {100,    250,    500,     1000,      2500,      5000,
                               10'000, 25'000, 100'000, 1'000'000, 10'000'000};
constexpr int64_t kLateMs[] = {0, 1, 2, 5, 10, 25, 100, 1000, 10'000};
constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

struct OwnRow {
  std::string_view name;  // of a counter without "_total"
  Kind kind;
  std::string_view help;
  double (*value)(const Parts& parts);
};

template <auto count>
double Count(const Parts& parts) {
  return static_cast<double>(parts.Get<LockService>().counts().*count);
}

constexpr OwnRow kLockRows[] = {
    {"sluice_locks_held", Kind::kGauge, "Locks with a holder.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<LockService>().held()); }},
    {"sluice_lock_waiters", Kind::kGauge, "Requests that wait for a lock.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<LockService>().waiting()); }},
    {"sluice_locks_remembered", Kind::kGauge, "Free locks whose last token is remembered.",
     [](const Parts& parts) {
       return static_cast<double>(parts.Get<LockService>().memory().size());
     }},
    {"sluice_locks_granted", Kind::kCounter, "Tokens that were given.",
     Count<&LockCounts::granted>},
    {"sluice_locks_handed_over", Kind::kCounter, "Of them those to a waiter.",
     Count<&LockCounts::hand_overs>},
    {"sluice_locks_released", Kind::kCounter, "Holds that were given back.",
     Count<&LockCounts::released>},
    {"sluice_locks_expired", Kind::kCounter, "Holds whose lease was over.",
     Count<&LockCounts::expired>},
    {"sluice_locks_broken", Kind::kCounter, "Holds that were taken away.",
     Count<&LockCounts::broken>},
    {"sluice_lock_deadlocks", Kind::kCounter, "Requests refused for a circle of waits.",
     Count<&LockCounts::deadlocks>},
    {"sluice_lock_fences_refused", Kind::kCounter, "FENCED requests with a stale token.",
     Count<&LockCounts::fenced>},
    {"sluice_lock_grace_seconds", Kind::kGauge, "For so long unknown locks are held back yet.",
     [](const Parts& parts) {
       return static_cast<double>(parts.Get<LockService>().GraceLeftMs()) * kMilli;
     }},
};

constexpr OwnRow kDiskRows[] = {
    {"sluice_log_appended_bytes", Kind::kCounter, "Position of the log: bytes since the start.",
     [](const Parts& parts) {
       return static_cast<double>(parts.Get<LogService>().commits().position());
     }},
    {"sluice_log_lag_bytes", Kind::kGauge, "Of them those that wait for the disk.",
     [](const Parts& parts) { return static_cast<double>(LogLagBytes(parts)); }},
    {"sluice_log_held_answers", Kind::kGauge, "Answers that wait for the disk.",
     [](const Parts& parts) {
       return static_cast<double>(parts.Get<LogService>().commits().held_answers());
     }},
    {"sluice_log_failed_syncs", Kind::kCounter, "Syncs that failed.",
     [](const Parts& parts) {
       return static_cast<double>(parts.Get<LogService>().commits().failed_syncs());
     }},
    {"sluice_log_delayed_syncs", Kind::kCounter, "Seconds whose sync was not over in time.",
     [](const Parts& parts) {
       return static_cast<double>(parts.Get<LogService>().commits().delayed_syncs());
     }},
    {"sluice_log_rewrites", Kind::kCounter, "How often the log was written anew.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<LogService>().rewrites()); }},
    {"sluice_log_faulty", Kind::kGauge, "1: the log cannot be written, so no changes are made.",
     [](const Parts& parts) { return FlagOf(!parts.Get<LogState>().write_fault.empty()); }},
    {"sluice_loaded_bytes", Kind::kGauge, "While data are loaded: so far.",
     [](const Parts& parts) {
       const LogState& state = parts.Get<LogState>();
       return state.loading ? static_cast<double>(state.progress.loaded_bytes) : 0;
     }},
    {"sluice_to_load_bytes", Kind::kGauge, "While data are loaded: in all.",
     [](const Parts& parts) {
       const LogState& state = parts.Get<LogState>();
       return state.loading ? static_cast<double>(state.progress.total_bytes) : 0;
     }},
    {"sluice_snapshot_keys", Kind::kGauge, "Keys that the snapshot in progress began with.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<Snapshots>().keys_in_all()); }},
    {"sluice_snapshot_keys_saved", Kind::kGauge, "Of them those that are written.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<Snapshots>().keys_done()); }},
    {"sluice_snapshots_saved", Kind::kCounter, "Snapshots that were saved.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<Snapshots>().saves()); }},
    {"sluice_snapshot_last_duration_seconds", Kind::kGauge, "What the last one took; -1: none.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<Snapshots>().last_took_s()); }},
    {"sluice_snapshot_faulty", Kind::kGauge, "1: snapshots are to be saved, and cannot be.",
     [](const Parts& parts) { return FlagOf(parts.Get<LogState>().snapshot_fault); }},
};

constexpr OwnRow kTimeRows[] = {
    {"sluice_ready", Kind::kGauge, "1: /readyz says that the server is ready.",
     [](const Parts& parts) { return FlagOf(ReasonsNotReady(parts).empty()); }},
    {"sluice_turns", Kind::kCounter, "Turns of the loop.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<Statistics>().turns); }},
    {"sluice_timers", Kind::kGauge, "Deadlines that are set.",
     [](const Parts& parts) { return static_cast<double>(parts.Get<Facts>().timers()); }},
};

void WriteRows(std::span<const OwnRow> rows, const Parts& parts, MetricText& text) {
  for (const OwnRow& row : rows) {
    text.Begin(row.name, row.kind, row.help);
    text.Value(row.value(parts));
  }
}

// --- waits for locks

// A prefix has 15 lines, with those in vain.
constexpr int64_t kWaitMs[] = {10, 50, 250, 1000, 5000, 15'000, 60'000, 300'000};
constexpr MetricText::Buckets kWaitBuckets = {kWaitMs, kMilli};

// Prefixes are families of their own, so that no sum counts a wait twice.
void WriteLockWaits(const LockWaitStatistics& statistics, MetricText& text) {
  text.Add("sluice_lock_wait_seconds", "How long requests waited for a lock until they had it.",
           statistics.all().granted_ms, kWaitMs, kMilli);
  text.Begin("sluice_lock_waits_in_vain", Kind::kCounter,
             "Requests that waited for a lock and did not get it.");
  for (size_t i = 0; i < kLockWaitInVainWords.size(); ++i) {
    text.Value({{"reason", kLockWaitInVainWords[i]}},
               static_cast<double>(statistics.all().in_vain[i]));
  }
  if (statistics.by_prefix().empty()) return;
  text.Begin("sluice_lock_prefix_wait_seconds", Kind::kHistogram,
             "The same of locks whose names begin so (metrics-prefixes).");
  for (const auto& [prefix, waits] : statistics.by_prefix()) {
    text.Value({{"prefix", prefix}}, waits.granted_ms, kWaitBuckets);
  }
  text.Begin("sluice_lock_prefix_waits_in_vain", Kind::kCounter, "Of them those in vain.");
  for (const auto& [prefix, waits] : statistics.by_prefix()) {
    for (size_t i = 0; i < kLockWaitInVainWords.size(); ++i) {
      text.Value({{"prefix", prefix}, {"reason", kLockWaitInVainWords[i]}},
                 static_cast<double>(waits.in_vain[i]));
    }
  }
}

// --- limiters

using Decided = LimitStatistics::Decided;

void WriteDecided(std::string_view label, std::string_view name, const Decided& decided,
                  MetricText& text) {
  text.Value({{label, name}, {"decision", "taken"}}, static_cast<double>(decided.taken));
  text.Value({{label, name}, {"decision", "refused"}}, static_cast<double>(decided.refused));
}

void WritePolicies(const LimitStatistics& statistics, MetricText& text) {
  using Counted = std::pair<std::string_view, const Decided*>;
  std::vector<Counted> all;
  all.reserve(statistics.by_policy.size());
  for (const auto& [name, decided] : statistics.by_policy) all.emplace_back(name, &decided);
  const auto asked = [](const Counted& one) { return one.second->taken + one.second->refused; };
  const size_t shown = std::min(all.size(), kPoliciesShown);
  std::ranges::nth_element(all, all.begin() + static_cast<ptrdiff_t>(shown), std::greater(), asked);
  Decided others;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < shown) {
      WriteDecided("policy", all[i].first, *all[i].second, text);
    } else {
      others.taken += all[i].second->taken;
      others.refused += all[i].second->refused;
    }
  }
  if (all.size() > shown) WriteDecided("policy", "", others, text);
}

void WriteLimits(const Parts& parts, MetricText& text) {
  LimitService& limits = parts.Get<LimitService>();
  const LimitStatistics& statistics = limits.statistics();
  text.Begin("sluice_limit_decisions", Kind::kCounter, "What limiters decided.");
  for (size_t i = 0; i < statistics.by_algorithm.size(); ++i) {
    WriteDecided("algorithm", LimitEncoding(static_cast<LimitAlgorithm>(i)),
                 statistics.by_algorithm[i], text);
  }
  text.Begin("sluice_limit_policy_decisions", Kind::kCounter,
             "The same of requests that named a policy; without a name: all others.");
  WritePolicies(statistics, text);
  text.Begin("sluice_limit_shadow_decisions", Kind::kCounter, "Of requests with SHADOW.");
  text.Value({{"decision", "taken"}}, static_cast<double>(statistics.shadow.taken));
  text.Value({{"decision", "refused"}}, static_cast<double>(statistics.shadow.refused));
  text.Begin("sluice_limit_waiters", Kind::kGauge, "Requests that wait for a limiter.");
  text.Value(static_cast<double>(parts.Get<LimitWaiters>().waiting()));
  text.Begin("sluice_limit_waited", Kind::kCounter, "Requests that ever had to.");
  text.Value(static_cast<double>(statistics.waited));
  text.Begin("sluice_limit_policies", Kind::kGauge, "Named policies.");
  text.Value(static_cast<double>(limits.policies().size()));
}

void WriteHttp(const HttpFigures& figures, MetricText& text) {
  text.Begin("sluice_http_connections", Kind::kCounter, "Connections to this port.");
  text.Value(static_cast<double>(figures.connections));
  text.Begin("sluice_http_closed_early", Kind::kCounter,
             "Of them those that were closed for their silence or their number.");
  text.Value(static_cast<double>(figures.closed_early));
  text.Begin("sluice_http_requests", Kind::kCounter, "Requests of this port.");
  text.Value(static_cast<double>(figures.requests));
  text.Add("sluice_http_page_seconds", "From a request of this port to its answer.",
           figures.page_us, kShortUs, kMicro);
}

}  // namespace

void WriteOwnMetrics(const Parts& parts, const HttpFigures& figures, MetricText& text) {
  const Statistics& statistics = parts.Get<Statistics>();
  text.Begin("sluice_build_info", Kind::kGauge, "Which Sluice this is.");
  text.Value({{"version", kSluiceVersion}, {"redis_version", kRedisVersion}}, 1);
  WriteRows(kTimeRows, parts, text);
  text.Add("sluice_turn_seconds", "CPU time of a turn: so long clients wait for others.",
           statistics.turn_cpu_us, kShortUs, kMicro);
  text.Add("sluice_expiry_lateness_seconds", "How long after its deadline a key went.",
           statistics.expiry_lateness_ms, kLateMs, kMilli);
  WriteRows(kLockRows, parts, text);
  text.Add("sluice_lock_hand_over_seconds",
           "From the begin of the turn in which a waiter was granted a lock to its answer.",
           statistics.hand_over_us, kShortUs, kMicro);
  WriteLockWaits(parts.Get<LockService>().wait_statistics(), text);
  WriteLimits(parts, text);
  WriteRows(kDiskRows, parts, text);
  text.Add("sluice_log_sync_seconds",
           "From when a sync of the log was asked for until it was done.",
           parts.Get<LogService>().commits().sync_us(), kSyncUs, kMicro);
  WriteHttp(figures, text);
}

}  // namespace sluice
