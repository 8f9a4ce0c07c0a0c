// LockOrder: which locks are shown, in which order; and which part of them is in view.
//
// Locks that are waited for come first, whatever their number, the longest wait before all others;
// then those whose lease ends soonest, and last those that are bound to a connection alone. Where
// so many are listed that not all are known, the order is the server's and that of their names: it
// must not depend on what was looked at.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/program/top/facts.h"

namespace sluice {

using LockList = std::vector<const LockFacts*>;

// Those with `part` in their names. The facts must outlive the list.
LockList LocksInOrder(const std::vector<LockFacts>& locks, std::string_view part);

// Rows that a lock takes: its own, and one for each waiter that is shown.
size_t RowsOf(const LockFacts& lock);

// The locks that are in view: so many of the list, from the first on.
struct LockWindow {
  size_t first = 0;
  size_t count = 0;
};

// The window moved no further than is needed to have the selected lock in it, and to leave no rows
// empty at its end. The last lock's waiters may stand out of view.
LockWindow WindowOn(std::span<const LockFacts* const> list, size_t selected, size_t first,
                    size_t rows);

}  // namespace sluice
