// CommandTable: the rows of all families, found by name. Nothing in it changes, so all engines of a
// process use one.
#pragma once

#include <array>
#include <cstdint>
#include <list>
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

  // Before the table is used: the command is found by `to` from now on, by no name if that is
  // empty, and by `from` only in a log (FindLogged). Why that cannot be, as a sentence, or empty.
  std::string Rename(std::string_view from, std::string_view to);
  // Likewise: the commands whose rows name that category (kCat*) are found in a log alone. `why`
  // stays, as a literal.
  void TurnOff(uint32_t category, std::string_view why);
  // Why a command of that name is turned off; empty: there is none that is.
  std::string_view WhyOff(std::string_view name) const;

  // Case-insensitive; null when unknown. Containers are returned as such.
  const Command* Find(std::string_view name) const;
  // "client|list" or "get", as COMMAND INFO and COMMAND DOCS take them.
  const Command* FindFull(std::string_view full_name) const;
  // What a log has written down: the names that commands have by themselves come first.
  const Command* FindLogged(std::string_view name) const;
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
  void Reserve(std::span<const CommandFamily> families);
  const Command* Add(const CommandSpec& spec, const Command* container);

  // What a name looks like: its length, and its first and last 8 bytes (all of it, up to 16).
  struct Image {
    uint64_t low = 0, high = 0;
    uint32_t size = 0;
    bool operator==(const Image&) const = default;
  };
  static Image ImageOf(std::string_view name);
  static size_t SlotOf(const Image& image);

  // A name by which a command is found. One that is spelled all in upper or all in lower case is
  // told by its image; any other is compared letter by letter.
  struct Name {
    Image upper, lower;
    std::string_view upper_text;
    const Command* command = nullptr;
    std::string_view why_off = {};
  };
  void Enter(std::string_view name, const Command* command);
  void IndexNames();

  // Open addressing by the image with all letters folded to lower case; a slot has a name's number
  // and one, or 0.
  static constexpr size_t kSlots = 2048;
  std::vector<std::unique_ptr<Command>> owned_;
  std::vector<const Command*> top_;
  std::vector<Name> names_;
  std::vector<uint16_t> slots_;
  std::list<std::string> given_names_;  // of renamed commands, in upper case
  std::vector<Name> own_names_;         // of commands that are renamed or turned off
  CommandCatalogue catalogue_;
};

// Appends the keys of a request by its row: those of the key specs if they tell everything, else
// those of find_keys. False when the arguments make no sense (then the texts of COMMAND GETKEYS
// apply).
bool FindKeys(const CommandSpec& spec, Args args, std::vector<KeyUse>& keys);
// The positions of those of one key spec.
bool FindKeyPositions(const KeySpec& spec, Args args, std::vector<int>& positions);

}  // namespace sluice
