// Ranges of indexes as LRANGE and ZRANGE take them: the first and the last one, from the end where
// they are negative.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice {

// [first, end), cut to what is there.
struct IndexRange {
  size_t first = 0;
  size_t end = 0;
  size_t count() const { return end - first; }
};

// `first` and `last` as the client wrote them, both included; -1 is the last of `size` elements. An
// index before the start counts as 0, one behind the end as the last. An empty range is no error.
// O(1).
constexpr IndexRange RangeOf(int64_t first, int64_t last, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (first < 0) first = std::max<int64_t>(first + count, 0);
  if (last < 0) last += count;
  last = std::min(last, count - 1);
  if (first > last) return {};
  return {static_cast<size_t>(first), static_cast<size_t>(last) + 1};
}

}  // namespace sluice
