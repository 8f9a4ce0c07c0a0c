// The number of a database, as an argument.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "protocol/text/number_text.h"
#include "server/dispatch/command.h"

namespace sluice {

// Reads a 32-bit number as Redis does for database indexes. Null: the error has been answered;
// `fault` is its sentence, or empty for Redis's general ones.
inline std::optional<int> ReadDbNumber(CommandCall& call, std::string_view text,
                                       std::string_view fault = {}) {
  const std::optional<int64_t> number = ParseInt64(text);
  constexpr int64_t kLow = std::numeric_limits<int>::min();
  constexpr int64_t kHigh = std::numeric_limits<int>::max();
  if (number && *number >= kLow && *number <= kHigh) return static_cast<int>(*number);
  if (!fault.empty()) {
    call.reply.Error(fault);
  } else if (!number) {
    call.reply.Error(ErrorCode::kNotInteger);
  } else {
    call.reply.Error("ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  return std::nullopt;
}

// Whether there is such a database; if not, the error has been answered.
inline bool DbExists(CommandCall& call, int index) {
  if (index >= 0 && index < call.keyspace.databases()) return true;
  call.reply.Error(ErrorCode::kDbIndexOutOfRange);
  return false;
}

}  // namespace sluice
