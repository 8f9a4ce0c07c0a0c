// LockTable: who holds what, and who waits, as rows of a table.
//
//     LOCK          MODE       HOLDER              LEASE    WAIT   LONGEST
//   > build         exclusive  worker-1            12.1s    2      3.4s
//       waits                  worker-2            3.4s, for 26.6s more
//
// On a narrow screen the columns that tell least are left out, so that names have room; the others
// are never cut. Name and holder share what is left: one that needs less leaves it to the other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "server/program/top/facts.h"
#include "server/program/top/screen_line.h"

namespace sluice {

struct LockTableView {
  std::span<const LockFacts* const> locks;
  std::optional<size_t> selected;  // null: there is no mark, nor room for one
  size_t rows = 0;
  size_t columns = 0;
};

// At most so many lines, the title among them; none for less than two.
std::vector<ScreenLine> LockTable(const LockTableView& view, TerminalText terminal);

}  // namespace sluice
