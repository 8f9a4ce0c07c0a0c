// The words of usage lines (CommandSpec::usage; the grammar is in
// server/commands/admin/usage_grammar.h), and whether a line is sound. RowsAreSound asks that while
// the tables are compiled, so that COMMAND DOCS never shows a tree that was guessed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

// Tokens without letters, and what they are called.
struct UsageSign {
  std::string_view sign;
  std::string_view name;
};
inline constexpr UsageSign kUsageSigns[] = {{"$", "new_id"},
                                            {"*", "auto_id"},
                                            {"=", "equal"},
                                            {"~", "approximately"},
                                            {"\"\"", "empty_string"}};

// The types that a value may have with it: "value:integer".
inline constexpr std::string_view kUsageTypes[] = {"double", "integer", "key", "string"};

// "lease-ms:integer(1..2^46)" in its parts; those that it has not are empty. "ip:port" is a name.
struct UsageValue {
  std::string_view name;
  std::string_view type;
  std::string_view range;  // "1..2^46": both ends are included; of a string its bytes
};

constexpr bool IsUsageOpening(std::string_view word) { return word == "[" || word == "<"; }
constexpr bool IsUsageClosing(std::string_view word) { return word == "]" || word == ">"; }
constexpr bool IsUsageVersion(std::string_view word) { return word.starts_with('@'); }
// "index=", the name of the brackets that follow.
constexpr bool IsUsageBlockName(std::string_view word) {
  return word.size() > 1 && word.ends_with('=');
}

constexpr std::string_view UsageSignName(std::string_view word) {
  for (const UsageSign& row : kUsageSigns) {
    if (row.sign == word) return row.name;
  }
  return {};
}

// A word with a capital and no small letter, or a sign: digits and hyphens decide nothing.
constexpr bool IsUsageToken(std::string_view word) {
  if (!UsageSignName(word).empty()) return true;
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return std::ranges::any_of(word, is_upper) && std::ranges::none_of(word, is_lower);
}

// A colon before an unknown word is part of the name: "ip:port".
constexpr UsageValue SplitUsageValue(std::string_view word) {
  UsageValue value{.name = word};
  const size_t bracket = word.find('(');
  if (bracket != std::string_view::npos && word.ends_with(')')) {
    value.range = word.substr(bracket + 1, word.size() - bracket - 2);
    word = word.substr(0, bracket);
  }
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos || colon == 0) return value;
  const std::string_view type = word.substr(colon + 1);
  if (std::ranges::find(kUsageTypes, type) == std::end(kUsageTypes)) return value;
  value.name = word.substr(0, colon);
  value.type = type;
  return value;
}

// Brackets and bars are words of their own, with or without spaces around them; "@" begins a word.
constexpr std::vector<std::string_view> SplitUsage(std::string_view usage) {
  constexpr std::string_view kMarks = "[]|<>";
  std::vector<std::string_view> words;
  while (!usage.empty()) {
    size_t size = 1;
    if (usage[0] != ' ') {
      if (kMarks.find(usage[0]) == std::string_view::npos)
        size = std::min(usage.find_first_of(" []|<>@", 1), usage.size());
      words.push_back(usage.substr(0, size));
    }
    usage.remove_prefix(size);
  }
  return words;
}

// --- is it sound?

namespace usage {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

constexpr bool AllOf(std::string_view text, bool (*fits)(char)) {
  return !text.empty() && std::ranges::all_of(text, fits);
}

// "@6.2.0" or "@-6.2.0".
constexpr bool IsVersion(std::string_view word) {
  word.remove_prefix(1);
  if (word.starts_with('-')) word.remove_prefix(1);
  return AllOf(word, [](char c) { return IsDigit(c) || c == '.'; }) && IsDigit(word.front()) &&
         IsDigit(word.back());
}

constexpr bool IsTokenWord(std::string_view word) {
  return !UsageSignName(word).empty() || AllOf(word, [](char c) {
    return (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '-' || c == '_';
  });
}

constexpr bool IsName(std::string_view word) {
  return word == "ip:port" || (AllOf(word,
                                     [](char c) {
                                       return (c >= 'a' && c <= 'z') || IsDigit(c) || c == '-' ||
                                              c == '_' || c == '/';
                                     }) &&
                               !IsDigit(word.front()));
}

// One end of a range: "1024", "-1", "2^46", "2^53-1".
constexpr bool IsBound(std::string_view text) {
  if (text.starts_with("2^")) {
    text.remove_prefix(2);
    if (text.ends_with("-1")) text.remove_suffix(2);
  } else if (text.starts_with('-')) {
    text.remove_prefix(1);
  }
  return AllOf(text, IsDigit);
}

constexpr bool IsRange(std::string_view range) {
  const size_t dots = range.find("..");
  return dots != std::string_view::npos && IsBound(range.substr(0, dots)) &&
         IsBound(range.substr(dots + 2));
}

constexpr bool IsValue(std::string_view word) {
  const UsageValue value = SplitUsageValue(word);
  if (!IsName(value.name)) return false;
  return value.range.empty() || (IsRange(value.range) && !value.type.empty());
}

// "key", "key:type", "TOKEN" or "name=TOKEN".
constexpr bool IsItem(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals < word.size() - 1) {
    return IsName(word.substr(0, equals)) && IsTokenWord(word.substr(equals + 1));
  }
  return IsUsageToken(word) ? IsTokenWord(word) : IsValue(word);
}

}  // namespace usage

// Whether a usage line follows the grammar: brackets close as they open, no alternative is empty,
// "..." ends a sequence, versions stand behind items, and every word is a TOKEN, a name, or one
// with a type that there is.
constexpr bool UsageIsSound(std::string_view usage) {
  constexpr size_t kDepthMax = 16;
  std::array<char, kDepthMax> open{};
  size_t depth = 0;
  size_t items = 0;  // of the sequence that is read
  const std::vector<std::string_view> words = SplitUsage(usage);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : std::string_view();
    if (IsUsageOpening(word)) {
      if (depth == kDepthMax) return false;
      open[depth++] = word[0];
      items = 0;
    } else if (IsUsageClosing(word)) {
      if (items == 0 || depth == 0) return false;
      if (open[--depth] != (word[0] == ']' ? '[' : '<')) return false;
      items = 1;  // of the sequence around it: the brackets
    } else if (word == "|") {
      if (items == 0 || next.empty()) return false;
      items = 0;
    } else if (word == "...") {
      if (items == 0 || !(next.empty() || next == "|" || IsUsageClosing(next))) return false;
    } else if (IsUsageVersion(word)) {
      if (items == 0 || !usage::IsVersion(word)) return false;
    } else if (IsUsageBlockName(word) && IsUsageOpening(next)) {
      if (!usage::IsName(word.substr(0, word.size() - 1))) return false;
    } else {
      if (!usage::IsItem(word)) return false;
      ++items;
    }
  }
  return depth == 0 && (items > 0 || words.empty());
}

}  // namespace sluice
