#include "server/engine/command_table.h"

#include <algorithm>
#include <cstring>

#include "server/engine/arg_reader.h"

namespace sluice {
namespace {

constexpr uint64_t kLowerBits = 0x2020202020202020;

struct Folded {
  uint64_t low = 0, high = 0;
};

// The first 16 bytes of a name with letters folded to lower case (others may be changed too, which is
// why a hit is compared in full), and its length mixed in.
Folded Fold(std::string_view name) {
  Folded folded;
  const size_t size = std::min<size_t>(name.size(), 16);
  if (size >= 8) {
    std::memcpy(&folded.low, name.data(), 8);
    std::memcpy(&folded.high, name.data() + size - 8, 8);
  } else {
    std::memcpy(&folded.low, name.data(), size);
    folded.high = name.size();
  }
  folded.low |= kLowerBits;
  folded.high |= kLowerBits;
  return folded;
}

size_t SlotOf(const Folded& folded, size_t slots) {
  const uint64_t mixed = (folded.low ^ (folded.high * 0x9E3779B97F4A7C15)) * 0xD6E8FEB86659FD93;
  return (mixed >> 40) & (slots - 1);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c += 32;
  }
  return lower;
}

// The argument that holds the first key, when the row alone tells (for prefetching).
int FirstKey(const CommandSpec& spec) {
  for (const KeySpec& keys : spec.keys.all()) {
    if (keys.keyword.empty() && !keys.keynum && !(keys.flags & kKeyNotKey)) return keys.begin;
  }
  return 0;
}

}  // namespace

CommandTable::CommandTable(std::span<const CommandFamily> families, bool test_double)
    : slots_(kSlots) {
  for (const CommandFamily& family : families) {
    for (const CommandSpec& row : family.rows) {
      if ((row.flags & kTestDouble) && !test_double) continue;
      Command* command = Add(row, nullptr);
      top_.push_back(command);
      Index(command);
    }
  }
}

Command* CommandTable::Add(const CommandSpec& spec, Command* container) {
  auto command = std::make_unique<Command>();
  command->spec = &spec;
  command->container = container;
  command->full_name = container ? container->full_name + '|' : std::string();
  command->full_name += LowerCase(spec.name);
  command->first_key = FirstKey(spec);
  Command* added = command.get();
  owned_.push_back(std::move(command));
  for (const CommandSpec& row : spec.subcommands) added->subcommands.push_back(Add(row, added));
  return added;
}

void CommandTable::Index(Command* command) {
  const Folded folded = Fold(command->spec->name);
  size_t slot = SlotOf(folded, kSlots);
  while (slots_[slot].command) slot = (slot + 1) & (kSlots - 1);
  slots_[slot] = {folded.low, folded.high, command};
}

Command* CommandTable::Find(std::string_view name) const {
  if (name.empty()) return nullptr;
  const Folded folded = Fold(name);
  for (size_t slot = SlotOf(folded, kSlots); slots_[slot].command; slot = (slot + 1) & (kSlots - 1)) {
    const Slot& candidate = slots_[slot];
    if (candidate.low == folded.low && candidate.high == folded.high &&
        IsWord(name, candidate.command->spec->name)) {
      return candidate.command;
    }
  }
  return nullptr;
}

Command* CommandTable::FindFull(std::string_view full_name) const {
  const size_t bar = full_name.find('|');
  Command* command = Find(full_name.substr(0, bar));
  if (!command || bar == std::string_view::npos) return command;
  return FindSubcommand(*command, full_name.substr(bar + 1));
}

Command* CommandTable::FindSubcommand(const Command& container, std::string_view word) const {
  for (Command* command : container.subcommands) {
    if (IsWord(word, command->spec->name)) return command;
  }
  return nullptr;
}

void CommandTable::ResetStatistics() {
  for (const auto& command : owned_) command->statistics = {};
}

}  // namespace sluice
