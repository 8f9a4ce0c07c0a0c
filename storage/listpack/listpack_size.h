// The sizes of elements in a listpack, Redis's compact sequence. Chunks of streams are kept in its
// elements, where a stream's nodes end (and so what XADD MAXLEN ~ trims) follows from these sizes,
// and dumps are made of listpacks.
//
//   total bytes 4 | elements 2 | element ... | 0xff
//   element: encoded number or text | its length, to be read backwards
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/text/number_text.h"

namespace sluice {

inline constexpr size_t kListpackHeaderBytes = 6;
inline constexpr size_t kListpackFrameBytes = 7;  // header and end of an empty one

// The last part of an element: 7 bits a byte of what stands before it.
constexpr size_t ListpackBacklengthBytes(size_t encoded_bytes) {
  if (encoded_bytes <= 127) return 1;
  if (encoded_bytes < 16383) return 2;
  if (encoded_bytes < 2097151) return 3;
  return encoded_bytes < 268435455 ? 4 : 5;
}

// Encoding and back-length together: 2 for 0 .. 127, 3 for 13 bits, then 4, 5, 6 and 10.
constexpr size_t ListpackIntegerBytes(int64_t value) {
  const auto fits = [value](int bits) {
    const int64_t limit = int64_t{1} << (bits - 1);
    return value >= -limit && value < limit;
  };
  const size_t encoded = value >= 0 && value <= 127 ? 1
                         : fits(13)                 ? 2
                         : fits(16)                 ? 3
                         : fits(24)                 ? 4
                         : fits(32)                 ? 5
                                                    : 9;
  return encoded + 1;
}

// Text that is a canonical int64 is kept as a number.
inline std::optional<int64_t> ListpackNumber(std::string_view text) {
  if (text.empty() || text.size() > kInt64TextMax || static_cast<unsigned char>(text[0]) > '9') {
    return std::nullopt;
  }
  return ParseInt64(text);
}

inline size_t ListpackTextBytes(std::string_view text) {
  if (const std::optional<int64_t> number = ListpackNumber(text)) {
    return ListpackIntegerBytes(*number);
  }
  const size_t encoded = text.size() + (text.size() < 64 ? 1 : text.size() < 4096 ? 2 : 5);
  return encoded + ListpackBacklengthBytes(encoded);
}

}  // namespace sluice
