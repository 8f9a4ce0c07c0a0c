// InfoField: the value of a line `name:value` in the text of INFO, or of another command that
// answers in its form. O(bytes of the text).
#pragma once

#include <string>
#include <string_view>

#include "protocol/text/concat.h"

namespace sluice {

// Empty: there is no such line, or it has no value.
inline std::string_view InfoField(std::string_view text, std::string_view name) {
  const std::string begin = Concat(name, ":");
  size_t at = text.starts_with(begin) ? 0 : text.find(Concat("\n", begin));
  if (at == text.npos) return {};
  at += text[at] == '\n' ? 1 : 0;
  const std::string_view value = text.substr(at + begin.size());
  return value.substr(0, value.find_first_of("\r\n"));
}

}  // namespace sluice
