// Drawing: facts, what a person has done, and a size in; lines out. Knows no terminal: each line is
// text of no more columns than there are, and a tone, which Terminal turns into colours, or leaves
// out.
//
//   sluice 0.1.0 (redis 7.0.15)  127.0.0.1:6379  up 3d04h      what it is
//   clients, turns, disk                                       how it is
//   LIMITS ...                                                 what limiters decide
//   LOCKS ...  LOCK  MODE  HOLDER  LEASE  WAIT  LONGEST        who holds what, and who waits
//     12 above, 140 below                                      what the table has no room for
//   SLOW ...                                                   what took long
//   build, held by worker-1                                    the selected lock, or a question
//   q quits ...                                                or what is wrong
//
// Locks get half of the screen, if there are so many: before that is so, the slow log goes, then
// the limiters, and last how the server is, as far as it is well.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/program/top/facts.h"
#include "server/program/top/lock_order.h"
#include "server/program/top/screen_line.h"
#include "server/program/top/state.h"

namespace sluice {

// A smaller screen counts as the least: the terminal cuts what it has no room for.
struct ScreenSize {
  static constexpr size_t kColumnsLeast = 20, kRowsLeast = 6;
  size_t columns = 80;
  size_t rows = 24;
};

struct TopView {
  const TopFacts* now = nullptr;     // null: nothing has been learned yet
  const TopFacts* before = nullptr;  // of the same server, for rates; null: totals are shown
  std::string trouble;               // why it is not known how things are now; empty: it is
  const TopState* state = nullptr;   // null: nobody is there who could strike a key
};

struct TopPicture {
  std::vector<ScreenLine> lines;  // at most size.rows, of at most size.columns columns each
  LockWindow window;              // which locks are in view
};

TopPicture Draw(const TopView& view, ScreenSize size, TerminalText terminal);

}  // namespace sluice
