// See memory_trim.h.
#include "server/net/memory_trim.h"

#include <algorithm>

#include "server/net/process.h"

// Of the program that links us, if it has put mimalloc in malloc's place.
extern "C" void mi_collect(bool force) __attribute__((weak));

namespace sluice {
namespace {

constexpr int64_t kWorthwhileBytes = 16 << 20;
constexpr int64_t kWorthwhilePart = 8;  // of the memory in use

}  // namespace

void MemoryTrim::Look(uint64_t used) {
  if (!mi_collect) return;
  const auto in_use = static_cast<int64_t>(used);
  const int64_t spare = ReadProcessUsage().resident_bytes - in_use;
  kept_ = std::min(kept_, spare);
  if (spare - kept_ <= std::max(kWorthwhileBytes, in_use / kWorthwhilePart)) return;
  mi_collect(true);
  kept_ = ReadProcessUsage().resident_bytes - in_use;
}

}  // namespace sluice
