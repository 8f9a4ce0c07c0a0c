// A double as an integer, without its fraction, for numbers that a client or a script gave: in C++
// the conversion of one that does not fit is undefined.
#pragma once

#include <concepts>
#include <limits>

namespace sluice {

// As x86-64 converts, which Redis relies on: the smallest integer stands for every number that does
// not fit, NaN included.
template <std::signed_integral Integer>
constexpr Integer Truncated(double number) {
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<Integer>::min());
  // -2147483648.5 fits an int32_t: its fraction is cut off. (kLeast - 1 is kLeast for int64_t.)
  const bool fits = (number > kLeast - 1 || number == kLeast) && number < -kLeast;
  return fits ? static_cast<Integer>(number) : std::numeric_limits<Integer>::min();
}

}  // namespace sluice
