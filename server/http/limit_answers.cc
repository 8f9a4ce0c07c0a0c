// /api/limits: what limiters decide, and which keys they refuse most.

#include <algorithm>
#include <utility>
#include <vector>

#include "server/http/answers.h"
#include "server/http/limiter_json.h"
#include "server/http/text/shown_name.h"
#include "server/limits/limit_waiters.h"

namespace sluice {
namespace {

constexpr size_t kRefusedMax = 20;
constexpr size_t kPoliciesMax = 20;

using Decided = LimitStatistics::Decided;

void WriteAlgorithms(JsonText& json, const LimitStatistics& statistics) {
  json.Key("algorithms").Array();
  for (size_t i = 0; i < statistics.by_algorithm.size(); ++i) {
    const Decided& decided = statistics.by_algorithm[i];
    json.Object()
        .Field("name", LimitAlgorithmName(static_cast<LimitAlgorithm>(i)))
        .Field("taken", decided.taken)
        .Field("refused", decided.refused)
        .End();
  }
  json.End();
}

// Writes the policies that refused most. O(policies).
void WritePolicies(JsonText& json, const LimitStatistics& statistics) {
  using Counted = std::pair<std::string_view, const Decided*>;
  std::vector<Counted> all;
  all.reserve(statistics.by_policy.size());
  for (const auto& [name, decided] : statistics.by_policy) all.emplace_back(name, &decided);
  const size_t shown = std::min(all.size(), kPoliciesMax);
  const auto refused = [](const Counted& one) { return one.second->refused; };
  std::ranges::partial_sort(all, all.begin() + static_cast<ptrdiff_t>(shown), std::greater(),
                            refused);
  json.Key("policies").Array();
  for (size_t i = 0; i < shown; ++i) {
    json.Object().Key("name");
    WriteName(json, all[i].first);
    json.Field("taken", all[i].second->taken).Field("refused", all[i].second->refused).End();
  }
  json.End().Field("more_policies", all.size() - shown);
}

void WriteRefused(JsonText& json, const PageCall& call, const RefusedKeys& refused) {
  const Now now = MomentOf(call);
  json.Key("refused").Array();
  for (const RefusedKeys::Row* const row : refused.Top(kRefusedMax)) {
    const KeyNameView name{row->db, row->key};
    const Entry* const entry = EntryAt(call, name, now);
    json.Object().Field("db", row->db).Key("name");
    WriteName(json, row->key);
    json.Field("count", row->count).Field("excess", row->excess);
    if (entry) WriteLimiter(json, call, name, *entry, now);
    json.End();
  }
  json.End().Field("refused_long_names", refused.too_long());
}

}  // namespace

HttpAnswer AnswerLimits(const PageCall& call) {
  ApiQuery query;
  HttpAnswer answer;
  if (!ReadQuery(call, query, answer)) return answer;
  LimitService& limits = call.parts.Get<LimitService>();
  JsonText json;
  json.Object().Field("waiting", call.parts.Get<LimitWaiters>().waiting());
  WriteAlgorithms(json, limits.statistics());
  WritePolicies(json, limits.statistics());
  if (limits.refused()) WriteRefused(json, call, *limits.refused());
  json.End();
  return JsonAnswer(json);
}

}  // namespace sluice
