// LimitStatistics: decisions of limits, counted for INFO, /metrics and the page. A request that
// waits counts when its wait is over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "storage/limits/limit.h"
#include "storage/limits/policy.h"

namespace sluice {

struct LimitStatistics {
  struct Decided {
    uint64_t taken = 0;
    uint64_t refused = 0;
    void Count(bool allowed) { ++(allowed ? taken : refused); }
  };
  // Entries of by_policy. A name stays when its policy goes.
  static constexpr size_t kPolicyCountsMax = kPoliciesMax;

  std::array<Decided, kLimitAlgorithms> by_algorithm{};
  Decided shadow;                                         // not in by_algorithm
  std::map<std::string, Decided, std::less<>> by_policy;  // which are in by_algorithm, too
  uint64_t waited = 0;                                    // requests that queued

  // The sum of by_algorithm.
  Decided All() const;
  void CountFor(std::string_view policy, bool allowed);
};

}  // namespace sluice
