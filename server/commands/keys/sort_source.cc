// See sort_source.h.
#include "server/commands/keys/sort_source.h"

#include "storage/types/list.h"
#include "storage/types/set.h"
#include "storage/types/sorted_set.h"

namespace sluice {
namespace {

// Preconditions of these three: the entry has that type.
const List& ListOf(const Entry& entry) { return static_cast<const List&>(entry.value()); }
const Set& SetOf(const Entry& entry) { return static_cast<const Set&>(entry.value()); }
const SortedSet& SortedSetOf(const Entry& entry) {
  return static_cast<const SortedSet&>(entry.value());
}

// From the place where the window begins, so a LIMIT far from both ends costs one walk to it.
void AddOfList(const List& list, bool backwards, size_t first, size_t count, Elements& elements) {
  if (count == 0) return;
  const size_t start = backwards ? list.size() - 1 - first : first;
  list.Walk(start, backwards ? ListEnd::kFront : ListEnd::kBack,
            [&](size_t, std::string_view text) {
              elements.Add(text);
              return elements.size() < count;
            });
}

// A set has no places: its walk is O(size) for any window.
void AddOfSet(const Set& set, size_t first, size_t count, Elements& elements) {
  size_t at = 0;
  set.ForEach([&](std::string_view member) {
    if (at >= first && at - first < count) elements.Add(member);
    ++at;
  });
}

// By rank, O(log N) to the start. A walk downwards is given the same ranks, counted from the front.
void AddOfSortedSet(const SortedSet& set, bool backwards, size_t first, size_t count,
                    Elements& elements) {
  const size_t start = backwards ? set.size() - first - count : first;
  set.ForEach({start, start + count},
              backwards ? SortedSet::Direction::kDown : SortedSet::Direction::kUp,
              [&](std::string_view name, double) {
                elements.Add(name);
                return true;
              });
}

}  // namespace

std::string_view Elements::operator[](size_t i) const {
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

void Elements::Add(std::string_view text) {
  bytes_ += text;
  ends_.push_back(bytes_.size());
}

bool IsSortable(const Entry& entry) {
  return entry.type() == ValueType::kList || entry.type() == ValueType::kSet ||
         entry.type() == ValueType::kSortedSet;
}

// O(1).
size_t CountElements(const Entry& entry) {
  if (entry.type() == ValueType::kList) return ListOf(entry).size();
  return entry.type() == ValueType::kSet ? SetOf(entry).size() : SortedSetOf(entry).size();
}

Elements ElementsOf(const Entry& entry, bool backwards, size_t first, size_t count) {
  Elements elements;
  if (entry.type() == ValueType::kList) {
    AddOfList(ListOf(entry), backwards, first, count, elements);
  } else if (entry.type() == ValueType::kSet) {
    AddOfSet(SetOf(entry), first, count, elements);
  } else {
    AddOfSortedSet(SortedSetOf(entry), backwards, first, count, elements);
  }
  return elements;
}

}  // namespace sluice
