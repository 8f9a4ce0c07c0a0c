// See memory_trim.h.
#include "server/net/process/memory_trim.h"

#include <algorithm>

#include "server/net/process/process.h"

// There if the program that links us has put mimalloc in malloc's place.
extern "C" void mi_collect(bool force) __attribute__((weak));

namespace sluice {
namespace {

constexpr int64_t kWorthwhileBytes = 16 << 20;
constexpr int64_t kWorthwhilePart = 8;  // of the memory in use

}  // namespace

uint64_t MemoryTrim::Look(uint64_t used) {
  if (!mi_collect) return 0;
  const auto in_use = static_cast<int64_t>(used);
  const int64_t spare = ReadProcessUsage().resident_bytes - in_use;
  kept_ = std::min(kept_, spare);
  if (spare - kept_ <= std::max(kWorthwhileBytes, in_use / kWorthwhilePart)) return 0;
  mi_collect(true);
  const int64_t left = ReadProcessUsage().resident_bytes - in_use;
  kept_ = left;
  return static_cast<uint64_t>(std::max<int64_t>(0, spare - left));
}

}  // namespace sluice
