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

// Whether a table is in order: names are upper case and unique, a row reads or writes but not both,
// keys, channels and a command inside lie within the arity, documentation is present and its usage
// can be parsed.
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
    // arguments themselves); those of a further spec may be left out (PFMERGE's sources).
    const KeySpec& first = row.keys.specs[0];
    if (row.keys.count > 0 && row.arity != -1 && first.keyword.empty() &&
        first.begin >= arity_min) {
      return false;
    }
    // A word that is looked for may be a value: only the handler's own reading tells.
    for (const KeySpec& spec : row.keys.all()) {
      if (!spec.keyword.empty() && !row.find_keys) return false;
    }
    if (row.channels.begin >= arity_min || row.inner_command >= arity_min) return false;
    for (size_t j = 0; j < i; ++j) {
      if (rows[j].name == row.name) return false;
    }
  }
  return true;
}

// The spec of a row. `take` is given its texts, one after another, and says where each is.
template <typename Take>
constexpr CommandSpec SpecOf(const CommandRow& row, Take take) {
  return {.name = row.name,
          .arity = row.arity,
          .flags = row.flags,
          .categories = row.categories,
          .keys = row.keys,
          .run = row.run,
          .subcommands = row.subcommands,
          .group = take(row.group),
          .since = take(row.since),
          .complexity = take(row.complexity),
          .usage = take(row.usage),
          .summary = take(row.summary),
          .history = take(row.history),
          .deprecated_since = take(row.deprecated_since),
          .replaced_by = take(row.replaced_by),
          .tips = take(row.tips),
          .key_flags = row.key_flags,
          .request_flags = row.request_flags,
          .find_keys = row.find_keys,
          .inner_command = row.inner_command,
          .tells_of_grant = row.tells_of_grant,
          .channels = row.channels};
}

// The texts of a table in one.
template <const auto& kRows>
constexpr auto kTextsOf = [] {
  constexpr size_t kBytes = [] {
    size_t bytes = 0;
    for (const CommandRow& row : kRows) {
      SpecOf(row, [&bytes](std::string_view text) {
        bytes += text.size();
        return TextPlace{};
      });
    }
    return bytes;
  }();
  static_assert(kBytes <= UINT16_MAX);
  std::array<char, kBytes> texts;
  size_t at = 0;
  for (const CommandRow& row : kRows) {
    SpecOf(row, [&](std::string_view text) {
      for (const char character : text) texts[at++] = character;
      return TextPlace{};
    });
  }
  return texts;
}();

// The specs that a server keeps of a table, which is checked on the way.
template <const auto& kRows>
constexpr auto kSpecsOf = [] {
  static_assert(RowsAreSound(kRows));
  std::array<CommandSpec, std::size(kRows)> specs;
  size_t at = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    specs[i] = SpecOf(kRows[i], [&at](std::string_view text) {
      const TextPlace place{static_cast<uint16_t>(at), static_cast<uint16_t>(text.size())};
      at += text.size();
      return place;
    });
    specs[i].texts = kTextsOf<kRows>.data();
  }
  return specs;
}();

}  // namespace sluice
