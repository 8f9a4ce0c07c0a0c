// One element of Redis's packed sequences (listpack, ziplist, intset): bytes, or a number that
// stands for its decimal text.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/base/attributes.h"
#include "protocol/text/number_text.h"

namespace sluice {

// A view: valid as long as the bytes that were read, and for a number as long as `scratch`.
struct PackedItem {
  std::string_view text;  // into what was read
  int64_t number = 0;     // instead of it
  bool is_number = false;

  static PackedItem Of(std::string_view text) { return {text, 0, false}; }
  static PackedItem Of(int64_t number) { return {{}, number, true}; }

  // Its bytes; a number's are written into `scratch` (kInt64TextMax bytes).
  std::string_view Text(char* scratch ABSL_ATTRIBUTE_LIFETIME_BOUND) const {
    if (!is_number) return text;
    return {scratch, static_cast<size_t>(FormatInt64(scratch, number) - scratch)};
  }
};

}  // namespace sluice
