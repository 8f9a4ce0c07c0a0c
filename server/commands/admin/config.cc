// The CONFIG family: options as rows are in server/config/config.h; here they are asked for and
// answered.
//
// CONFIG SET changes all of its options or none. A secret among them is hidden from MONITOR and the
// slow log before anything can go wrong.
//
//   > CONFIG SET maxclients 100 timeout 60      both, or none
//   > CONFIG GET max* timeout

#include "server/config/config.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "server/clients/host.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/log_state.h"
#include "server/engine/access_control.h"
#include "server/engine/defragmenter.h"
#include "server/engine/script_engine.h"
#include "server/limits/limit_service.h"
#include "server/locks/lock_service.h"
#include "server/observe/command_counts.h"
#include "server/observe/statistics.h"
#include "server/replication/replicas.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

// Globs over names, each option once however many patterns match it. No match is an empty map, no
// error.
//   CONFIG GET hz h? nothing  → ["hz", "10"]  each option once
void ConfigGet(CommandCall& call) {
  const Config::Pairs found = call.part<Config>().Get(call.args.subspan(2));
  call.reply.Map(found.size());
  for (const auto& [name, value] : found) {
    call.reply.Bulk(name);
    call.reply.Bulk(value);
  }
}

// enable-protected-configs: "no", "yes", or "local" for connections from this machine.
bool MayChangeProtected(const CommandCall& call) {
  const std::string& rule = call.settings.enable_protected_configs;
  return rule == "yes" || (rule == "local" && call.client.peer.loopback);
}

// Warnings are for the log, as the client's answer is OK or an error. Older warnings from elsewhere
// are dropped first, so that only those of this change are written.
//   CONFIG SET hz 20 nothing 2  → -ERR Unknown option or number of arguments for CONFIG SET - ...
//   CONFIG GET hz               → ["hz", "10"]  nothing was changed
void ConfigSet(CommandCall& call) {
  if (call.args.size() % 2 != 0) return call.reply.Error(ErrorCode::kSyntax);
  Config::Pairs pairs;
  for (size_t i = 2; i < call.args.size(); i += 2) {
    pairs.emplace_back(call.args[i], call.args[i + 1]);
    if (Config::IsSecret(call.args[i])) call.part<Dispatcher>().Hide(i + 1);
  }
  // Before all else that may be wrong, as clients try that again by themselves.
  if (call.part<LogState>().loading &&
      std::ranges::any_of(pairs, [](const auto& pair) { return Config::NeedsData(pair.first); })) {
    return call.reply.Error("LOADING Redis is loading the dataset in memory");
  }
  Config& config = call.part<Config>();
  config.TakeWarnings();
  const std::string fault = config.Set(pairs, MayChangeProtected(call));
  if (!fault.empty()) return call.reply.Error(Concat("ERR ", fault));
  for (const std::string& warning : config.TakeWarnings()) {
    call.part<Host>().Log(LogLevel::kWarning, warning);
  }
  call.reply.Ok();
}

// Resets each count in the part that keeps it. A state that is no count (clients, memory) stays.
void ResetStat(CommandCall& call) {
  call.part<Statistics>() = {};
  call.part<LimitService>().statistics() = {};
  call.part<LockService>().wait_statistics().Reset();
  call.part<CommandCounts>().Reset();
  call.part<ScriptEngine>().cache().ResetStatistics();
  call.part<MemoryLimit>().ResetStatistics();
  call.part<Defragmenter>().ResetStatistics();
  call.part<Clients>().ResetStatistics();
  call.part<Snapshots>().ResetStatistics();
  call.part<Replicas>().ResetStatistics();
  call.reply.Ok();
}

// Needs a configuration file; the error says why it could not be written.
void Rewrite(CommandCall& call) {
  Config& config = call.part<Config>();
  std::vector<std::string> users;
  std::string fault = call.part<AccessControl>().LinesForConfig(users);
  if (fault.empty()) fault = config.Rewrite(users);
  if (!fault.empty()) {
    call.part<Host>().Log(LogLevel::kWarning,
                          Concat("CONFIG REWRITE of '", config.file(), "' failed: ", fault));
    return call.reply.Error(Concat("ERR ", fault));
  }
  call.part<Host>().Log(LogLevel::kNotice, "CONFIG REWRITE executed with success.");
  call.reply.Ok();
}

constexpr std::string_view kConfigHelp[] = {
    "GET <pattern> [<pattern> ...]",
    "    Names and values of the options that match a glob pattern.",
    "SET <option> <value> [<option> <value> ...]",
    "    Change options: all of them, or none if one cannot be changed.",
    "RESETSTAT",
    "    Set the counters that INFO shows to zero.",
    "REWRITE",
    "    Write the options as they are now into the configuration file.",
};

void ConfigHelp(CommandCall& call) { ReplyHelp(call, kConfigHelp); }

// --- the table

constexpr uint32_t kConfigFlags = kAdmin | kNoScript | kLoading | kStale;
constexpr std::string_view kPerOption =
    "O(N) when N is the number of configuration parameters provided";
constexpr std::string_view kSetTips = "request_policy:all_nodes,response_policy:all_succeeded";

// All but HELP are for administrators, and no script may call them.
constexpr CommandRow kConfigSubcommands[] = {
    {.name = "GET",
     .arity = -3,
     .flags = kConfigFlags,
     .run = ConfigGet,
     .group = "server",
     .since = "2.0.0",
     .complexity = kPerOption,
     .usage = "parameter=<parameter ...>",
     .summary = "Names and values of the options that match.",
     .history = "7.0.0 Several parameters at once."},
    {.name = "SET",
     .arity = -4,
     .flags = kConfigFlags,
     .run = ConfigSet,
     .group = "server",
     .since = "2.0.0",
     .complexity = kPerOption,
     .usage = "parameter value [parameter value ...]",
     .summary = "Change options while the server runs, all or none.",
     .history = "7.0.0 Several parameters at once.",
     .tips = kSetTips},
    {.name = "RESETSTAT",
     .arity = 2,
     .flags = kConfigFlags,
     .run = ResetStat,
     .group = "server",
     .since = "2.0.0",
     .complexity = "O(1)",
     .summary = "Set the counters of INFO to zero."},
    {.name = "REWRITE",
     .arity = 2,
     .flags = kConfigFlags,
     .run = Rewrite,
     .group = "server",
     .since = "2.8.0",
     .complexity = "O(1)",
     .summary = "Write the options as they are into the configuration file."},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = ConfigHelp,
     .group = "server",
     .since = "5.0.0",
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
};

constexpr CommandRow kConfigRows[] = {
    {.name = "CONFIG",
     .arity = -2,
     .subcommands = kSpecsOf<kConfigSubcommands>,
     .group = "server",
     .since = "2.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "Read and change the configuration."},
};

}  // namespace

CommandFamily ConfigFamily() { return {"config", kSpecsOf<kConfigRows>}; }

}  // namespace sluice
