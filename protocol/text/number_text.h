// Numbers as Redis reads and writes them in text. Parsing is as strict or as lax as Redis's own
// functions, named at each; the whole text must always be used. Nothing here depends on the locale,
// which belongs to the host program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr size_t kInt64TextMax = 20;             // "-9223372036854775808"
inline constexpr size_t kDoubleTextMax = 32;            // %.17g
inline constexpr size_t kLongDoubleTextMax = 5 * 1024;  // %.17Lf, and what is read

// Redis's string2ll: "0", or an optional '-' and digits without a leading zero, within int64.
std::optional<int64_t> ParseInt64(std::string_view text);
// Redis's string2ull (parts of stream ids): string2ll if it is not negative, else what strtoull
// takes: leading spaces, a sign, leading zeros. Like any C string it ends at its first NUL.
std::optional<uint64_t> ParseUint64(std::string_view text);
// The cursor of SCAN: what strtoul takes, but no leading space; empty is 0.
std::optional<uint64_t> ParseCursor(std::string_view text);
// Redis's string2d (scores): "inf", "-inf", "+5", hex and exponents are fine; empty text, spaces,
// NaN, and overflow to infinity or underflow to zero are not.
std::optional<double> ParseDouble(std::string_view text);
// Takes what strtod takes to the end of the C string (bounds of score ranges): spaces before it,
// and no text at all, which is 0; beyond the range it is infinite or 0. NaN is refused.
std::optional<double> ParseStrtod(std::string_view text);
// Redis's string2ld (INCRBYFLOAT): as ParseDouble, below kLongDoubleTextMax bytes.
std::optional<long double> ParseLongDouble(std::string_view text);

// Decimal text written at `out` (at least kInt64TextMax bytes); returns its end.
char* FormatInt64(char* out, int64_t value);
std::string Int64Text(int64_t value);
// As Redis's addReplyDouble: %.17g, "inf", "-inf", "nan"; at most kDoubleTextMax bytes at `out`.
char* FormatDouble(char* out, double value);
std::string DoubleText(double value);
// As Redis's ld2string in human mode: %.17Lf with trailing zeros and a trailing point removed.
std::string HumanLongDoubleText(long double value);

}  // namespace sluice
