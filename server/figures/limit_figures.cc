// Figures of limiters: what they have decided, by algorithm and by policy, and which callers wait.
// Requests count that were granted or refused; PEEK decides nothing, and SHADOW, the trial of a
// limit, is counted apart. Counts are since the start or CONFIG RESETSTAT.

#include <algorithm>
#include <utility>
#include <vector>

#include "server/figures/sections.h"
#include "server/limits/limit_service.h"
#include "server/limits/limit_waiters.h"
#include "server/limits/request_ids.h"

namespace sluice {
namespace {

using Decided = LimitStatistics::Decided;

// Policies that are shown one by one: those that were asked most. The others are shown as one,
// which has no name.
constexpr size_t kPoliciesShown = 200;

template <auto count>
constexpr auto kDecided = Of<&FigureSources::decided, count>;

FigureValue Policies(From from) { return from.Get<LimitService>().policies().size(); }

// limits_window, limits_rolling ...: "taken=5,refused=2", also for those that were never asked for.
void WriteAlgorithmLines(From from, InfoText& text) {
  const LimitStatistics& statistics = from.Get<LimitService>().statistics();
  for (size_t i = 0; i < statistics.by_algorithm.size(); ++i) {
    const Decided& each = statistics.by_algorithm[i];
    text.Field(Concat("limits_", LimitEncoding(static_cast<LimitAlgorithm>(i))),
               "taken=", each.taken, ",refused=", each.refused);
  }
}

void WriteDecided(std::string_view label, std::string_view name, const Decided& decided,
                  MetricText& text) {
  text.Value({{label, name}, {"decision", "taken"}}, static_cast<double>(decided.taken));
  text.Value({{label, name}, {"decision", "refused"}}, static_cast<double>(decided.refused));
}

void WriteByAlgorithm(From from, MetricText& text) {
  const LimitStatistics& statistics = from.Get<LimitService>().statistics();
  for (size_t i = 0; i < statistics.by_algorithm.size(); ++i) {
    WriteDecided("algorithm", LimitEncoding(static_cast<LimitAlgorithm>(i)),
                 statistics.by_algorithm[i], text);
  }
}

void WriteByPolicy(From from, MetricText& text) {
  const LimitStatistics& statistics = from.Get<LimitService>().statistics();
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

void WriteShadow(From from, MetricText& text) {
  const Decided& shadow = from.Get<LimitService>().statistics().shadow;
  text.Value({{"decision", "taken"}}, static_cast<double>(shadow.taken));
  text.Value({{"decision", "refused"}}, static_cast<double>(shadow.refused));
}

constexpr Figure kLimitFigures[] = {
    {"limits_taken", "",
     "requests that were granted; all but those that are told as now: since the start or CONFIG "
     "RESETSTAT",
     kDecided<&Decided::taken>, kNoMetric, Plot::kTaken},
    {"limits_refused", "", "requests that were refused", kDecided<&Decided::refused>, kNoMetric,
     Plot::kRefused},
    {"limits_shadow_allowed", "", "of LIMIT.TAKE with SHADOW, which counts apart",
     Of<&LimitService::statistics, &LimitStatistics::shadow, &Decided::taken>,
     Counter("sluice_limit_shadow_decisions", "Of requests with SHADOW.", WriteShadow)},
    {"limits_shadow_refused", "", "likewise",
     Of<&LimitService::statistics, &LimitStatistics::shadow, &Decided::refused>},
    {"limits_waiting", "", "callers that wait, now", Of<&LimitWaiters::waiting>,
     Gauge("sluice_limit_waiters", "Requests that wait for a limiter.")},
    {"limits_waited", "", "requests that had to wait",
     Of<&LimitService::statistics, &LimitStatistics::waited>,
     Counter("sluice_limit_waited", "Requests that ever had to.")},
    {"request_ids", "", "answers that are remembered of requests with an ID, now",
     Of<&RequestIds::remembered>, Gauge("sluice_request_ids", "Requests with an ID, remembered.")},
    {"request_id_bytes", "bytes", "that they take (`request-id-memory-max`)",
     Of<&RequestIds::remembered_bytes>},
    {"request_ids_repeated", "", "requests that were answered from there",
     Of<&RequestIds::repeated>,
     Counter("sluice_request_ids_repeated", "Requests with an ID that came again.")},
    {"request_ids_evicted", "", "answers that were forgotten before their time, for want of room",
     Of<&RequestIds::evicted>,
     Counter("sluice_request_ids_evicted", "Answers forgotten before their time.")},
    {"limit_policies", "", "of LIMIT.POLICY, now", Policies,
     Gauge("sluice_limit_policies", "Named policies.")},
    {"limits_*", "", "of each algorithm: `taken`, `refused`", WriteAlgorithmLines,
     Counter("sluice_limit_decisions", "What limiters decided.", WriteByAlgorithm)},
    {.metric = Counter("sluice_limit_policy_decisions",
                       "The same of requests that named a policy; without a name: all others.",
                       WriteByPolicy)},
};

}  // namespace

std::span<const Figure> LimitFigures() { return kLimitFigures; }

}  // namespace sluice
