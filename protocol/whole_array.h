// ReadWholeArray: the fast one of the two ways in which a request is parsed (request_parser.h), for
// one that lies in the window as a whole. It is inlined into the loop over a client's requests: a
// call, and what it makes its caller save, takes a third as long as reading "GET key".
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/base/attributes.h"
#include "protocol/argument_list.h"
#include "protocol/limits.h"

namespace sluice {

namespace whole_array {

static_assert(std::endian::native == std::endian::little);
inline constexpr size_t kSmallestBulkBytes = 6;  // "$0\r\n\r\n"
// The most that a bulk takes whose length has one digit: most have. While so much is left of the
// window, such a one lies in it.
inline constexpr int64_t kShortBulkMax = 9;
inline constexpr ptrdiff_t kShortBulkBytes = kSmallestBulkBytes + kShortBulkMax;

// The number of a header of one digit; anything above 9 is none. The mark and the CR are compared
// at once. At least kSmallestBulkBytes must be readable at `at`.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint32_t ReadDigit(const char* at, char mark) {
  uint32_t bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  const uint32_t around = static_cast<unsigned char>(mark) | uint32_t{'\r'} << 16;
  return (bytes & 0x00ff00ff) == around ? (bytes >> 8 & 0xff) - '0' : UINT32_MAX;
}

// Reads the digits of a header such as "*3\r\n" or "$12\r\n" whose mark is at `at`. Returns what
// follows its CRLF, null if this is anything but a plain number of up to nine digits without
// leading zeros: then the careful path decides. At least kSmallestBulkBytes must be readable at
// `at`.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline const char* ReadHeader(const char* at, const char* end,
                                                           char mark, uint32_t& number) {
  number = ReadDigit(at, mark);
  if (number <= 9) [[likely]]
    return at + 4;
  const uint32_t first = static_cast<unsigned char>(at[1]) - '0';
  uint32_t digit = static_cast<unsigned char>(at[2]) - '0';
  if (at[0] != mark || first - 1 > 8 || digit > 9) return nullptr;
  number = first * 10 + digit;
  if (at[3] == '\r') return at + 5;
  const char* const last = at + std::min<ptrdiff_t>(10, end - at - 2);
  for (at += 3; at < last; ++at) {
    if (*at == '\r') return at + 2;
    digit = static_cast<unsigned char>(*at) - '0';
    if (digit > 9) return nullptr;
    number = number * 10 + digit;
  }
  return nullptr;
}

}  // namespace whole_array

// An array that lies in the window as a whole: appends its arguments, and returns its size in
// bytes. 0, and nothing has changed: it does not, or there is anything unusual in it.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline size_t ReadWholeArray(std::string_view window,
                                                          const ParseLimits& limits,
                                                          ArgumentList& arguments) {
  using namespace whole_array;
  // Before a login other limits hold too, and nothing has to be fast.
  if (window.size() < kSmallestBulkBytes || limits.before_login) return 0;
  const int64_t bytes_max = limits.bulk_bytes_max;
  const char* const end = window.data() + window.size();
  uint32_t count;
  const char* at = ReadHeader(window.data(), end, '*', count);
  // So many bulks take so many bytes at the least: room is made below only for what has been sent.
  if (at == nullptr || count == 0 || count > limits.arguments_max ||
      static_cast<ptrdiff_t>(count * kSmallestBulkBytes) > end - at) {
    return 0;
  }
  const size_t before = arguments.size();
  std::string_view* out = arguments.Add(count);
  std::string_view* const out_end = out + count;
  // From here on the last header can begin.
  const char* const last = end - kSmallestBulkBytes;
  const char* const short_until =
      bytes_max >= kShortBulkMax && end - at >= kShortBulkBytes ? end - kShortBulkBytes : at - 1;
  for (; out != out_end; ++out) {
    if (const uint32_t bytes = at <= short_until ? ReadDigit(at, '$') : UINT32_MAX;
        bytes <= kShortBulkMax) [[likely]] {
      *out = {at + 4, bytes};
      at += kSmallestBulkBytes + bytes;
      continue;
    }
    uint32_t bytes;
    if (at > last) [[unlikely]]
      break;
    at = ReadHeader(at, end, '$', bytes);
    if (at == nullptr || bytes > bytes_max || end - at < static_cast<ptrdiff_t>(bytes) + 2)
        [[unlikely]]
      break;
    *out = {at, bytes};
    at += bytes + 2;
  }
  if (out != out_end) {
    arguments.Shorten(before);
    return 0;
  }
  return static_cast<size_t>(at - window.data());
}

}  // namespace sluice
