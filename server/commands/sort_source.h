// What SORT can sort: the elements of a list, a set or a sorted set.
#pragma once

#include <string>
#include <vector>

#include "storage/entry.h"

namespace sluice {

bool IsSortable(const Entry& entry);
// All elements in the order of their type, which may be turned round; a set has none. Precondition:
// IsSortable.
std::vector<std::string> ElementsOf(const Entry& entry, bool backwards);

}  // namespace sluice
