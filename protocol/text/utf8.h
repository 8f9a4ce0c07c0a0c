// UTF-8, read strictly: no surrogates, nothing longer than it has to be, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

// How many bytes of a character begin `text`; 0: none does. Requires: it is not empty.
size_t CharacterLength(std::string_view text);
// Its number. Requires: `character` is all of one, and nothing else.
char32_t CharacterOf(std::string_view character);

// Whether `text` consists of characters alone, or is empty.
bool IsUtf8(std::string_view text);

}  // namespace sluice
