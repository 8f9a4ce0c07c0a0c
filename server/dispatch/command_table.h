// CommandTable: the rows of all families, found by name. Nothing in it changes, so all engines of a
// process use one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/catalogue.h"
#include "server/dispatch/command.h"

namespace sluice {

class CommandTable {
 public:
  static constexpr PartId kPartId = PartId::kCommands;

  explicit CommandTable(std::span<const CommandFamily> families);

  // Case-insensitive; null when unknown. Containers are returned as such.
  const Command* Find(std::string_view name) const;
  // "client|list" or "get", as COMMAND INFO and COMMAND DOCS take them.
  const Command* FindFull(std::string_view full_name) const;
  const Command* FindSubcommand(const Command& container, std::string_view word) const;

  // What rules of users know of the commands.
  const CommandCatalogue& catalogue() const { return catalogue_; }

  // Appends the keys of a request, with what it does to each; those of a command that it has inside
  // (FENCED) follow. False when the arguments make no sense: what was found all the same
  // is no answer for clients, and counts for rights.
  bool FindKeys(const Command& command, Args args, std::vector<KeyUse>& keys) const;
  // The row that a request names, its subcommand resolved, whatever its arity; null: there is none.
  const Command* FindNamed(Args args) const;

  // Top-level commands in the order of the families.
  std::span<const Command* const> all() const { return top_; }
  size_t size() const { return top_.size(); }
  // With subcommands.
  size_t count() const { return owned_.size(); }

 private:
  const Command* Add(const CommandSpec& spec, const Command* container);
  void Index(const Command* command);

  // What a name looks like: its length, and its first and last 8 bytes (all of it, up to 16).
  struct Image {
    uint64_t low = 0, high = 0;
    uint32_t size = 0;
    bool operator==(const Image&) const = default;
  };
  static Image ImageOf(std::string_view name);
  static size_t SlotOf(const Image& image);

  // Open addressing by the image with all letters folded to lower case. A name spelled all in upper
  // or all in lower case is told by its image; any other is compared letter by letter.
  struct Slot {
    Image upper, lower;
    const Command* command = nullptr;
  };
  static constexpr size_t kSlots = 2048;
  std::vector<std::unique_ptr<Command>> owned_;
  std::vector<const Command*> top_;
  std::vector<Slot> slots_;
  CommandCatalogue catalogue_;
};

// Appends the keys of a request by its row: those of the key specs if they tell everything, else
// those of find_keys. False when the arguments make no sense (then the texts of COMMAND GETKEYS
// apply).
bool FindKeys(const CommandSpec& spec, Args args, std::vector<KeyUse>& keys);
// The positions of those of one key spec.
bool FindKeyPositions(const KeySpec& spec, Args args, std::vector<int>& positions);

}  // namespace sluice
