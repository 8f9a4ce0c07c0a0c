// A double as an integer, without its fraction, for numbers that a client or a script gave: in C++
// the conversion of one that does not fit is undefined.
#pragma once

#include <concepts>
#include <limits>

namespace sluice {

// What x86-64 gives, and so what Redis relies on: the smallest integer for all that does not fit,
// NaN included.
template <std::signed_integral Integer>
constexpr Integer Truncated(double number) {
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<Integer>::min());
  // From kLeast - 1, exclusively, where a double can tell the two apart.
  const bool fits = (number > kLeast - 1 || number == kLeast) && number < -kLeast;
  return fits ? static_cast<Integer>(number) : std::numeric_limits<Integer>::min();
}

}  // namespace sluice
