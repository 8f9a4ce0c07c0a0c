// See command_table.h. A name is told by its first and last bytes as two numbers, so the usual
// look-up compares a few words in one slot and calls nothing. Only a name in mixed case, or one
// beyond 16 bytes, is compared letter by letter.
#include "server/dispatch/command_table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "server/access/redis_mark.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/categories.h"

namespace sluice {
namespace {

constexpr uint64_t kLowerBits = 0x2020202020202020;

// ASCII letters only.
std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c += 32;
  }
  return lower;
}

// By the version that had it first: ours say 0.1.0, and later ones are above 7.0.
bool IsOfRedis(const CommandSpec& spec) {
  const std::string_view since = spec.since;
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

}  // namespace

// Once at the start. Names must differ over all families: of two the first would hide the second.
CommandTable::CommandTable(std::span<const CommandFamily> families) : slots_(kSlots) {
  for (const CommandFamily& family : families) {
    for (const CommandSpec& row : family.rows) {
      const Command* const command = Add(row, nullptr);
      top_.push_back(command);
      Index(command);
    }
  }
  for (const auto& command : owned_) {
    std::optional<size_t> container;
    if (command->container) container = command->container->number;
    uint32_t categories = CategoriesOf(*command->spec);
    if (IsOfRedis(*command->spec)) categories |= uint32_t{1} << kRedisMark;
    catalogue_.Add(command->full_name, categories, container);
  }
  catalogue_.Build();
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
  command->number = owned_.size();
  Command* const added = command.get();
  owned_.push_back(std::move(command));
  for (const CommandSpec& row : spec.subcommands) added->subcommands.push_back(Add(row, added));
  return added;
}

// Names up to 16 bytes are determined by their image and size. The loads overlap in the middle,
// which does no harm and needs no loop.
CommandTable::Image CommandTable::ImageOf(std::string_view name) {
  Image image;
  image.size = static_cast<uint32_t>(name.size());
  const char* bytes = name.data();
  if (name.size() >= 8) {
    std::memcpy(&image.low, bytes, 8);
    std::memcpy(&image.high, bytes + name.size() - 8, 8);
  } else if (name.size() >= 4) {
    uint32_t first, last;
    std::memcpy(&first, bytes, 4);
    std::memcpy(&last, bytes + name.size() - 4, 4);
    image.low = first | uint64_t{last} << 32;
  } else {
    for (const char c : name) image.low = image.low << 8 | static_cast<unsigned char>(c);
  }
  return image;
}

// Setting the bit of lower case folds letters; it folds some signs too, which only makes two names
// share a slot.
size_t CommandTable::SlotOf(const Image& image) {
  const uint64_t folded =
      (image.low | kLowerBits) ^ ((image.high | kLowerBits) * 0x9E3779B97F4A7C15);
  return ((folded * 0xD6E8FEB86659FD93) >> 40) & (kSlots - 1);
}

// The table is at most a quarter full, so probes are short.
void CommandTable::Index(const Command* command) {
  const std::string_view upper = command->spec->name;
  const Image image = ImageOf(upper);
  size_t slot = SlotOf(image);
  while (slots_[slot].command) slot = (slot + 1) & (kSlots - 1);
  slots_[slot] = {image, ImageOf(LowerCase(upper)), command};
}

// Null for an unknown name. O(1).
const Command* CommandTable::Find(std::string_view name) const {
  const Image image = ImageOf(name);
  const bool whole = name.size() <= 16;
  for (size_t slot = SlotOf(image); slots_[slot].command; slot = (slot + 1) & (kSlots - 1)) {
    const Slot& candidate = slots_[slot];
    if (whole && (candidate.upper == image || candidate.lower == image)) return candidate.command;
    if (candidate.upper.size == image.size && IsWord(name, candidate.command->spec->name)) {
      return candidate.command;
    }
  }
  return nullptr;
}

// "config|get" too, as COMMAND INFO and ACL spell it.
const Command* CommandTable::FindFull(std::string_view full_name) const {
  const size_t bar = full_name.find('|');
  const Command* const command = Find(full_name.substr(0, bar));
  if (!command || bar == std::string_view::npos) return command;
  return FindSubcommand(*command, full_name.substr(bar + 1));
}

const Command* CommandTable::FindNamed(Args args) const {
  const Command* const command = args.empty() ? nullptr : Find(args[0]);
  if (!command || command->subcommands.empty() || args.size() == 1) return command;
  return FindSubcommand(*command, args[1]);
}

// One level deep, since commands that have one inside do not nest.
bool CommandTable::FindKeys(const Command& command, Args args, std::vector<KeyUse>& keys) const {
  if (!sluice::FindKeys(*command.spec, args, keys)) return false;
  const auto begin = static_cast<size_t>(command.spec->inner_command);
  if (begin == 0 || begin >= args.size()) return true;
  const Args request = args.subspan(begin);
  const Command* const inner = FindNamed(request);
  if (!inner || inner->spec->inner_command != 0) return true;
  const size_t first = keys.size();
  sluice::FindKeys(*inner->spec, request, keys);
  for (size_t i = first; i < keys.size(); ++i) keys[i].position += static_cast<int>(begin);
  return true;
}

// By a walk: no container has more than some thirty.
const Command* CommandTable::FindSubcommand(const Command& container, std::string_view word) const {
  for (const Command* const command : container.subcommands) {
    if (IsWord(word, command->spec->name)) return command;
  }
  return nullptr;
}

}  // namespace sluice
