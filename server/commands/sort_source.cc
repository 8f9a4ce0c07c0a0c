#include "server/commands/sort_source.h"

#include <algorithm>

#include "storage/types/list.h"

namespace sluice {

bool IsSortable(const Entry& entry) {
  return entry.type() == ValueType::kList || entry.type() == ValueType::kSet ||
         entry.type() == ValueType::kSortedSet;
}

std::vector<std::string> ElementsOf(const Entry& entry, bool backwards) {
  std::vector<std::string> elements;
  if (entry.type() == ValueType::kList) {
    const List& list = static_cast<const List&>(entry.value());
    elements.reserve(list.size());
    list.Walk(0, ListEnd::kBack, [&](size_t, std::string_view text) {
      elements.emplace_back(text);
      return true;
    });
  }
  if (backwards) std::reverse(elements.begin(), elements.end());
  return elements;
}

}  // namespace sluice
