// Shares: how the algorithms that keep counts (SLIDING, LOG, LEAKY) count, so that a limiter whose
// max changes keeps the consumed fraction without drifting.
//
// A limiter is `whole` shares, and a unit of cost is whole / max of them. While max never changes a
// share is a unit. The first request under another max that takes something makes the shares finer:
// whole becomes the least common multiple of the two, in which both kinds of units are whole
// numbers. So a fleet that asks with 90 and 100 in turn loses nothing, however often it alternates.
// Only when the multiple would pass kWholeMax is what was consumed rounded up, by one share.
//
// max 4, 3 units consumed; then max becomes 6:
//
//   before   whole  4, consumed 3        a unit is 1 share      1 unit is left
//   after    whole 12, consumed 9        a unit is 2 shares     (12 - 9) / 2 = 1 unit is left
//
//   const Refinement finer = Refine(whole, config.max);     // before something is taken
//   count = finer.Scaled(count);  whole = finer.whole;      // nothing to do if finer.None()
//   count += SharesOf(cost, config.max, whole);
#pragma once

#include <cstdint>
#include <numeric>

#include "storage/limits/wide.h"

namespace sluice {

// Counts of shares, their sums of two and their products with a max stay within 64 and 126 bits.
inline constexpr int64_t kWholeMax = int64_t{1} << 62;

// The shares of `units` of cost, rounded up: exact after Refine for this max.
inline int64_t SharesOf(int64_t units, int64_t max, int64_t whole) {
  if (whole == max) [[likely]]
    return units;
  return static_cast<int64_t>(DivideUp(Product(units, whole), static_cast<Wide>(max)));
}

// The shares of `units` given back, at most `held` (what could be given back).
inline int64_t SharesBack(int64_t units, int64_t max, int64_t whole, int64_t held) {
  const Wide back = DivideDown(Product(units, whole), static_cast<Wide>(max));
  return back < static_cast<Wide>(held) ? static_cast<int64_t>(back) : held;
}

// How many whole units fit into so many shares.
inline int64_t UnitsIn(int64_t shares, int64_t max, int64_t whole) {
  if (whole == max) [[likely]]
    return shares;
  return static_cast<int64_t>(DivideDown(Product(shares, max), static_cast<Wide>(whole)));
}

// The way from one number of shares to another, of which a unit of some max is a whole number.
struct Refinement {
  int64_t from = 1;
  int64_t whole = 1;

  bool None() const { return from == whole; }
  bool IsExact() const { return whole % from == 0; }
  // A count in the new shares; rounded up if they are no multiple of the old.
  int64_t Scaled(int64_t count) const {
    if (IsExact()) return count * (whole / from);
    return static_cast<int64_t>(DivideUp(Product(count, whole), static_cast<Wide>(from)));
  }
};

// Requires: 1 <= whole <= kWholeMax, 1 <= max <= kWholeMax.
inline Refinement Refine(int64_t whole, int64_t max) {
  if (whole % max == 0) return {whole, whole};
  const int64_t factor = max / std::gcd(whole, max);
  if (factor <= kWholeMax / whole) return {whole, whole * factor};
  return {whole, kWholeMax / max * max};
}

}  // namespace sluice
