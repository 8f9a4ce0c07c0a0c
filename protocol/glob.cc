#include "protocol/glob.h"

#include <cstddef>
#include <utility>

namespace sluice {
namespace {

int Fold(char c, bool ignore_case) {
  const int byte = static_cast<signed char>(c);  // ranges compare as Redis's chars do
  return ignore_case && byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

// Whether `c` is in the class whose '[' is at pattern[at]; `at` moves behind its ']'. A class that
// nobody closed ends with the pattern.
bool InClass(std::string_view pattern, size_t& at, char c, bool ignore_case) {
  const bool negated = ++at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  bool found = false;
  for (; at < pattern.size(); ++at) {
    const size_t left = pattern.size() - at;
    if (pattern[at] == '\\' && left >= 2) {
      found |= pattern[++at] == c;
    } else if (pattern[at] == ']') {
      break;
    } else if (left >= 3 && pattern[at + 1] == '-') {
      int low = static_cast<signed char>(pattern[at]);
      int high = static_cast<signed char>(pattern[at + 2]);
      if (low > high) std::swap(low, high);
      low = Fold(static_cast<char>(low), ignore_case);
      high = Fold(static_cast<char>(high), ignore_case);
      const int byte = Fold(c, ignore_case);
      found |= byte >= low && byte <= high;
      at += 2;
    } else {
      found |= Fold(pattern[at], ignore_case) == Fold(c, ignore_case);
    }
  }
  if (at < pattern.size()) ++at;
  return found != negated;
}

// Matches one character at pattern[at], which is no '*'; `at` moves behind what matched it.
bool TakeOne(std::string_view pattern, size_t& at, char c, bool ignore_case) {
  if (pattern[at] == '?') {
    ++at;
    return true;
  }
  if (pattern[at] == '[') return InClass(pattern, at, c, ignore_case);
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return Fold(pattern[at++], ignore_case) == Fold(c, ignore_case);
}

}  // namespace

// Only the last '*' need be tried again: what stands before it has matched as early as possible.
bool GlobMatches(std::string_view pattern, std::string_view text, bool ignore_case) {
  if (text.empty()) return pattern.empty();
  size_t at = 0;
  size_t star = std::string_view::npos;  // the pattern behind the last '*'
  size_t star_text = 0;                  // and where the text behind it may begin
  for (size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_text = i;
    } else if (at < pattern.size() && TakeOne(pattern, at, text[i], ignore_case)) {
      ++i;
    } else if (star != std::string_view::npos) {
      at = star;
      i = ++star_text;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace sluice
