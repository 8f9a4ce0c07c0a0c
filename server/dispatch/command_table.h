// CommandTable: the rows of all families, found by name, and the one place that makes a Request of
// words. Nothing in it changes, so all engines of a process use one.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "server/access/catalogue.h"
#include "server/dispatch/command.h"

namespace sluice {

// Why words are no request.
struct RequestFault {
  enum class Kind : uint8_t { kUnknownCommand, kUnknownSubcommand, kWrongArity, kNested };
  Kind kind = Kind::kUnknownCommand;
  bool is_inner = false;             // it is the command inside that is wrong
  Args words;                        // from the name of the wrong one on
  const Command* command = nullptr;  // kWrongArity: the row; kUnknownSubcommand: the container
};

class CommandTable {
 public:
  explicit CommandTable(std::span<const CommandFamily> families);

  // Before the table is used: the command is found by `to` from now on, by no name if that is
  // empty, and by `from` only in a log (FindLogged). COMMAND, ACL LOG and INFO still show its own
  // name. Why that cannot be, as a sentence of Redis, or empty.
  Fault Rename(std::string_view from, std::string_view to);
  // Likewise: the commands whose rows name that category (kCat*) are found in a log alone. `why`
  // stays, as a literal.
  void TurnOff(uint32_t category, std::string_view why);
  // Why a command of that name is turned off; empty: there is none that is.
  std::string_view WhyOff(std::string_view name) const;

  // Case-insensitive; null when unknown. Containers are returned as such. O(1).
  const Command* Find(std::string_view name) const;
  // "client|list" or "get", as COMMAND INFO, COMMAND DOCS and ACL spell them.
  const Command* FindFull(std::string_view full_name) const;
  // The same by the name that a command has by itself, even where clients know it by another one.
  const Command* FindOwn(std::string_view full_name) const;
  // The command of a name in a log: the names that commands have by themselves come first.
  const Command* FindLogged(std::string_view name) const;
  const Command* FindSubcommand(const Command& container, std::string_view word) const;

  // The request that these words are, which are at least one; none: WhyNot says why. `known` is the
  // row that args[0] names, where the caller has looked it up (a log has names of its own).
  std::optional<Request> Check(Args words, const Command* known = nullptr) const {
    if (known && known->is_simple && ArityFits(*known->spec, words.size())) [[likely]]
      return Request(*known, words, nullptr);
    RequestFault fault;
    return CheckAll(words, known, fault);
  }
  RequestFault WhyNot(Args words, const Command* known = nullptr) const;
  // The error text that a client gets for it.
  std::string TextOf(const RequestFault& fault) const;

  // The commands as the rules of users know them.
  const CommandCatalogue& catalogue() const { return catalogue_; }

  // The row that words name, its subcommand resolved, whatever its arity; null: there is none.
  const Command* FindNamed(Args words) const;

  // Top-level commands in the order of the families.
  std::span<const Command* const> all() const { return top_; }
  size_t size() const { return top_.size(); }
  // With subcommands.
  size_t count() const { return owned_.size(); }

 private:
  void Reserve(std::span<const CommandFamily> families);
  const Command* Add(const CommandSpec& spec, const Command* container);
  std::optional<Request> CheckAll(Args words, const Command* known, RequestFault& fault) const;
  const Command* Resolve(Args words, const Command* known, RequestFault& fault) const;
  // Positive: exactly so many, with the name; negative: at least.
  static bool ArityFits(const CommandSpec& spec, size_t words) {
    const int given = static_cast<int>(words);
    return spec.arity >= 0 ? given == spec.arity : given >= -spec.arity;
  }

  // A name as numbers: its length, and its first and last 8 bytes (all of it, up to 16).
  struct Image {
    uint64_t low = 0, high = 0;
    uint32_t size = 0;
    bool operator==(const Image&) const = default;
  };
  static Image ImageOf(std::string_view name);
  static bool IsWhole(const Image& image) { return image.size <= 2 * sizeof(uint64_t); }
  static size_t SlotOf(const Image& image);
  // From that slot on, spelled in any way.
  const Command* Probe(std::string_view name, const Image& image, size_t slot) const;

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

// Appends the keys of a request, with what it does to each: those of find_keys where the row has
// it, else those of the key specs. False when the arguments make no sense: what was found all the
// same is no answer for clients (then the texts of COMMAND GETKEYS apply), and counts for rights.
// Positions lie inside the request.
bool FindOwnKeys(const Request& request, std::vector<KeyUse>& keys);
// The same, and the keys of a command inside it (FENCED) follow.
bool FindKeys(const Request& request, std::vector<KeyUse>& keys);
// The positions of the keys of one key spec, in any words.
bool FindKeyPositions(const KeySpec& spec, Args args, std::vector<int>& positions);

}  // namespace sluice
