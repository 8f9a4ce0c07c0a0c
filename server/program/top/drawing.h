// Drawing: facts and a size in, lines out. Knows no terminal: each line is text of no more columns
// than there are, and a tone, which Terminal turns into colours, or leaves out.
//
//   sluice 0.1.0 (redis 7.0.15)  127.0.0.1:6379  up 3d04h      what it is
//   clients, turns, disk                                       how it is
//   LIMITS ...                                                 what limiters decide
//   LOCKS ...  LOCK  MODE  HOLDER  LEASE  WAIT  LONGEST        who holds what, and who waits
//   SLOW ...                                                   what took long
//   q quits ...                                                or what is wrong
//
// Locks get the room that the rest leaves; on a small screen the slow log goes first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/program/top/facts.h"
#include "server/program/top/screen_line.h"

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
  std::string_view keys;             // what the last line says while there is no trouble
};

// At most size.rows lines, of at most size.columns columns each.
std::vector<ScreenLine> Draw(const TopView& view, ScreenSize size, TerminalText terminal);

}  // namespace sluice
