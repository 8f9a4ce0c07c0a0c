// See parts.h: the numbers of the types.
#include "server/core/parts.h"

#include <atomic>

#include "absl/base/macros.h"

namespace sluice {

size_t Parts::NextNumber() {
  static std::atomic<size_t> next{0};
  const size_t number = next++;
  ABSL_HARDENING_ASSERT(number < kTypesMax);
  return number;
}

}  // namespace sluice
