// See limit_statistics.h.
#include "server/limits/limit_statistics.h"

namespace sluice {

LimitStatistics::Decided LimitStatistics::All() const {
  Decided all;
  for (const Decided& each : by_algorithm) {
    all.taken += each.taken;
    all.refused += each.refused;
  }
  return all;
}

void LimitStatistics::CountFor(std::string_view policy, bool allowed) {
  auto found = by_policy.find(policy);
  if (found == by_policy.end()) {
    if (by_policy.size() >= kPolicyCountsMax) return;
    found = by_policy.emplace(policy, Decided{}).first;
  }
  found->second.Count(allowed);
}

}  // namespace sluice
