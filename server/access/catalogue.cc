// See catalogue.h.
#include "server/access/catalogue.h"

#include <algorithm>
#include <cassert>

namespace sluice {
namespace {

constexpr std::string_view kCategories[] = {
    "keyspace", "read",        "write",      "set",         "sortedset", "list",  "hash",  "string",
    "bitmap",   "hyperloglog", "geo",        "stream",      "pubsub",    "admin", "fast",  "slow",
    "blocking", "dangerous",   "connection", "transaction", "scripting", "lock",  "limit",
};

// ASCII letters only.
std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

}  // namespace

std::span<const std::string_view> AccessCategoryNames() { return kCategories; }

std::optional<size_t> FindAccessCategory(std::string_view name) {
  const auto found = std::ranges::find(kCategories, Lower(name));
  if (found == std::end(kCategories)) return std::nullopt;
  return static_cast<size_t>(found - std::begin(kCategories));
}

void CommandCatalogue::Add(std::string_view full_name, uint32_t categories,
                           std::optional<size_t> container) {
  assert(entries_.size() + 1 < kCommandBits);
  entries_.push_back({std::string(full_name), categories, container});
}

void CommandCatalogue::Build() {
  reach_of_.assign(entries_.size(), {});
  for (size_t number = 0; number < entries_.size(); ++number) {
    const Entry& entry = entries_[number];
    reach_of_[number].set(number);
    if (entry.container) reach_of_[*entry.container].set(number);
    by_name_.emplace_back(entry.name, number);
  }
  std::ranges::sort(by_name_);
  for (size_t number = 0; number < entries_.size(); ++number) {
    for (size_t category = 0; category < members_.size(); ++category) {
      if (!(entries_[number].categories >> category & 1)) continue;
      members_[category].set(number);
      category_reach_[category] |= reach_of_[number];
    }
  }
}

std::optional<size_t> CommandCatalogue::Find(std::string_view full_name) const {
  const std::string name = Lower(full_name);
  const auto found = std::ranges::lower_bound(by_name_, std::string_view(name), {},
                                              &std::pair<std::string_view, size_t>::first);
  if (found == by_name_.end() || found->first != name) return std::nullopt;
  return found->second;
}

}  // namespace sluice
