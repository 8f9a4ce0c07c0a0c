// SameBytes: equality of names and words, which are short. A call of memcmp costs several times as
// much as comparing them, a tenth of what a pipelined SET takes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "absl/base/attributes.h"

namespace sluice {

namespace same_bytes {

static_assert(std::endian::native == std::endian::little);

// Whether the words at these places differ. They need not be aligned; no byte outside of the texts
// is read.
template <typename Word>
Word Differ(const char* a, const char* b) {
  Word left, right;
  std::memcpy(&left, a, sizeof(Word));
  std::memcpy(&right, b, sizeof(Word));
  return left ^ right;
}

// More than 16 bytes, which is rare enough for a call.
inline bool IsSame(const char* a, const char* b, size_t size) {
  if (size > 32) return std::memcmp(a, b, size) == 0;
  const auto differ = [&](size_t at) { return Differ<uint64_t>(a + at, b + at); };
  return (differ(0) | differ(8) | differ(size - 16) | differ(size - 8)) == 0;
}

template <typename Word>
uint64_t Load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof(Word));
  return word;
}

}  // namespace same_bytes

// So many bytes make one number.
inline constexpr size_t kShortBytes = sizeof(uint64_t);

// The first bytes of a text, at most kShortBytes, as one number, the first in the lowest byte and
// zeros above: two of one length up to that are the same if their numbers are. No byte outside of
// the text is read.
constexpr uint64_t ShortNumber(std::string_view text) {
  const size_t size = text.size();
  if (std::is_constant_evaluated()) {
    uint64_t number = 0;
    for (size_t i = 0; i < size && i < kShortBytes; ++i)
      number |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    return number;
  }
  // Words from both ends overlap in the middle, where they agree.
  const char* const at = text.data();
  if (size >= 8) return same_bytes::Load<uint64_t>(at);
  if (size >= 4)
    return same_bytes::Load<uint32_t>(at) | same_bytes::Load<uint32_t>(at + size - 4)
                                                << (8 * (size - 4));
  if (size >= 2)
    return same_bytes::Load<uint16_t>(at) | same_bytes::Load<uint16_t>(at + size - 2)
                                                << (8 * (size - 2));
  return size == 0 ? 0 : static_cast<unsigned char>(*at);
}

// 11 bytes: one load of bytes 0 to 7, one of bytes 3 to 10; both compared without a branch between.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool SameBytes(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  // Words from both ends overlap in the middle.
  const auto same = [&]<typename Word>(Word) {
    const size_t last = size - sizeof(Word);
    return (same_bytes::Differ<Word>(a.data(), b.data()) |
            same_bytes::Differ<Word>(a.data() + last, b.data() + last)) == 0;
  };
  if (size > 16) [[unlikely]]
    return same_bytes::IsSame(a.data(), b.data(), size);
  if (size >= 8) return same(uint64_t{});
  if (size >= 4) return same(uint32_t{});
  if (size >= 2) return same(uint16_t{});
  return size == 0 || a[0] == b[0];
}

}  // namespace sluice
