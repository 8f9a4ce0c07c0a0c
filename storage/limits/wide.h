// 128-bit arithmetic that the algorithms share. Amounts are kept in units in which nothing has to
// be rounded (µs x max, ticks x requests), and those do not fit into 64 bits.
#pragma once

#include <cassert>
#include <cstdint>
#include <limits>

namespace sluice {

using Wide = unsigned __int128;

inline constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

// Divisions of 128 bits cost ten times those of 64, and most numbers are small.
inline Wide DivideDown(Wide dividend, Wide divisor) {
  assert(divisor != 0);
  if (((dividend | divisor) >> 64) == 0)
    return static_cast<uint64_t>(dividend) / static_cast<uint64_t>(divisor);
  return dividend / divisor;
}

// Without dividend + divisor - 1, which could wrap.
inline Wide DivideUp(Wide dividend, Wide divisor) {
  const Wide quotient = DivideDown(dividend, divisor);
  return quotient * divisor == dividend ? quotient : quotient + 1;
}

// The factors are not negative.
inline Wide Product(int64_t a, int64_t b) {
  assert(a >= 0 && b >= 0);
  return Wide{static_cast<uint64_t>(a)} * static_cast<uint64_t>(b);
}

// ceil(part x target / whole), exact though the product has 256 bits. Requires: part <= whole,
// whole > 0, target < 2^127. So the result is at most `target`.
//
// It is the schoolbook multiplication by the bits of `target`, highest first, which keeps quotient
// and remainder instead of the product. For rare events: some 0.5 µs.
inline Wide ScaleUp(Wide part, Wide whole, Wide target) {
  assert(part <= whole && whole > 0 && (target >> 127) == 0 && (whole >> 126) == 0);
  if (part == whole) return target;
  Wide quotient = 0;
  Wide remainder = 0;  // < whole < 2^126: twice that and one `part` more still fit
  for (int bit = 127; bit >= 0; --bit) {
    quotient <<= 1;
    remainder <<= 1;
    if ((target >> bit & 1) != 0) remainder += part;
    for (; remainder >= whole; remainder -= whole) ++quotient;  // at most twice
  }
  return remainder == 0 ? quotient : quotient + 1;
}

// At the ends of int64 instead of wrapping: for times that a client may choose.
inline int64_t SaturatingSum(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : kInt64Max;
}

}  // namespace sluice
