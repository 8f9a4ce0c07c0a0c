#include "server/commands/sort_source.h"

#include <algorithm>

#include "storage/types/list.h"
#include "storage/types/set.h"
#include "storage/types/sorted_set.h"

namespace sluice {

bool IsSortable(const Entry& entry) {
  return entry.type() == ValueType::kList || entry.type() == ValueType::kSet ||
         entry.type() == ValueType::kSortedSet;
}

std::vector<std::string> ElementsOf(const Entry& entry, bool backwards) {
  std::vector<std::string> elements;
  const auto add = [&elements](std::string_view text) { elements.emplace_back(text); };
  if (entry.type() == ValueType::kList) {
    static_cast<const List&>(entry.value()).Walk(0, ListEnd::kBack, [&](size_t, auto text) {
      add(text);
      return true;
    });
  } else if (entry.type() == ValueType::kSet) {
    static_cast<const Set&>(entry.value()).ForEach(add);
    return elements;
  } else {
    const auto& set = static_cast<const SortedSet&>(entry.value());
    set.ForEach(set.All(), SortedSet::Direction::kUp, [&](std::string_view name, double) {
      add(name);
      return true;
    });
  }
  if (backwards) std::reverse(elements.begin(), elements.end());
  return elements;
}

}  // namespace sluice
