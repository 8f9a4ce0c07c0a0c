// See utf8.h.
#include "protocol/text/utf8.h"

namespace sluice {

size_t CharacterLength(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && at(1) < 0xa0) return 0;
  if (first == 0xed && at(1) > 0x9f) return 0;
  if (first == 0xf0 && at(1) < 0x90) return 0;
  if (first == 0xf4 && at(1) > 0x8f) return 0;
  return length;
}

char32_t CharacterOf(std::string_view character) {
  constexpr unsigned char kBitsOfFirst[] = {0x7f, 0x7f, 0x1f, 0x0f, 0x07};  // by length
  const auto first = static_cast<unsigned char>(character[0]);
  char32_t number = first & kBitsOfFirst[character.size()];
  for (const char c : character.substr(1)) {
    number = number << 6 | (static_cast<unsigned char>(c) & 0x3f);
  }
  return number;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace sluice
