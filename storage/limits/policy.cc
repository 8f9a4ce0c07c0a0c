// See policy.h.
#include "storage/limits/policy.h"

namespace sluice {

// An old policy of the name is replaced.
PolicyTable::SetResult PolicyTable::Set(std::string_view name, const LimitConfig& config) {
  if (name.size() > kPolicyNameBytesMax) return SetResult::kNameTooLong;
  const auto found = policies_.find(name);
  if (found != policies_.end()) {
    found->second = config;
  } else {
    // Only a new name needs room: a full table can still change the ones that it has.
    if (policies_.size() >= kPoliciesMax) return SetResult::kTooMany;
    policies_.emplace(name, config);
  }
  return SetResult::kSet;
}

const LimitConfig* PolicyTable::Find(std::string_view name) const {
  const auto found = policies_.find(name);
  return found == policies_.end() ? nullptr : &found->second;
}

bool PolicyTable::Delete(std::string_view name) {
  const auto found = policies_.find(name);
  if (found == policies_.end()) return false;
  policies_.erase(found);
  return true;
}

std::vector<std::string_view> PolicyTable::Names() const {
  std::vector<std::string_view> names;
  names.reserve(policies_.size());
  for (const auto& [name, config] : policies_) names.push_back(name);
  return names;
}

}  // namespace sluice
