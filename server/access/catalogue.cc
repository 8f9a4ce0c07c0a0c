// See catalogue.h.
#include "server/access/catalogue.h"

#include <algorithm>
#include <cassert>

#include "protocol/text/letters.h"

namespace sluice {
namespace {

constexpr std::string_view kCategories[] = {
    "keyspace", "read",        "write",      "set",         "sortedset", "list",  "hash",  "string",
    "bitmap",   "hyperloglog", "geo",        "stream",      "pubsub",    "admin", "fast",  "slow",
    "blocking", "dangerous",   "connection", "transaction", "scripting", "lock",  "limit",
};

}  // namespace

std::span<const std::string_view> AccessCategoryNames() { return kCategories; }

std::optional<size_t> FindAccessCategory(std::string_view name) {
  const auto found = std::ranges::find(kCategories, LowerCase(name));
  if (found == std::end(kCategories)) return std::nullopt;
  return static_cast<size_t>(found - std::begin(kCategories));
}

void CommandCatalogue::Add(std::string_view full_name, uint32_t categories,
                           std::optional<size_t> container) {
  const size_t end = entries_.size() + 1;
  assert(end < kCommandBits);
  assert(!container || entries_[*container].end == entries_.size());
  entries_.push_back({full_name, categories, container, end});
  if (container) entries_[*container].end = end;
}

void CommandCatalogue::Build() {
  by_name_.reserve(entries_.size());
  for (size_t number = 0; number < entries_.size(); ++number) {
    by_name_.emplace_back(entries_[number].name, number);
  }
  std::ranges::sort(by_name_);
  for (size_t number = 0; number < entries_.size(); ++number) {
    for (size_t category = 0; category < members_.size(); ++category) {
      if (!(entries_[number].categories >> category & 1)) continue;
      members_[category].set(number);
      for (size_t each = number; each < entries_[number].end; ++each) {
        category_reach_[category].set(each);
      }
    }
  }
}

CommandBits CommandCatalogue::ReachOf(size_t number) const {
  CommandBits reach;
  for (size_t each = number; each < entries_[number].end; ++each) reach.set(each);
  return reach;
}

std::optional<size_t> CommandCatalogue::Find(std::string_view full_name) const {
  const std::string name = LowerCase(full_name);
  const auto found = std::ranges::lower_bound(by_name_, std::string_view(name), {},
                                              &std::pair<std::string_view, size_t>::first);
  if (found == by_name_.end() || found->first != name) return std::nullopt;
  return found->second;
}

}  // namespace sluice
