// The scripting family: EVAL and its kin, and SCRIPT, which keeps compiled scripts by their SHA1.
// Running them is the ScriptEngine's work; here arguments are read and scripts are found.
//
// EVAL's scripts are remembered too, so that EVALSHA finds them; those that came by SCRIPT LOAD
// stay, the others may be forgotten when there are many. No script is logged: the effects of its
// calls are, as one group.
//
//   command          unknown script          kept after it
//   EVAL             compiled                until others need its place
//   SCRIPT LOAD      compiled                until SCRIPT FLUSH
//   EVALSHA          NOSCRIPT                as before; it counts as used
//   SCRIPT EXISTS    0

#include <optional>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/scripts/script_args.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"
#include "server/engine/script_engine.h"

namespace sluice {
namespace {

// Clients look for the word NOSCRIPT and send the text by EVAL then.
constexpr std::string_view kNoScriptText = "NOSCRIPT No matching script. Please use EVAL.";
// A script's name: SHA1 in hex.
constexpr size_t kSha1Digits = 40;

// --- EVAL

// The engine runs it, bounds it and answers.
void RunFound(CommandCall& call, const Script& script, const ScriptKeys& given, bool read_only) {
  const ScriptRun run{script.function, script.name(), given.keys, given.arguments,
                      script.largest_block};
  ScriptEngine& scripts = call.part<ScriptEngine>();
  scripts.Run(call, scripts.cache().lua(), run, script.flags, read_only);
}

// The keys are counted before anything is compiled. A script with a fault answers its error and is
// not kept.
//   EVAL "return {1, 2.9, 'a', false, nil, 3}" 0   → [1, 2, "a", nil]
//   EVAL "return redis.call('incr', KEYS[1])" 1 n  → 1
//   EVAL "return redis.pcall('nosuch')" 0          → -ERR Unknown Redis command called from script
//   EVAL "return 1" 2 a                            → -ERR Number of keys can't be greater than ...
//   EVAL "return 1" -1                             → -ERR Number of keys can't be negative
//   EVAL_RO "return redis.call('set', 'a', 1)" 0   → -ERR Write commands are not allowed from ...
void EvalText(CommandCall& call, bool read_only) {
  ShowScriptCall(call);
  const std::optional<ScriptKeys> given = ReadScriptKeys(call);
  if (!given) return;
  std::string error;
  const Script* const script =
      call.part<ScriptEngine>().cache().Load(call.args[1], /*stays=*/false, error);
  if (!script) return call.reply.Error(error);
  RunFound(call, *script, *given, read_only);
}

// A name that has not 40 digits cannot be known: NOSCRIPT before the count of keys is looked at, as
// in Redis. Digits may be of either case.
//   EVALSHA ffffffffffffffffffffffffffffffffffffffff 0  → -NOSCRIPT No matching script. Please ...
//   EVALSHA abc 0                                       → -NOSCRIPT No matching script. Please ...
void EvalKnown(CommandCall& call, bool read_only) {
  ShowScriptCall(call);
  if (call.args[1].size() != kSha1Digits) return call.reply.Error(kNoScriptText);
  const std::optional<ScriptKeys> given = ReadScriptKeys(call);
  if (!given) return;
  const Script* const script = call.part<ScriptEngine>().cache().Use(call.args[1]);
  if (!script) return call.reply.Error(kNoScriptText);
  RunFound(call, *script, *given, read_only);
}

void Eval(CommandCall& call) { EvalText(call, /*read_only=*/false); }
void EvalReadOnly(CommandCall& call) { EvalText(call, /*read_only=*/true); }
void EvalSha(CommandCall& call) { EvalKnown(call, /*read_only=*/false); }
void EvalShaReadOnly(CommandCall& call) { EvalKnown(call, /*read_only=*/true); }

// The row's flags, with those that the text, or the script known under the name, declares.
template <bool read_only>
uint32_t EvalFlags(const Parts&, const Request& request) {
  const uint32_t row_flags = ScriptRowFlags(read_only);
  const std::optional<Shebang> shebang = ReadShebang(request.args[1]);
  std::string error;
  const std::optional<uint32_t> flags = shebang ? ReadScriptFlags(*shebang, error) : std::nullopt;
  return flags ? DeclaredFlags(row_flags, *flags) : row_flags;
}

// An unknown script leaves the row's flags: the handler answers NOSCRIPT.
template <bool read_only>
uint32_t EvalShaFlags(const Parts& parts, const Request& request) {
  const uint32_t row_flags = ScriptRowFlags(read_only);
  const std::string_view name = request.args[1];
  if (name.size() != kSha1Digits) return row_flags;
  const Script* const script = parts.Get<ScriptEngine>().cache().Find(name);
  return script ? DeclaredFlags(row_flags, script->flags) : row_flags;
}

// --- SCRIPT

// Compiles, and keeps the script until SCRIPT FLUSH.
void ScriptLoad(CommandCall& call) {
  std::string error;
  const Script* const script =
      call.part<ScriptEngine>().cache().Load(call.args[2], /*stays=*/true, error);
  if (!script) return call.reply.Error(error);
  call.reply.Bulk(script->name());
}

// One answer for each name, in the order of the request. After `SCRIPT LOAD "return 1"`:
//   SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db abc  → [1, 0]
void Exists(CommandCall& call) {
  call.reply.Array(call.args.size() - 2);
  for (const std::string_view sha1 : call.args.subspan(2)) {
    call.reply.Integer(call.part<ScriptEngine>().cache().Find(sha1) ? 1 : 0);
  }
}

// SYNC and ASYNC make no difference. A script that is running stays valid until it ends.
void ScriptFlush(CommandCall& call) {
  const bool understood =
      call.args.size() == 2 ||
      (call.args.size() == 3 && (IsWord(call.args[2], "SYNC") || IsWord(call.args[2], "ASYNC")));
  if (!understood) return call.reply.Error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  call.part<ScriptEngine>().cache().Flush();
  call.reply.Ok();
}

// Only for a script that is past its time and has written nothing; the refusal says which.
void ScriptKill(CommandCall& call) {
  const std::string_view refusal = call.part<ScriptEngine>().Kill(/*function=*/false);
  if (!refusal.empty()) return call.reply.Error(refusal);
  call.reply.Ok();
}

// The word is understood, so that tools get an answer; stepping is not supported.
void Debug(CommandCall& call) {
  const std::string_view mode = call.args[2];
  if (IsWord(mode, "NO")) return call.reply.Ok();
  if (IsWord(mode, "YES") || IsWord(mode, "SYNC")) {
    return call.reply.Error(
        "ERR Sluice has no Lua debugger: scripts cannot be stepped through here. SCRIPT DEBUG NO "
        "is "
        "all there is.");
  }
  call.reply.Error("ERR Use SCRIPT DEBUG YES/SYNC/NO");
}

// Valkey's: the text of a script.
void Show(CommandCall& call) {
  const Script* const script = call.part<ScriptEngine>().cache().Find(call.args[2]);
  if (!script) return call.reply.Error("NOSCRIPT No matching script.");
  call.reply.Bulk(script->text);
}

constexpr std::string_view kScriptsHelp[] = {
    "DEBUG (YES|SYNC|NO)",
    "    Set the debug mode for subsequent scripts executed.",
    "EXISTS <sha1> [<sha1> ...]",
    "    Return information about the existence of the scripts in the script cache.",
    "FLUSH [ASYNC|SYNC]",
    "    Flush the Lua scripts cache. Very dangerous on replicas.",
    "    When called without the optional mode argument, the behavior is determined by the",
    "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
    "    * ASYNC: Asynchronously flush the scripts cache.",
    "    * SYNC: Synchronously flush the scripts cache.",
    "KILL",
    "    Kill the currently executing Lua script.",
    "LOAD <script>",
    "    Load a script into the scripts cache without executing it.",
    "SHOW <sha1>",
    "    Return the text of a script in the script cache.",
};

void ScriptsHelp(CommandCall& call) { ReplyHelp(call, kScriptsHelp); }

// --- the table

constexpr std::string_view kOnAll = "request_policy:all_nodes,response_policy:all_succeeded";
constexpr std::string_view kDepends = "Depends on the script that is executed.";

// No script may call SCRIPT. KILL is served while a script is past its time.
constexpr CommandRow kScriptsSubcommandsListed[] = {
    {.name = "DEBUG",
     .arity = 3,
     .flags = kNoScript,
     .run = Debug,
     .since = "3.2.0",
     .complexity = "O(1)",
     .usage = "mode=<YES | SYNC | NO>",
     .summary = "There is no Lua debugger; refused."},
    {.name = "EXISTS",
     .arity = -3,
     .flags = kNoScript,
     .run = Exists,
     .since = "2.6.0",
     .complexity = "O(N) with N being the number of scripts to check",
     .usage = "sha1 [sha1 ...]",
     .summary = "Which scripts are in the cache.",
     .tips = "request_policy:all_shards,response_policy:agg_logical_and"},
    {.name = "FLUSH",
     .arity = -2,
     .flags = kNoScript,
     .run = ScriptFlush,
     .since = "2.6.0",
     .complexity = "O(N) with N being the number of scripts in cache",
     .usage = "async=[ASYNC | SYNC]@6.2.0",
     .summary = "Forget all scripts.",
     .history = "6.2.0 `ASYNC` and `SYNC`.",
     .tips = kOnAll},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = ScriptsHelp,
     .since = "5.0.0",
     .complexity = "O(1)",
     .summary = "What the subcommands do."},
    {.name = "KILL",
     .arity = 2,
     .flags = kNoScript | kAllowBusy,
     .run = ScriptKill,
     .since = "2.6.0",
     .complexity = "O(1)",
     .summary = "End the script that runs, if it has written nothing.",
     .tips = "request_policy:all_shards,response_policy:one_succeeded"},
    {.name = "LOAD",
     .arity = 3,
     .flags = kNoScript | kStale,
     .run = ScriptLoad,
     .since = "2.6.0",
     .complexity = "O(N) with N being the length in bytes of the script body.",
     .usage = "script",
     .summary = "Compile a script and keep it; its SHA1.",
     .tips = kOnAll},
    {.name = "SHOW",
     .arity = 3,
     .flags = kNoScript,
     .run = Show,
     .since = "8.0.0",
     .complexity = "O(1)",
     .usage = "sha1",
     .summary = "The text of a script in the cache (Valkey)."},
};
constexpr auto kScriptsSubcommands =
    RowsOf(kScriptsSubcommandsListed, {.categories = kCatScripting, .group = "scripting"});

constexpr CommandRow kScriptsRows[] = {
    RunsScript({.name = "EVAL",
                .run = Eval,
                .since = "2.6.0",
                .complexity = kDepends,
                .usage = "script numkeys [key ...] [arg ...]",
                .summary = "Run a Lua script.",
                .request_flags = EvalFlags<false>}),
    RunsScript({.name = "EVALSHA",
                .run = EvalSha,
                .since = "2.6.0",
                .complexity = kDepends,
                .usage = "sha1 numkeys [key ...] [arg ...]",
                .summary = "Run a Lua script that is in the cache, by its SHA1.",
                .request_flags = EvalShaFlags<false>}),
    RunsScript({.name = "EVAL_RO",
                .run = EvalReadOnly,
                .read_only = true,
                .since = "7.0.0",
                .complexity = kDepends,
                .usage = "script numkeys [key ...] [arg ...]",
                .summary = "Run a Lua script that may not write.",
                .request_flags = EvalFlags<true>}),
    RunsScript({.name = "EVALSHA_RO",
                .run = EvalShaReadOnly,
                .read_only = true,
                .since = "7.0.0",
                .complexity = kDepends,
                .usage = "sha1 numkeys [key ...] [arg ...]",
                .summary = "Run a Lua script in the cache that may not write.",
                .request_flags = EvalShaFlags<true>}),
    {.name = "SCRIPT",
     .arity = -2,
     .subcommands = kSpecsOf<kScriptsSubcommands>,
     .group = "scripting",
     .since = "2.6.0",
     .complexity = "Depends on subcommand.",
     .summary = "Keep Lua scripts."},
};

}  // namespace

CommandFamily ScriptsFamily() { return {"scripts", kSpecsOf<kScriptsRows>}; }

}  // namespace sluice
