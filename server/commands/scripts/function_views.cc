// See function_views.h.
#include "server/commands/scripts/function_views.h"

#include <optional>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/glob.h"
#include "server/commands/shared/option_table.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/arg_reader.h"
#include "server/engine/script_engine.h"

namespace sluice {
namespace {

// Flags are simple strings in a set, as in Redis; the description may be null.
void ReplyFunction(const LibraryFunction& function, ReplySink& reply) {
  reply.Map(3);
  reply.Bulk("name");
  reply.Bulk(function.name);
  reply.Bulk("description");
  if (function.description) {
    reply.Bulk(*function.description);
  } else {
    reply.Null();
  }
  const std::vector<std::string_view> flags = ScriptFlagNames(function.flags);
  reply.Bulk("flags");
  reply.Set(flags.size());
  for (const std::string_view flag : flags) reply.Status(flag);
}

// The order of the fields is that of Redis, with the code at the end if it is wanted.
void ReplyLibrary(const FunctionLibrary& library, bool with_code, ReplySink& reply) {
  reply.Map(with_code ? 4 : 3);
  reply.Bulk("library_name");
  reply.Bulk(library.name);
  reply.Bulk("engine");
  reply.Bulk("LUA");
  reply.Bulk("functions");
  reply.Array(library.functions.size());
  for (const LibraryFunction& function : library.functions) ReplyFunction(function, reply);
  if (!with_code) return;
  reply.Bulk("library_code");
  reply.Bulk(library.code);
}

// Seen only from another client, while a slow function lets it in. The duration is that
// of the steady clock, since the turn's own time stands still.
void ReplyRunning(CommandCall& call) {
  ReplySink& reply = call.reply;
  const RunningScript* const running = call.part<ScriptState>().now_running();
  if (!running) return reply.Null();
  reply.Map(3);
  reply.Bulk("name");
  reply.Bulk(running->name);
  reply.Bulk("command");
  reply.Array(running->request.args.size());
  for (const std::string_view word : running->request.args) reply.Bulk(word);
  reply.Bulk("duration_ms");
  reply.Integer((call.part<TurnClock>().clock().TickNanos() - running->begin_ns) / 1'000'000);
}

// --- FUNCTION LIST

// Each word at most once: the second one is unknown.
struct ListOptions {
  bool with_code = false;
  std::optional<std::string_view> pattern;
};

// FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE].
constexpr OptionRow<ListOptions> kFunctionViewsListOptions[] = {
    {"WITHCODE", kRaise<&ListOptions::with_code>, 0,
     [](const ListOptions& before) { return !before.with_code; }},
    {"LIBRARYNAME",
     [](ArgReader& args, ListOptions& options) {
       if (!args.more()) return args.Fail("ERR library name argument was not given");
       options.pattern = args.Bytes();
     },
     0, [](const ListOptions& before) { return !before.pattern; }},
};

}  // namespace

// O(libraries). The pattern is a glob over names of libraries, in any case; without
// it all are listed.
//   FUNCTION LIST                    → []
//   FUNCTION LIST LIBRARYNAME        → -ERR library name argument was not given
//   FUNCTION LIST WITHCODE WITHCODE  → -ERR Unknown argument WITHCODE
void ListFunctions(CommandCall& call) {
  ArgReader args(call.args, 2);
  ListOptions options;
  while (args.more()) {
    if (TakeOption(args, kFunctionViewsListOptions, options)) continue;
    args.Fail(Concat("ERR Unknown argument ", args.Peek()));
  }
  if (args.failed()) return call.reply.Error(args.error());
  const auto& [with_code, pattern] = options;
  // Made once, whatever the number of libraries.
  const Glob glob(pattern.value_or(""), /*ignore_case=*/true);
  std::vector<const FunctionLibrary*> chosen;
  for (const auto& [name, library] : Libraries(call).all()) {
    if (!pattern || glob.Matches(name)) chosen.push_back(library.get());
  }
  call.reply.Array(chosen.size());
  for (const FunctionLibrary* library : chosen) ReplyLibrary(*library, with_code, call.reply);
}

// There is one engine, LUA, and its name is part of the answer. A script of EVAL that runs is no
// function, and SCRIPT KILL ends it: the answer says so.
void ShowFunctionStats(CommandCall& call) {
  const ScriptState& state = call.part<ScriptState>();
  ReplySink& reply = call.reply;
  if (state.running() && !state.now_running()->is_function) return reply.Error(state.BusyText());
  reply.Map(2);
  reply.Bulk("running_script");
  ReplyRunning(call);
  reply.Bulk("engines");
  reply.Map(1);
  reply.Bulk("LUA");
  reply.Map(2);
  reply.Bulk("libraries_count");
  reply.Integer(static_cast<int64_t>(Libraries(call).all().size()));
  reply.Bulk("functions_count");
  reply.Integer(static_cast<int64_t>(Libraries(call).function_count()));
}

}  // namespace sluice
