// From tables of CommandRows to the CommandSpecs that a server keeps.
//
//   constexpr CommandRow kListed[] = {{.name = "HTTL", ...}, {.name = "HSETEX", ...}};
//   constexpr auto kRows = RowsOf(kListed, {.categories = kCatHash, .group = "hash", ...});
//   CommandFamily HashesFamily() { return {"hashes", kSpecsOf<kRows>}; }
//
// All of them are constants: the work is done by the compiler, and a table costs nothing at the
// start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "server/dispatch/command.h"
#include "server/dispatch/usage_words.h"

namespace sluice {

// For rows that have much in common: category, group, version and complexity may be said once,
// behind them. A row that says such a thing itself keeps it.
template <size_t N>
constexpr std::array<CommandRow, N> RowsOf(const CommandRow (&listed)[N],
                                           const CommandRow& shared) {
  std::array<CommandRow, N> rows;
  for (size_t i = 0; i < N; ++i) {
    CommandRow& row = rows[i] = listed[i];
    if (row.categories == 0) row.categories = shared.categories;
    if (row.group.empty()) row.group = shared.group;
    if (row.since.empty()) row.since = shared.since;
    if (row.complexity.empty()) row.complexity = shared.complexity;
  }
  return rows;
}

// Whether a table is in order: names are upper case and unique, a row reads or writes
// but not both, keys lie inside the arity, documentation is present and its usage can be parsed.
constexpr bool RowsAreSound(std::span<const CommandRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const CommandRow& row = rows[i];
    if (row.name.empty() || row.arity == 0 || row.summary.empty() || row.group.empty())
      return false;
    if ((row.flags & kWrite) && (row.flags & kReadOnly)) return false;
    if (!UsageIsSound(row.usage)) return false;
#ifndef __SANITIZE_ADDRESS__  // with UBSan, g++ 12 takes no extern function for non-null in a
                              // constant
    if (!row.run && row.subcommands.empty()) return false;
#endif
    for (const char c : row.name) {
      if (c >= 'a' && c <= 'z') return false;
    }
    const int arity_min = row.arity < 0 ? -row.arity : row.arity;
    // The first keys are always there, but for arity -1 (that of modules, which count their
    // arguments themselves); those of a further spec may be left out (PFMERGE's sources), as may
    // channels.
    const KeySpec& first = row.keys.specs[0];
    if (row.keys.count > 0 && row.arity != -1 && first.keyword.empty() &&
        !(first.flags & kKeyNotKey) && first.begin >= arity_min) {
      return false;
    }
    for (size_t j = 0; j < i; ++j) {
      if (rows[j].name == row.name) return false;
    }
  }
  return true;
}

constexpr std::array<std::string_view, 9> TextsOf(const CommandRow& row) {
  return {row.group,   row.since,   row.complexity,       row.usage,
          row.summary, row.history, row.deprecated_since, row.replaced_by,
          row.tips};
}

// The texts of rows, one after another.
constexpr size_t TextBytes(std::span<const CommandRow> rows) {
  size_t bytes = 0;
  for (const CommandRow& row : rows) {
    for (const std::string_view text : TextsOf(row)) bytes += text.size();
  }
  return bytes;
}

template <const auto& kRows>
constexpr auto kTextsOf = [] {
  std::array<char, TextBytes(kRows)> texts;
  static_assert(sizeof texts <= UINT16_MAX);
  size_t at = 0;
  for (const CommandRow& row : kRows) {
    for (const std::string_view text : TextsOf(row)) {
      for (const char character : text) texts[at++] = character;
    }
  }
  return texts;
}();

// What a server keeps of a table, which is checked on the way.
template <const auto& kRows>
constexpr auto kSpecsOf = [] {
  static_assert(RowsAreSound(kRows));
  std::array<CommandSpec, std::size(kRows)> specs;
  size_t end = 0;
  const auto next = [&end](std::string_view text) {
    const TextPlace place{static_cast<uint16_t>(end), static_cast<uint16_t>(text.size())};
    end += text.size();
    return place;
  };
  for (size_t i = 0; i < specs.size(); ++i) {
    const CommandRow& row = kRows[i];
    // In the order of TextsOf.
    specs[i] = {.name = row.name,
                .arity = row.arity,
                .flags = row.flags,
                .categories = row.categories,
                .keys = row.keys,
                .run = row.run,
                .subcommands = row.subcommands,
                .group = next(row.group),
                .since = next(row.since),
                .complexity = next(row.complexity),
                .usage = next(row.usage),
                .summary = next(row.summary),
                .history = next(row.history),
                .deprecated_since = next(row.deprecated_since),
                .replaced_by = next(row.replaced_by),
                .tips = next(row.tips),
                .key_flags = row.key_flags,
                .request_flags = row.request_flags,
                .find_keys = row.find_keys,
                .inner_command = row.inner_command,
                .channels = row.channels,
                .texts = kTextsOf<kRows>.data()};
  }
  return specs;
}();

}  // namespace sluice
