// For tables whose rows have much in common: category, group, version and complexity may be said
// once, behind them. A row that says such a thing itself keeps it.
//
//   constexpr CommandSpec kListed[] = {{.name = "HTTL", ...}, {.name = "HSETEX", ...}};
//   constexpr auto kRows = RowsOf(kListed, {.categories = kCatHash, .group = "hash", ...});
#pragma once

#include <array>
#include <cstddef>

#include "server/dispatch/command.h"

namespace sluice {

// The result is a constant too, so the work is done by the compiler, and a table costs nothing at
// the start.
template <size_t N>
constexpr std::array<CommandSpec, N> RowsOf(const CommandSpec (&listed)[N],
                                            const CommandSpec& shared) {
  std::array<CommandSpec, N> rows;
  for (size_t i = 0; i < N; ++i) {
    CommandSpec& row = rows[i] = listed[i];
    if (row.categories == 0) row.categories = shared.categories;
    if (row.group.empty()) row.group = shared.group;
    if (row.since.empty()) row.since = shared.since;
    if (row.complexity.empty()) row.complexity = shared.complexity;
  }
  return rows;
}

}  // namespace sluice
