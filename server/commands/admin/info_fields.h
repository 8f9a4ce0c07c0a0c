// A description of every field of INFO: the rows behind `sluice --print-info` and docs/info.md.
//
// A row stands for a field that info_*.cc writes, in the order in which it is written; a test
// compares the two both ways. A `*` at the end of a name stands for what is counted by command, by
// error, by database or by algorithm.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

struct InfoFieldRow {
  std::string_view section;  // its title
  std::string_view name;
  std::string_view unit;  // empty: it is a number of things, or a word
  std::string_view meaning;
};

std::span<const InfoFieldRow> InfoFieldRows();
// The row of a field that INFO has written; null: there is none.
const InfoFieldRow* FindInfoField(std::string_view section, std::string_view name);

// All of them as a page of Markdown: a table for each section.
std::string InfoPage();

}  // namespace sluice
