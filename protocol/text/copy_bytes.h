// CopyBytes: memcpy of keys, values and words, which are short. A call of memcpy, and what it makes
// its caller save, costs several times as much as moving them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

// 11 bytes: one word of bytes 0 to 7, one of bytes 3 to 10. No byte outside of the texts is read or
// written. The two may overlap.
inline void CopyBytes(char* to, const char* from, size_t size) {
  // Both words are loaded before one is stored.
  const auto copy = [&]<typename Word>(Word first) {
    Word last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + size - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
  };
  if (size >= 8) {
    if (size > 16) {
      std::memmove(to, from, size);
      return;
    }
    copy(uint64_t{});
  } else if (size >= 4) {
    copy(uint32_t{});
  } else if (size >= 2) {
    copy(uint16_t{});
  } else if (size == 1) {
    *to = *from;
  }
}

}  // namespace sluice
