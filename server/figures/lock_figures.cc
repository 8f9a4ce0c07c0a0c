// Figures of locks: those that are held or linger, and what has come of all that was asked.

#include "protocol/text/number_text.h"
#include "server/commit/grant_promise.h"
#include "server/config/config.h"
#include "server/figures/sections.h"
#include "server/locks/lock_service.h"
#include "server/observe/statistics.h"

namespace sluice {
namespace {

template <auto count>
constexpr auto kLockCount = Of<&LockService::counts, count>;

void WriteGraceSeconds(From from, MetricText& text) {
  text.Value(static_cast<double>(from.Get<LockService>().GraceLeftMs()) * kMilli);
}

void WriteHandOverTimes(From from, MetricText& text) {
  text.Value(from.Get<Statistics>().hand_over_us, kShortBoundsUs, kMicro);
}

// --- waits, since the start or CONFIG RESETSTAT

// A prefix has 15 lines in /metrics, with those in vain.
constexpr int64_t kWaitMs[] = {10, 50, 250, 1000, 5000, 15'000, 60'000, 300'000};
constexpr MetricText::Buckets kWaitBuckets = {kWaitMs, kMilli};

const LockWaitStatistics& WaitsOf(From from) { return from.Get<LockService>().wait_statistics(); }

// The percentiles that latency-tracking-info-percentiles names; the unit is in the field's name.
std::string PercentilesText(From from, const Histogram& histogram) {
  std::string shown;
  for (const double percent : from.Get<Config>().settings().latency_tracking_percentiles) {
    ConcatTo(shown, shown.empty() ? "p" : ",p", ShortText(percent), '=',
             histogram.Percentile(percent));
  }
  return shown;
}

std::string InVainText(const LockWaitStatistics::Waits& waits) {
  std::string shown;
  for (size_t i = 0; i < kLockWaitInVainWords.size(); ++i) {
    ConcatTo(shown, i == 0 ? "" : ",", kLockWaitInVainWords[i], '=', waits.in_vain[i]);
  }
  return shown;
}

void WriteWaitSeconds(From from, MetricText& text) {
  text.Value({}, WaitsOf(from).all().granted_ms, kWaitBuckets);
}

void WriteWaitsInVain(From from, MetricText& text) {
  for (size_t i = 0; i < kLockWaitInVainWords.size(); ++i) {
    text.Value({{"reason", kLockWaitInVainWords[i]}},
               static_cast<double>(WaitsOf(from).all().in_vain[i]));
  }
}

void WritePrefixLines(From from, InfoText& text) {
  for (const auto& [prefix, waits] : WaitsOf(from).by_prefix()) {
    const std::string percentiles = PercentilesText(from, waits.granted_ms);
    text.Field(Concat("locks_wait_prefix_", SafeName(prefix)), "count=", waits.granted_ms.count(),
               ",ms_sum=", waits.granted_ms.sum(), percentiles.empty() ? "" : ",", percentiles, ',',
               InVainText(waits));
  }
}

void WritePrefixSeconds(From from, MetricText& text) {
  for (const auto& [prefix, waits] : WaitsOf(from).by_prefix()) {
    text.Value({{"prefix", prefix}}, waits.granted_ms, kWaitBuckets);
  }
}

void WritePrefixesInVain(From from, MetricText& text) {
  for (const auto& [prefix, waits] : WaitsOf(from).by_prefix()) {
    for (size_t i = 0; i < kLockWaitInVainWords.size(); ++i) {
      text.Value({{"prefix", prefix}, {"reason", kLockWaitInVainWords[i]}},
                 static_cast<double>(waits.in_vain[i]));
    }
  }
}

// By GraceReason.
constexpr std::string_view kGraceReasons[] = {"none", "start", "link-was-down",
                                              "grants-did-not-wait", "data-not-whole"};

// Counters are never set back, but for those of waits: a monitor takes differences. Prefixes are
// families of their own, so that no sum counts a wait twice.
constexpr Figure kLockFigures[] = {
    {"locks_held", "", "locks with a holder, now; also those that linger by MINHOLD",
     Of<&LockService::held>, Gauge("sluice_locks_held", "Locks with a holder."), Plot::kLocks},
    {"locks_waiting", "", "requests in queues, now; one of LOCK.MACQUIRE counts once",
     Of<&LockService::waiting>, Gauge("sluice_lock_waiters", "Requests that wait for a lock."),
     Plot::kWaiters},
    {"locks_remembered", "", "tokens of locks without a holder, now (`fence-retention`)",
     [](From from) { return from.Get<LockService>().memory().size(); },
     Gauge("sluice_locks_remembered", "Free locks whose last token is remembered.")},
    {"locks_granted", "", "since the start, never set back, as all that follow",
     kLockCount<&LockCounts::granted>, Counter("sluice_locks_granted", "Tokens that were given."),
     Plot::kGranted},
    {"locks_handed_over", "", "grants to a request that has waited",
     kLockCount<&LockCounts::hand_overs>,
     Counter("sluice_locks_handed_over", "Of them those to a waiter.")},
    {"locks_released", "", "holds that were given back", kLockCount<&LockCounts::released>,
     Counter("sluice_locks_released", "Holds that were given back.")},
    {"locks_expired", "", "holds whose lease ran out", kLockCount<&LockCounts::expired>,
     Counter("sluice_locks_expired", "Holds whose lease was over.")},
    {"locks_broken", "", "holds that ended by LOCK.BREAK, DEL and the like",
     kLockCount<&LockCounts::broken>,
     Counter("sluice_locks_broken", "Holds that were taken away.")},
    {"locks_deadlocks", "", "requests refused as they would have closed a circle of waits",
     kLockCount<&LockCounts::deadlocks>,
     Counter("sluice_lock_deadlocks", "Requests refused for a circle of waits.")},
    {"locks_fences_refused", "", "FENCED that was answered STALE", kLockCount<&LockCounts::fenced>,
     Counter("sluice_lock_fences_refused", "FENCED requests with a stale token.")},
    {"locks_taken_back", "", "grants that too few replicas had in time (`lock-min-replicas`)",
     kLockCount<&LockCounts::taken_back>,
     Counter("sluice_locks_taken_back", "Grants that too few replicas had in time.")},
    {"locks_waiting_for_replicas", "", "grants that wait for replicas, now",
     [](From from) { return from.Get<LockService>().replica_waits().size(); },
     Gauge("sluice_locks_waiting_for_replicas", "Grants that wait for replicas.")},
    {"locks_replicas_behind", "",
     "1 while replicas lack what they had not acknowledged in time: nothing is granted",
     [](From from) { return from.Get<GrantPromise>().is_behind(); }},
    {"locks_replicas_fell_behind", "", "how often they did, since the start",
     [](From from) { return from.Get<GrantPromise>().times_behind(); },
     Counter("sluice_locks_replicas_fell_behind", "How often replicas were too late.")},
    {"locks_restart_grace", "",
     "1 while names without a known owner are held back after a restart or a promotion",
     [](From from) { return from.Get<LockService>().GraceLeftMs() > 0; }},
    {"locks_restart_grace_left_ms", "ms", "for so long yet", Of<&LockService::GraceLeftMs>,
     Gauge("sluice_lock_grace_seconds", "For so long unknown locks are held back yet.",
           WriteGraceSeconds)},
    {"locks_restart_grace_reason", "",
     "why: `start`, `link-was-down`, `grants-did-not-wait`, `data-not-whole` (the last three of a "
     "replica that was promoted), or `none`",
     [](From from) {
       return kGraceReasons[static_cast<size_t>(from.Get<LockService>().grace_reason())];
     }},
    {"locks_wait_count", "",
     "requests that waited and had their lock then; this and those that follow: since the start or "
     "CONFIG RESETSTAT",
     [](From from) { return WaitsOf(from).all().granted_ms.count(); },
     Buckets("sluice_lock_wait_seconds", "How long requests waited for a lock until they had it.",
             WriteWaitSeconds)},
    {"locks_wait_ms_sum", "ms", "so long they waited, in all",
     [](From from) { return WaitsOf(from).all().granted_ms.sum(); }},
    {"locks_wait_ms_percentiles", "ms",
     "so long they waited: the percentiles that `latency-tracking-info-percentiles` names",
     [](From from) { return PercentilesText(from, WaitsOf(from).all().granted_ms); }},
    {"locks_wait_in_vain", "",
     "requests that waited for nothing: `timeout`, `turned_away` (CLIENT UNBLOCK, a later request "
     "of the owner, a key of another type), `closed` (the client has gone), `deadlock` (refused at "
     "once)",
     [](From from) { return InVainText(WaitsOf(from).all()); },
     Counter("sluice_lock_waits_in_vain", "Requests that waited for a lock and did not get it.",
             WriteWaitsInVain)},
    {"locks_wait_prefix_*", "",
     "of each prefix in `metrics-prefixes`: `count`, `ms_sum`, percentiles (ms), and those in "
     "vain",
     WritePrefixLines,
     Buckets("sluice_lock_prefix_wait_seconds",
             "The same of locks whose names begin so (metrics-prefixes).", WritePrefixSeconds)},

    {.metric = Counter("sluice_lock_prefix_waits_in_vain",
                       "Of them those that did not get their lock.", WritePrefixesInVain)},
    {.metric =
         Buckets("sluice_lock_hand_over_seconds",
                 "From the begin of the turn in which a waiter was granted a lock to its answer.",
                 WriteHandOverTimes)},
};

}  // namespace

std::span<const Figure> LockFigures() { return kLockFigures; }

}  // namespace sluice
