// OBJECT REFCOUNT and DEBUG OBJECT: Redis shares the objects of small integers, and shows so.
// Nothing is shared here, but test suites look.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "server/config/settings.h"
#include "storage/keyspace/entry.h"

namespace sluice {

// Redis keeps the integers 0 to 9999 ready and answers INT_MAX for a value that is one of them; any
// other value has exactly one reference. With a policy that looks at uses each key has a value of
// its own, since the use is noted there.
inline int64_t ReferenceCount(const Entry& entry, const Settings& settings) {
  constexpr int64_t kSharedIntegersEnd = 10000;
  const std::string_view policy = settings.maxmemory_policy;
  const bool looks_at_uses =
      settings.maxmemory > 0 && (policy.ends_with("-lru") || policy.ends_with("-lfu"));
  const bool shared = !looks_at_uses && entry.is_string() && entry.is_integer() &&
                      entry.integer() >= 0 && entry.integer() < kSharedIntegersEnd;
  return shared ? std::numeric_limits<int>::max() : 1;
}

}  // namespace sluice
