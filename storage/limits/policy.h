// Named policies: configurations that LIMIT.TAKE and LIMIT.ALL take by name, so that a limit is
// changed in one place. Keys remember numbers, not names: a changed policy reaches a key with its
// next request, as any other change of max or period does.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/limits/limit.h"

namespace sluice {

inline constexpr size_t kPolicyNameBytesMax = 256;
inline constexpr size_t kPoliciesMax = 10'000;

// Bounded by kPoliciesMax names of kPolicyNameBytesMax each. A sorted map, as LIMIT.POLICY
// lists the names in order; look-ups are O(log n).
class PolicyTable {
 public:
  enum class SetResult : uint8_t { kSet, kNameTooLong, kTooMany };

  SetResult Set(std::string_view name, const LimitConfig& config);
  const LimitConfig* Find(std::string_view name) const;  // null when unknown; valid until a change
  bool Delete(std::string_view name);                    // false when unknown
  std::vector<std::string_view> Names() const;           // sorted; valid until the next change
  size_t size() const { return policies_.size(); }
  void Clear() { policies_.clear(); }

 private:
  std::map<std::string, LimitConfig, std::less<>> policies_;
};

}  // namespace sluice
