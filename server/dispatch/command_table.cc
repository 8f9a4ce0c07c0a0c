// See command_table.h. A name is told by its first and last bytes as two numbers, so the usual
// look-up compares a few words in one slot and calls nothing. Only a name in mixed case, or one
// beyond 16 bytes, is compared letter by letter.
#include "server/dispatch/command_table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "protocol/text/letters.h"
#include "protocol/text/same_bytes.h"
#include "server/access/redis_mark.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/categories.h"

namespace sluice {
namespace {

constexpr uint64_t kLowerBits = 0x2020202020202020;

// By the version that had it first: ours say 0.1.0, and later ones are above 7.0.
bool IsOfRedis(const CommandSpec& spec) {
  const std::string_view since = spec.Read(spec.since);
  return since < "7.1" && since.size() > 1 && since[0] >= '1' && since[0] <= '7' && since[1] == '.';
}

// The argument that holds the first key, if there is one, when the row alone tells (for
// prefetching).
int FirstKey(const CommandSpec& spec) {
  for (const KeySpec& keys : spec.keys.all()) {
    if (!keys.keyword.empty() || (keys.flags & kKeyNotKey)) continue;
    return keys.keynum ? keys.begin + keys.first_key : keys.begin;
  }
  return 0;
}

// The flags of the only key, where the row alone tells that there is no other.
std::optional<uint16_t> SoleKey(const CommandSpec& spec) {
  if (spec.keys.count != 1 || spec.inner_command != 0) return std::nullopt;
  const KeySpec& key = spec.keys.specs[0];
  const bool is_plain = key.keyword.empty() && !key.keynum && key.begin > 0 && key.last == 0 &&
                        !(key.flags & (kKeyNotKey | kKeyIncomplete));
  return is_plain ? std::optional(key.flags) : std::nullopt;
}

// What stores a string over anything, and what deletes a key as a whole. It decides no more than
// what is prefetched.
bool EndsTime(const CommandSpec& spec) {
  if (!(spec.flags & kWrite) || spec.keys.count == 0) return false;
  const uint16_t flags = spec.keys.specs[0].flags;
  if (spec.categories & kCatString) return flags & (kKeyOw | kKeyVariableFlags | kKeyDelete);
  return flags & kKeyRm;
}

}  // namespace

// Once at the start. Names must differ over all families: of two the first would hide the second.
CommandTable::CommandTable(std::span<const CommandFamily> families) {
  Reserve(families);
  for (const CommandFamily& family : families) {
    for (const CommandSpec& row : family.rows) {
      const Command* const command = Add(row, nullptr);
      top_.push_back(command);
      Enter(row.name, command);
    }
  }
  IndexNames();
  catalogue_.Reserve(owned_.size());
  for (const auto& command : owned_) {
    std::optional<size_t> container;
    if (command->container) container = command->container->number;
    uint32_t categories = CategoriesOf(*command->spec);
    if (IsOfRedis(*command->spec)) categories |= uint32_t{1} << kRedisMark;
    catalogue_.Add(command->full_name, categories, container);
  }
  catalogue_.Build();
}

// Tables that grow leave memory behind that a process has only just got; a server starts in the
// time that some hundred pages of it take.
void CommandTable::Reserve(std::span<const CommandFamily> families) {
  size_t rows = 0, subcommands = 0;
  for (const CommandFamily& family : families) {
    rows += family.rows.size();
    for (const CommandSpec& row : family.rows) subcommands += row.subcommands.size();
  }
  top_.reserve(rows);
  names_.reserve(rows);
  owned_.reserve(rows + subcommands);
}

// Subcommands get a Command of their own, with a number of their own, and are found by their
// container.
const Command* CommandTable::Add(const CommandSpec& spec, const Command* container) {
  auto command = std::make_unique<Command>();
  command->spec = &spec;
  command->container = container;
  command->full_name = container ? container->full_name + '|' : std::string();
  command->full_name += LowerCase(spec.name);
  command->first_key = FirstKey(spec);
  command->sole_key = SoleKey(spec);
  command->ends_time = EndsTime(spec);
  command->keeps_caching = container && (container->spec->flags & kKeepsCaching);
  command->is_simple = spec.subcommands.empty() && spec.inner_command == 0 && spec.run;
  command->number = owned_.size();
  Command* const added = command.get();
  owned_.push_back(std::move(command));
  added->subcommands.reserve(spec.subcommands.size());
  for (const CommandSpec& row : spec.subcommands) added->subcommands.push_back(Add(row, added));
  return added;
}

// Names up to 16 bytes are determined by their image and size. The loads overlap in the middle,
// which does no harm and needs no loop.
inline CommandTable::Image CommandTable::ImageOf(std::string_view name) {
  Image image{.low = ShortNumber(name), .size = static_cast<uint32_t>(name.size())};
  if (name.size() > kShortBytes) {
    std::memcpy(&image.high, name.data() + name.size() - kShortBytes, kShortBytes);
  }
  return image;
}

// Setting the bit of lower case folds letters; it folds some signs too, which only makes two names
// share a slot.
inline size_t CommandTable::SlotOf(const Image& image) {
  const uint64_t folded =
      (image.low | kLowerBits) ^ ((image.high | kLowerBits) * 0x9E3779B97F4A7C15);
  return ((folded * 0xD6E8FEB86659FD93) >> 40) & (kSlots - 1);
}

void CommandTable::Enter(std::string_view name, const Command* command) {
  names_.push_back({ImageOf(name), ImageOf(LowerCase(name)), name, command});
}

// The table is at most a quarter full, so probes are short.
void CommandTable::IndexNames() {
  slots_.assign(kSlots, 0);
  for (size_t i = 0; i < names_.size(); ++i) {
    size_t slot = SlotOf(names_[i].upper);
    while (slots_[slot] != 0) slot = (slot + 1) & (kSlots - 1);
    slots_[slot] = static_cast<uint16_t>(i + 1);
  }
}

const Command* CommandTable::Find(std::string_view name) const {
  // Nearly all names stand in their first slot, and are spelled in one of two ways.
  const Image image = ImageOf(name);
  const size_t slot = SlotOf(image);
  if (slots_[slot] != 0 && IsWhole(image)) [[likely]] {
    const Name& first = names_[slots_[slot] - 1];
    if (first.upper == image || first.lower == image) [[likely]]
      return first.command;
  }
  return Probe(name, image, slot);
}

const Command* CommandTable::Probe(std::string_view name, const Image& image, size_t slot) const {
  for (; slots_[slot] != 0; slot = (slot + 1) & (kSlots - 1)) {
    const Name& candidate = names_[slots_[slot] - 1];
    if (IsWhole(image) && (candidate.upper == image || candidate.lower == image)) {
      return candidate.command;
    }
    if (candidate.upper.size == image.size && IsWord(name, candidate.upper_text)) {
      return candidate.command;
    }
  }
  return nullptr;
}

// --- rename-command, scripting-enabled

Fault CommandTable::Rename(std::string_view from, std::string_view to) {
  const auto there =
      std::ranges::find_if(names_, [&](const Name& name) { return IsWord(from, name.upper_text); });
  if (there == names_.end()) return "No such command in rename-command";
  if (!to.empty() && Find(to) && Find(to) != there->command)
    return "Target command name already exists";
  const Command* const command = there->command;
  own_names_.push_back(*there);
  names_.erase(there);
  if (to.empty()) {
    std::erase(top_, command);
  } else {
    Enter(given_names_.emplace_back(UpperCase(to)), command);
  }
  IndexNames();
  return {};
}

void CommandTable::TurnOff(uint32_t category, std::string_view why) {
  const auto is_off = [&](const Command* command) {
    const auto names_it = [&](const CommandSpec& row) { return (row.categories & category) != 0; };
    return names_it(*command->spec) || std::ranges::any_of(command->spec->subcommands, names_it);
  };
  for (const Name& name : names_) {
    if (!is_off(name.command)) continue;
    own_names_.push_back(name);
    own_names_.back().why_off = why;
  }
  std::erase_if(names_, [&](const Name& name) { return is_off(name.command); });
  std::erase_if(top_, is_off);
  IndexNames();
}

std::string_view CommandTable::WhyOff(std::string_view name) const {
  for (const Name& own : own_names_) {
    if (!own.why_off.empty() && IsWord(name, own.upper_text)) return own.why_off;
  }
  return {};
}

const Command* CommandTable::FindLogged(std::string_view name) const {
  for (const Name& own : own_names_) {
    if (IsWord(name, own.upper_text)) return own.command;
  }
  return Find(name);
}

const Command* CommandTable::FindFull(std::string_view full_name) const {
  const size_t bar = full_name.find('|');
  const Command* const command = Find(full_name.substr(0, bar));
  if (!command || bar == std::string_view::npos) return command;
  return FindSubcommand(*command, full_name.substr(bar + 1));
}

const Command* CommandTable::FindOwn(std::string_view full_name) const {
  const size_t bar = full_name.find('|');
  const Command* const command = FindLogged(full_name.substr(0, bar));
  if (!command || bar == std::string_view::npos) return command;
  return FindSubcommand(*command, full_name.substr(bar + 1));
}

const Command* CommandTable::FindNamed(Args words) const {
  const Command* const command = words.empty() ? nullptr : Find(words[0]);
  if (!command || command->subcommands.empty() || words.size() == 1) return command;
  return FindSubcommand(*command, words[1]);
}

// By a walk: no container has more than some thirty.
const Command* CommandTable::FindSubcommand(const Command& container, std::string_view word) const {
  for (const Command* const command : container.subcommands) {
    if (IsWord(word, command->spec->name)) return command;
  }
  return nullptr;
}

}  // namespace sluice
