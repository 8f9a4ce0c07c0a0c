// The elements that SORT can sort: those of a list, a set or a sorted set.
//
// Copies, because what SORT looks up meanwhile may free the value. Their bytes stand in one string,
// with one allocation for all instead of one for each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/keyspace/entry.h"

namespace sluice {

// Copies of elements, their bytes side by side.
class Elements {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const;  // valid until the next Add
  void Add(std::string_view text);

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

// SORT answers WRONGTYPE for any other type.
bool IsSortable(const Entry& entry);
// Precondition of both: IsSortable.
size_t CountElements(const Entry& entry);
// The elements `first` to `first` + `count` in the order of their type, which may be turned round;
// a set has none. Requires: there are so many.
Elements ElementsOf(const Entry& entry, bool backwards, size_t first, size_t count);

}  // namespace sluice
