// The text behind the '?' of the page's requests, read and checked: a stranger's words.
//
//   ApiQuery query;
//   if (const std::string fault = ReadQuery("db=1&match=door%3A*", databases, query); ...
//
// A name that is unknown, or comes twice, is a fault, and so is a value that does not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"

namespace sluice {

// A glob of more bytes is refused.
inline constexpr size_t kMatchBytesMax = 128;

inline constexpr size_t kQueryRowsMax = 100;

struct ApiQuery {
  int db = 0;
  std::string match;               // a glob; empty: all
  std::string type;                // as TYPE tells it; empty: all
  uint64_t cursor = 0;             // with which to go on
  size_t rows = kQueryRowsMax;     // at most, of locks or waits
  std::optional<std::string> key;  // its bytes
  std::optional<int64_t> max_lag_ms;
};

// A sentence, or empty.
Fault ReadQuery(std::string_view text, int databases, ApiQuery& query);

}  // namespace sluice
