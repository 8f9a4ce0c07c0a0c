// OutputBound: how much may wait for a client under a limit of client-output-buffer-limit. Redis
// keeps a client's first answers in a buffer of up to 16 KB of its own that limits do not count, so
// that a limit of one byte still lets a client read short answers, and set the limit back. Here all
// bytes count, and a limit is 16 KB at least. What strangers and replicas may have is not raised.
//
//   OutputBound(0)  → 0, no limit      OutputBound(1)  → 16384      OutputBound(1000000)  → 1000000
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

inline constexpr uint64_t kLeastOutputBound = 16 * 1024;

constexpr uint64_t OutputBound(uint64_t limit_bytes) {
  return limit_bytes == 0 ? 0 : std::max(limit_bytes, kLeastOutputBound);
}

}  // namespace sluice
