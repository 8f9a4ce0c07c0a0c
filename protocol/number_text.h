// Numbers as Redis reads and writes them in text. All parsing is strict: no spaces, no '+', no
// leading zeros for integers; the whole text must be used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr size_t kInt64TextMax = 20;    // "-9223372036854775808"
inline constexpr size_t kDoubleTextMax = 32;   // %.17g

// Redis's string2ll: "0", or an optional '-' and digits without a leading zero, within int64.
std::optional<int64_t> ParseInt64(std::string_view text);
// Redis's string2ull as SCAN cursors and CLIENT KILL ID use it (strtoull semantics where it does).
std::optional<uint64_t> ParseUint64(std::string_view text);
// Redis's string2d / getDoubleFromObject: strtod on the whole text; "inf", "-inf", "+5", hex and
// exponents are fine; empty text, a leading space, NaN and overflow to infinity are not.
std::optional<double> ParseDouble(std::string_view text);
// The same for INCRBYFLOAT: long double.
std::optional<long double> ParseLongDouble(std::string_view text);

// Decimal text written at `out` (at least kInt64TextMax bytes); returns its end.
char* FormatInt64(char* out, int64_t value);
std::string Int64Text(int64_t value);
// As Redis's addReplyDouble: %.17g, "inf", "-inf", "nan".
std::string DoubleText(double value);
// As Redis's ld2string in human mode: %.17Lf with trailing zeros and a trailing point removed.
std::string HumanLongDoubleText(long double value);

}  // namespace sluice
