// OBJECT REFCOUNT and DEBUG OBJECT: Redis shares the objects of small integers, and shows so.
// Nothing is shared here, but test suites look.
#pragma once

#include <cstdint>
#include <limits>

#include "storage/keyspace/entry.h"

namespace sluice {

// Redis keeps the integers 0 to 9999 ready and answers INT_MAX for a value that is one of them; any
// other value has exactly one reference.
inline int64_t ReferenceCount(const Entry& entry) {
  constexpr int64_t kSharedIntegersEnd = 10000;
  const bool shared = entry.is_string() && entry.is_integer() && entry.integer() >= 0 &&
                      entry.integer() < kSharedIntegersEnd;
  return shared ? std::numeric_limits<int>::max() : 1;
}

}  // namespace sluice
