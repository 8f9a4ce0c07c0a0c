// Whether words are a request: CommandTable::Check, and the sentences of Redis for those that are
// none. A command inside another one (FENCED) is checked with it, one level deep.
#include <algorithm>
#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/dispatch/command_table.h"

namespace sluice {
namespace {

// How much of a stranger's words an error repeats, as Redis.
constexpr size_t kEchoBytesMax = 128;

// A stranger's word as Redis repeats it: a C string, cut.
std::string_view Echo(std::string_view word, size_t bytes_max = kEchoBytesMax) {
  return word.substr(0, std::min(word.find('\0'), bytes_max));
}

// Redis's sentence, with at most 128 bytes of the arguments: enough to find the mistake, too little
// to fill a log.
std::string UnknownCommand(Args words) {
  std::string begin;
  for (size_t i = 1; i < words.size() && begin.size() < kEchoBytesMax; ++i) {
    ConcatTo(begin, '\'', Echo(words[i], kEchoBytesMax - begin.size()), "' ");
  }
  return Concat("ERR unknown command '", Echo(words[0]), "', with args beginning with: ", begin);
}

// As the client calls the container: it may be renamed.
std::string UnknownSubcommand(Args words) {
  return Concat("ERR unknown subcommand '", Echo(words[1]), "'. Try ", UpperCase(words[0]),
                " HELP.");
}

}  // namespace

// The row with its arity, or null. A container with a second word means its subcommand.
const Command* CommandTable::Resolve(Args words, const Command* known, RequestFault& fault) const {
  fault.words = words;
  const Command* command = known ? known : Find(words[0]);
  if (!command) return nullptr;
  fault.command = command;
  if (!command->subcommands.empty() && words.size() > 1) {
    fault.kind = RequestFault::Kind::kUnknownSubcommand;
    command = FindSubcommand(*command, words[1]);
    if (!command) return nullptr;
    fault.command = command;
  }
  fault.kind = RequestFault::Kind::kWrongArity;
  return command->spec->run && ArityFits(*command->spec, words.size()) ? command : nullptr;
}

// The arity leaves a word for the inner command's name (RowsAreSound).
std::optional<Request> CommandTable::CheckAll(Args words, const Command* known,
                                              RequestFault& fault) const {
  const Command* const command = words.empty() ? nullptr : Resolve(words, known, fault);
  if (!command) return std::nullopt;
  const auto inner_at = static_cast<size_t>(command->spec->inner_command);
  if (inner_at == 0) return Request(*command, words, nullptr);
  fault = {.is_inner = true};
  const Command* const inner = Resolve(words.subspan(inner_at), nullptr, fault);
  if (!inner) return std::nullopt;
  fault.kind = RequestFault::Kind::kNested;
  if (inner->spec->inner_command != 0) return std::nullopt;
  return Request(*command, words, inner);
}

RequestFault CommandTable::WhyNot(Args words, const Command* known) const {
  RequestFault fault;
  CheckAll(words, known, fault);
  return fault;
}

std::string CommandTable::TextOf(const RequestFault& fault) const {
  switch (fault.kind) {
    case RequestFault::Kind::kUnknownCommand: {
      const std::string_view why_off = WhyOff(fault.words[0]);
      return why_off.empty() ? UnknownCommand(fault.words) : Concat("ERR ", why_off);
    }
    case RequestFault::Kind::kUnknownSubcommand:
      return UnknownSubcommand(fault.words);
    case RequestFault::Kind::kWrongArity:
      return Concat("ERR wrong number of arguments for '", fault.command->full_name, "' command");
    case RequestFault::Kind::kNested:
      break;
  }
  return "ERR this command is not allowed inside FENCED";
}

}  // namespace sluice
