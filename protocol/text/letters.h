// Letters and spaces: ASCII alone, whatever the locale, as Redis folds all names.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace sluice {

// isspace of the C locale.
constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr char UpperCase(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

inline std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = UpperCase(c);
  return upper;
}

// Whether they are the same in any case.
inline bool IsSameInAnyCase(std::string_view a, std::string_view b) {
  const auto fold = [](char c) { return LowerCase(c); };
  return std::ranges::equal(a, b, {}, fold, fold);
}

}  // namespace sluice
