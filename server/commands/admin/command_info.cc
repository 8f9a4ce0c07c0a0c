// The COMMAND family: what the server says about its own commands. All of it is derived from the
// rows; command_entry.cc and command_docs.cc give it its form.
//
// Clients call COMMAND or COMMAND DOCS when they connect, so the answer for all commands is a usual
// one. It is made anew each time: O(commands).

#include <functional>
#include <string>
#include <vector>

#include "protocol/text/glob.h"
#include "server/commands/admin/command_docs.h"
#include "server/commands/admin/command_entry.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command_table.h"

namespace sluice {
namespace {

// COMMAND without a subcommand: top-level commands in the order of the families.
void ReplyAllEntries(CommandCall& call) {
  const CommandTable& table = call.part<const CommandTable>();
  call.reply.Array(table.size());
  for (const Command* command : table.all()) ReplyEntry(call.reply, *command);
}

// Subcommands are not counted, as in Redis.
void Count(CommandCall& call) {
  call.reply.Integer(static_cast<int64_t>(call.part<const CommandTable>().size()));
}

// Null for an unknown name, in its place. "config|get" names a subcommand.
//   COMMAND INFO nosuch  → [nil]
//   COMMAND DOCS nosuch  → []
void CommandInfo(CommandCall& call) {
  if (call.args.size() == 2) return ReplyAllEntries(call);
  call.reply.Array(call.args.size() - 2);
  for (const std::string_view name : call.args.subspan(2)) {
    const Command* const command = call.part<const CommandTable>().FindFull(name);
    command ? ReplyEntry(call.reply, *command) : call.reply.Null();
  }
}

// The commands that are asked for and exist; all without a name.
void Docs(CommandCall& call) {
  const CommandTable& table = call.part<const CommandTable>();
  std::vector<const Command*> commands;
  for (const std::string_view name : call.args.subspan(2)) {
    if (const Command* const command = table.FindFull(name)) commands.push_back(command);
  }
  if (call.args.size() == 2) commands.assign(table.all().begin(), table.all().end());
  call.reply.Map(commands.size());
  for (const Command* command : commands) ReplyDocs(call.reply, *command);
}

// --- LIST

// True for the commands that FILTERBY leaves in the list.
using Filter = std::function<bool(const Command&)>;

// Every other form of arguments is a syntax error; an unknown category or a pattern without a match
// is an empty list. False: the error has been answered.
//   COMMAND LIST FILTERBY MODULE nothing  → []
//   COMMAND LIST FILTERBY PATTERN XG*P    → ["xgroup", "xgroup|help"]
//   COMMAND LIST FILTERBY COLOUR red      → -ERR syntax error
bool ReadFilter(CommandCall& call, Filter& filter) {
  ArgReader args(call.args, 2);
  if (!args.more()) {
    filter = [](const Command&) { return true; };
    return true;
  }
  if (args.left() == 3 && args.TakeWord("FILTERBY")) {
    const std::string_view value = args.Peek(1);
    if (args.TakeWord("MODULE")) {
      filter = [](const Command&) { return false; };  // there are no modules
    } else if (args.TakeWord("ACLCAT")) {
      filter = [value](const Command& command) { return IsInCategory(*command.spec, value); };
    } else if (args.TakeWord("PATTERN")) {
      filter = [glob = Glob(value, true)](const Command& command) {
        return glob.Matches(command.full_name);
      };
    }
  }
  if (!filter) call.reply.Error(ErrorCode::kSyntax);
  return static_cast<bool>(filter);
}

// Names of subcommands too, each by itself and not in its container.
void CommandList(CommandCall& call) {
  Filter filter;
  if (!ReadFilter(call, filter)) return;
  std::vector<std::string_view> names;
  const auto add = [&](const Command& command) {
    if (filter(command)) names.push_back(command.full_name);
  };
  for (const Command* command : call.part<const CommandTable>().all()) {
    add(*command);
    for (const Command* sub : command->subcommands) add(*sub);
  }
  call.reply.Array(names.size());
  for (const std::string_view name : names) call.reply.Bulk(name);
}

// --- GETKEYS

// A channel is described by a key spec as well, but is no key (kKeyNotKey).
bool HasKeys(const CommandSpec& spec) {
  if (spec.find_keys) return true;
  for (const KeySpec& keys : spec.keys.all()) {
    if (!(keys.flags & kKeyNotKey)) return true;
  }
  return false;
}

// Three faults, in Redis's order: no such command, no keys, a wrong number of arguments. A fault of
// the command inside is told as to a client that would run it. Nothing: the error has been
// answered.
std::optional<Request> RequestForKeys(CommandCall& call, Args words) {
  const CommandTable& commands = call.part<const CommandTable>();
  const Command* const command = commands.FindNamed(words);
  if (!command) {
    call.reply.Error("ERR Invalid command specified");
    return std::nullopt;
  }
  if (!HasKeys(*command->spec)) {
    call.reply.Error("ERR The command has no key arguments");
    return std::nullopt;
  }
  std::optional<Request> request = commands.Check(words);
  if (request) return request;
  const RequestFault fault = commands.WhyNot(words);
  call.reply.Error(fault.is_inner ? commands.TextOf(fault)
                                  : "ERR Invalid number of arguments specified for command");
  return std::nullopt;
}

// A command whose keys may all be left out answers an empty array; for any other that is a fault of
// its arguments. Nothing is run.
//   COMMAND GETKEYS MSET a 1 b 2               → ["a", "b"]
//   COMMAND GETKEYS EVAL "return 1" 2 k1 k2 x  → ["k1", "k2"]
//   COMMAND GETKEYSANDFLAGS SET k v            → [["k", [OW, update]]]
//   COMMAND GETKEYS PING x                     → -ERR The command has no key arguments
//   COMMAND GETKEYS NOSUCH x                   → -ERR Invalid command specified
void ReplyKeys(CommandCall& call, bool with_flags) {
  const std::optional<Request> request = RequestForKeys(call, call.args.subspan(2));
  if (!request) return;
  std::vector<KeyUse> keys;
  if (!FindKeys(*request, keys)) keys.clear();
  if (keys.empty() && !(request->command.spec->flags & kNoMandatoryKeys)) {
    return call.reply.Error("ERR Invalid arguments specified for command");
  }
  call.reply.Array(keys.size());
  for (const KeyUse& key : keys) {
    if (with_flags) call.reply.Array(2);
    call.reply.Bulk(request->args[static_cast<size_t>(key.position)]);
    if (with_flags) ReplyKeyFlags(call.reply, key.flags);
  }
}

void GetKeys(CommandCall& call) { ReplyKeys(call, false); }
// The same with what the command does to each key.
void GetKeysAndFlags(CommandCall& call) { ReplyKeys(call, true); }

constexpr std::string_view kCommandInfoHelp[] = {
    "(no subcommand)",
    "    Return details about all Redis commands.",
    "COUNT",
    "    Return the total number of commands in this Redis server.",
    "LIST",
    "    Return a list of all commands in this Redis server.",
    "INFO [<command-name> ...]",
    "    Return details about multiple Redis commands.",
    "    If no command names are given, documentation details for all",
    "    commands are returned.",
    "DOCS [<command-name> ...]",
    "    Return documentation details about multiple Redis commands.",
    "    If no command names are given, documentation details for all",
    "    commands are returned.",
    "GETKEYS <full-command>",
    "    Return the keys from a full Redis command.",
    "GETKEYSANDFLAGS <full-command>",
    "    Return the keys and the access flags from a full Redis command.",
};

void CommandInfoHelp(CommandCall& call) { ReplyHelp(call, kCommandInfoHelp); }

// --- the table

constexpr uint32_t kAlways = kLoading | kStale;
constexpr std::string_view kAnyOrder = "nondeterministic_output_order";
constexpr std::string_view kPerLookUp = "O(N) where N is the number of commands to look up";
constexpr std::string_view kPerCommand = "O(N) where N is the total number of Redis commands";
constexpr std::string_view kPerArgument = "O(N) where N is the number of arguments to the command";

// They answer while data are loaded too: clients ask for them when they connect.
constexpr CommandRow kCommandInfoSubcommandsListed[] = {
    {.name = "COUNT",
     .arity = 2,
     .flags = kAlways,
     .run = Count,
     .since = "2.8.13",
     .complexity = "O(1)",
     .summary = "How many commands there are."},
    {.name = "DOCS",
     .arity = -2,
     .flags = kAlways,
     .run = Docs,
     .since = "7.0.0",
     .complexity = kPerLookUp,
     .usage = "[command-name [command-name ...]]",
     .summary = "The documentation of all or of some commands.",
     .tips = kAnyOrder},
    {.name = "GETKEYS",
     .arity = -4,
     .flags = kAlways,
     .run = GetKeys,
     .since = "2.8.13",
     .complexity = kPerArgument,
     .summary = "Which arguments of a request are keys."},
    {.name = "GETKEYSANDFLAGS",
     .arity = -4,
     .flags = kAlways,
     .run = GetKeysAndFlags,
     .since = "7.0.0",
     .complexity = kPerArgument,
     .summary = "Which arguments of a request are keys, and what it does with each."},
    {.name = "HELP",
     .arity = 2,
     .flags = kAlways,
     .run = CommandInfoHelp,
     .since = "5.0.0",
     .complexity = "O(1)",
     .summary = "The subcommands of COMMAND."},
    {.name = "INFO",
     .arity = -2,
     .flags = kAlways,
     .run = CommandInfo,
     .since = "2.8.13",
     .complexity = kPerLookUp,
     .usage = "[command-name [command-name ...]]",
     .summary = "Arity, flags, key positions and categories of all or of some commands.",
     .history = "7.0.0 Without names it answers for all commands.",
     .tips = kAnyOrder},
    {.name = "LIST",
     .arity = -2,
     .flags = kAlways,
     .run = CommandList,
     .since = "7.0.0",
     .complexity = kPerCommand,
     .usage = "[FILTERBY MODULE module-name | ACLCAT category | PATTERN pattern]",
     .summary = "The names of all commands, or of those that a filter lets through.",
     .tips = kAnyOrder},
};
constexpr auto kCommandInfoSubcommands =
    RowsOf(kCommandInfoSubcommandsListed, {.categories = kCatConnection, .group = "server"});

constexpr CommandRow kCommandInfoRows[] = {
    {.name = "COMMAND",
     .arity = -1,
     .flags = kAlways,
     .categories = kCatConnection,
     .run = ReplyAllEntries,
     .subcommands = kSpecsOf<kCommandInfoSubcommands>,
     .group = "server",
     .since = "2.8.13",
     .complexity = kPerCommand,
     .summary = "What the server knows about its commands.",
     .tips = kAnyOrder},
};

}  // namespace

CommandFamily CommandInfoFamily() { return {"command_info", kSpecsOf<kCommandInfoRows>}; }

}  // namespace sluice
