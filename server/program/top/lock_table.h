// LockTable: who holds what, and who waits, as rows of a table.
//
//   LOCK          MODE       HOLDER              LEASE    WAIT     LONGEST
//   build         exclusive  worker-1            12.1s    2        3.4s
//     waits       worker-2                       3.4s, gives up in 26.6s
//
// Locks that are waited for come first, the longest wait before all others, then those whose lease
// ends soonest; a lock that is bound to a connection alone comes after them.
#pragma once

#include <cstddef>
#include <vector>

#include "server/program/top/facts.h"
#include "server/program/top/screen_line.h"

namespace sluice {

// At most `rows` lines, the title among them; none for less than two rows.
std::vector<ScreenLine> LockTable(const std::vector<LockFacts>& locks, size_t rows, size_t columns,
                                  TerminalText terminal);

}  // namespace sluice
