// The function family: FUNCTION keeps libraries of Lua functions, FCALL runs them by name.
//
// Functions differ from scripts in that they are data: they are saved, logged and survive a
// restart, and a client calls them by name only. A library is loaded as a whole: its code runs
// once, registers functions, and may do nothing else.
//
//   command             effect    a fault
//   FUNCTION LOAD       itself    leaves everything as it was
//   FUNCTION DELETE     itself    no such library
//   FUNCTION FLUSH      itself
//   FUNCTION RESTORE    itself    leaves everything as it was
//   FCALL               what the function's commands did, as one group

#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "scripting/function_dump.h"
#include "server/commands/families.h"
#include "server/commands/scripts/function_views.h"
#include "server/commands/scripts/script_args.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"
#include "server/engine/script_engine.h"

namespace sluice {
namespace {

// --- FCALL

// Redis's order: the function, then the form of numkeys, with a sentence of its own, then its
// range. The request is shown to MONITOR before all that, so that even a failing call is seen.
//   FCALL nothing -1  → -ERR Function not found  the function is looked for first
void RunFunction(CommandCall& call, bool read_only) {
  ShowScriptCall(call);
  const LibraryFunction* const function = Libraries(call).Find(call.args[1]);
  if (!function) return call.reply.Error("ERR Function not found");
  if (!ParseInt64(call.args[2])) return call.reply.Error("ERR Bad number of keys provided");
  const std::optional<ScriptKeys> given = ReadScriptKeys(call);
  if (!given) return;
  const ScriptRun run{function->function, function->name, given->keys, given->arguments};
  call.part<ScriptEngine>().Run(call, Libraries(call).lua(), run, function->flags, read_only);
}

void FCall(CommandCall& call) { RunFunction(call, /*read_only=*/false); }
void FCallReadOnly(CommandCall& call) { RunFunction(call, /*read_only=*/true); }

// A function says of itself whether it writes, and the gates treat the call as that.
template <bool read_only>
uint32_t FCallFlags(const Parts& parts, const Request& request) {
  const uint32_t row_flags = ScriptRowFlags(read_only);
  const LibraryFunction* const function =
      parts.Get<ScriptEngine>().functions().Find(request.args[1]);
  return function ? DeclaredFlags(row_flags, function->flags) : row_flags;
}

// --- loading and forgetting. Libraries are not in the keyspace: their effects are said here.

// FUNCTION's sentence where a word too many was given.
void RefuseArguments(CommandCall& call) {
  call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '", call.args[1],
                          "'. Try FUNCTION HELP."));
}

// No key changes, so the dispatcher would record nothing by itself.
void RecordAsIs(CommandCall& call) { call.ReplaceWith(call.args); }

// FUNCTION LOAD [REPLACE] code.
struct LoadOptions {
  bool replace = false;
};

constexpr OptionRow<LoadOptions> kLoadOptions[] = {{"REPLACE", kRaise<&LoadOptions::replace>}};

// The code is the last argument, whatever it looks like. Without REPLACE a library of that name is
// an error; with it a failing load leaves the old one in place. The answer is the name of the
// library, which its first line says.
//   FUNCTION LOAD "return 1"  → -ERR Missing library metadata
void FunctionLoad(CommandCall& call) {
  ArgReader args(call.args, 2);
  LoadOptions options;
  while (args.left() > 1) {  // the last argument is the code
    if (TakeOption(args, kLoadOptions, options)) continue;
    args.Fail(Concat("ERR Unknown option given: ", args.Peek()));
  }
  if (args.failed()) return call.reply.Error(args.error());
  std::string error;
  const FunctionLibrary* const library = Libraries(call).Load(args.Bytes(), options.replace, error);
  if (!library) return call.reply.Error(error);
  RecordAsIs(call);
  call.reply.Bulk(library->name);
}

// With all its functions.
//   FUNCTION DELETE nothing  → -ERR Library not found
void Delete(CommandCall& call) {
  if (!Libraries(call).Delete(call.args[2])) return call.reply.Error("ERR Library not found");
  RecordAsIs(call);
  call.reply.Ok();
}

// SYNC and ASYNC are understood and make no difference: libraries are few.
void FunctionFlush(CommandCall& call) {
  if (call.args.size() > 3) return RefuseArguments(call);
  if (call.args.size() == 3 && !IsWord(call.args[2], "SYNC") && !IsWord(call.args[2], "ASYNC")) {
    return call.reply.Error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  }
  Libraries(call).Flush();
  RecordAsIs(call);
  call.reply.Ok();
}

// Ends a function that has not written yet; one that has can only be waited for. SCRIPT KILL does
// not end a function, nor this a script.
void FunctionKill(CommandCall& call) {
  const std::string_view refusal = call.part<ScriptEngine>().Kill(/*function=*/true);
  if (!refusal.empty()) return call.reply.Error(refusal);
  call.reply.Ok();
}

// --- DUMP and RESTORE

// False: the word is none of the three.
bool ReadPolicy(std::string_view word, FunctionLibraries::Policy& policy) {
  using Policy = FunctionLibraries::Policy;
  constexpr std::pair<std::string_view, Policy> kPolicies[] = {
      {"APPEND", Policy::kAppend}, {"REPLACE", Policy::kReplace}, {"FLUSH", Policy::kFlush}};
  for (const auto& [name, named] : kPolicies) {
    if (!IsWord(word, name)) continue;
    policy = named;
    return true;
  }
  return false;
}

// The codes alone: they are compiled again on RESTORE. The payload has RDB's frame, version and
// checksum.
void Dump(CommandCall& call) {
  std::vector<std::string_view> codes;
  for (const auto& [name, library] : Libraries(call).all()) codes.push_back(library->code);
  call.reply.Bulk(WriteFunctionDump(codes));
}

// In a payload of our version: Redis 7.0 refuses those of servers after it.
void RecordRestored(CommandCall& call, const FunctionDump& dump) {
  if (!call.wants_effects()) return;
  const std::vector<std::string_view> codes(dump.codes.begin(), dump.codes.end());
  const std::string payload = WriteFunctionDump(codes);
  std::vector<std::string_view> command(call.args.begin(), call.args.end());
  command[2] = payload;
  call.ReplaceWith(Args(command));
}

// All or nothing: when one library cannot be loaded, all is as it was before. The policy is read
// before the payload. APPEND refuses a name that is taken, REPLACE takes its place, FLUSH drops all
// others.
void Restore(CommandCall& call) {
  if (call.args.size() > 4) return RefuseArguments(call);
  auto policy = FunctionLibraries::Policy::kAppend;
  if (call.args.size() == 4 && !ReadPolicy(call.args[3], policy)) {
    return call.reply.Error(
        "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
  }
  const std::optional<FunctionDump> dump = ReadFunctionDump(call.args[2]);
  if (!dump) return call.reply.Error("ERR DUMP payload version or checksum are wrong");
  std::string error;
  if (!Libraries(call).Restore(*dump, policy, error)) return call.reply.Error(error);
  RecordRestored(call, *dump);
  call.reply.Ok();
}

constexpr std::string_view kFunctionsHelp[] = {
    "LOAD [REPLACE] <FUNCTION CODE>",
    "    Create a new library with the given library name and code.",
    "DELETE <LIBRARY NAME>",
    "    Delete the given library.",
    "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
    "    Return general information on all the libraries:",
    "    * Library name",
    "    * The engine used to run the Library",
    "    * Library description",
    "    * Functions list",
    "    * Library code (if WITHCODE is given)",
    "    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
    "STATS",
    "    Return information about the current function running:",
    "    * Function name",
    "    * Command used to run the function",
    "    * Duration in MS that the function is running",
    "    If no function is running, return nil",
    "    In addition, returns a list of available engines.",
    "KILL",
    "    Kill the current running function.",
    "FLUSH [ASYNC|SYNC]",
    "    Delete all the libraries.",
    "    When called without the optional mode argument, the behavior is determined by the",
    "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
    "    * ASYNC: Asynchronously flush the libraries.",
    "    * SYNC: Synchronously flush the libraries.",
    "DUMP",
    "    Return a serialized payload representing the current libraries, can be restored using "
    "FUNCTION RESTORE command",
    "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
    "    Restore the libraries represented by the given payload, it is possible to give a restore "
    "policy to",
    "    control how to handle existing libraries (default APPEND):",
    "    * FLUSH: delete all existing libraries.",
    "    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
    "    * REPLACE: appends the restored libraries to the existing libraries, On collision, "
    "replace "
    "the old",
    "      libraries with the new libraries (notice that even on this option there is a chance of "
    "failure",
    "      in case of functions name collision with another library).",
};

void FunctionsHelp(CommandCall& call) { ReplyHelp(call, kFunctionsHelp); }

// --- the table

constexpr uint32_t kChanges = kWrite | kNoScript;
constexpr std::string_view kOnShards = "request_policy:all_shards,response_policy:all_succeeded";
constexpr std::string_view kDependsOnFunction = "Depends on the function that is executed.";

// LOAD and RESTORE may take memory; KILL and STATS are served while a function is past its time.
constexpr CommandRow kFunctionsSubcommandsListed[] = {
    {.name = "DELETE",
     .arity = 3,
     .flags = kChanges,
     .run = Delete,
     .complexity = "O(1)",
     .usage = "library-name",
     .summary = "Forget a library.",
     .tips = kOnShards},
    {.name = "DUMP",
     .arity = 2,
     .flags = kNoScript,
     .run = Dump,
     .complexity = "O(N) where N is the number of functions",
     .summary = "All libraries as a payload for FUNCTION RESTORE."},
    {.name = "FLUSH",
     .arity = -2,
     .flags = kChanges,
     .run = FunctionFlush,
     .complexity = "O(N) where N is the number of functions deleted",
     .usage = "async=[ASYNC | SYNC]",
     .summary = "Forget all libraries.",
     .tips = kOnShards},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = FunctionsHelp,
     .complexity = "O(1)",
     .summary = "What the subcommands do."},
    {.name = "KILL",
     .arity = 2,
     .flags = kNoScript | kAllowBusy,
     .run = FunctionKill,
     .complexity = "O(1)",
     .summary = "End the function that runs, if it has written nothing.",
     .tips = "request_policy:all_shards,response_policy:one_succeeded"},
    {.name = "LIST",
     .arity = -2,
     .flags = kNoScript,
     .run = ListFunctions,
     .complexity = "O(N) where N is the number of functions",
     .usage = "[LIBRARYNAME library-name-pattern] [WITHCODE]",
     .summary = "The libraries and their functions.",
     .tips = "nondeterministic_output_order"},
    {.name = "LOAD",
     .arity = -3,
     .flags = kChanges | kDenyOom,
     .run = FunctionLoad,
     .complexity = "O(1) (considering compilation time is redundant)",
     .usage = "[REPLACE] function-code",
     .summary = "Load a library of functions.",
     .tips = kOnShards},
    {.name = "RESTORE",
     .arity = -3,
     .flags = kChanges | kDenyOom,
     .run = Restore,
     .complexity = "O(N) where N is the number of functions on the payload",
     .usage = "serialized-value policy=[FLUSH | APPEND | REPLACE]",
     .summary = "Load the libraries of a FUNCTION DUMP.",
     .tips = kOnShards},
    {.name = "STATS",
     .arity = 2,
     .flags = kNoScript | kAllowBusy,
     .run = ShowFunctionStats,
     .complexity = "O(1)",
     .summary = "What runs now, and how many libraries and functions there are.",
     .tips = "nondeterministic_output,request_policy:all_shards,response_policy:special"},
};
constexpr auto kFunctionsSubcommands =
    RowsOf(kFunctionsSubcommandsListed,
           {.categories = kCatScripting, .group = "scripting", .since = "7.0.0"});

constexpr CommandRow kFunctionsRows[] = {
    RunsScript({.name = "FCALL",
                .run = FCall,
                .since = "7.0.0",
                .complexity = kDependsOnFunction,
                .usage = "function numkeys [key ...] [arg ...]",
                .summary = "Run a function of a library.",
                .request_flags = FCallFlags<false>}),
    RunsScript({.name = "FCALL_RO",
                .run = FCallReadOnly,
                .read_only = true,
                .since = "7.0.0",
                .complexity = kDependsOnFunction,
                .usage = "function numkeys [key ...] [arg ...]",
                .summary = "Run a function of a library that may not write.",
                .request_flags = FCallFlags<true>}),
    {.name = "FUNCTION",
     .arity = -2,
     .subcommands = kSpecsOf<kFunctionsSubcommands>,
     .group = "scripting",
     .since = "7.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "Keep libraries of Lua functions."},
};

}  // namespace

CommandFamily FunctionsFamily() { return {"functions", kSpecsOf<kFunctionsRows>}; }

}  // namespace sluice
