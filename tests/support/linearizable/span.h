// Spans of operations, as clients see them: from the call to the answer, in µs of true time. What
// an operation does it does at one moment of its span. Without an answer that may be at any moment
// after the call, or never.
//
// Only an answer that came before a call shows an order: at the same µs they overlap.
#pragma once

#include <cstdint>
#include <limits>

namespace sluice {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kBeforeAll = std::numeric_limits<int64_t>::min();

struct Span {
  int64_t call = 0;
  int64_t answer = kNever;
  bool answered() const { return answer != kNever; }
};

// Sums of moments: never plus something is never.
inline int64_t Later(int64_t moment, int64_t by) {
  return moment >= kNever - by ? kNever : moment + by;
}

}  // namespace sluice
