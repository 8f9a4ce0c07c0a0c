// CommandCatalogue: the commands as the rules of users see them. Each has a number, a full name
// ("get", "config|get") and its categories; rules are kept as sets of numbers. It is made once,
// with the table of commands, and never changes.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// A bit a command, by its number. Only a rule for all commands sets the last one, which is no
// command's: so "all" and "each that there is" can be told from one another, as in Redis.
inline constexpr size_t kCommandBits = 1024;
using CommandBits = std::bitset<kCommandBits>;

// The names of the categories, in Redis's order, which is that of their bits; ours follow.
std::span<const std::string_view> AccessCategoryNames();
// In any case, without the "@".
std::optional<size_t> FindAccessCategory(std::string_view name);

class CommandCatalogue {
 public:
  // In the order of their numbers, the subcommands right behind their container. `container` is the
  // number of that, or none; `full_name` stays. Build follows the last.
  void Reserve(size_t commands) { entries_.reserve(commands); }
  void Add(std::string_view full_name, uint32_t categories, std::optional<size_t> container);
  void Build();

  // By full name, in any case.
  std::optional<size_t> Find(std::string_view full_name) const;
  size_t size() const { return entries_.size(); }
  std::string_view NameOf(size_t number) const { return entries_[number].name; }
  bool IsSubcommand(size_t number) const { return entries_[number].container.has_value(); }
  bool HasSubcommands(size_t number) const { return entries_[number].end > number + 1; }

  // The command, with its subcommands.
  CommandBits ReachOf(size_t number) const;
  // The commands of a category, and those with the subcommands of its containers: what a rule for
  // the category sets.
  const CommandBits& MembersOf(size_t category) const { return members_[category]; }
  const CommandBits& CategoryReachOf(size_t category) const { return category_reach_[category]; }

 private:
  struct Entry {
    std::string_view name;
    uint32_t categories;
    std::optional<size_t> container;
    size_t end;  // behind its last subcommand
  };

  std::vector<Entry> entries_;
  std::vector<std::pair<std::string_view, size_t>> by_name_;  // sorted
  std::array<CommandBits, 32> members_;
  std::array<CommandBits, 32> category_reach_;
};

}  // namespace sluice
