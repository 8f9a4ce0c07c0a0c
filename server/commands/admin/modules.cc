// The MODULE family of a server that loads none.
//
// Some clients ask MODULE LIST at their start to learn what a server can do: the answer is empty,
// not an error.

#include "server/clients/host.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/command.h"

namespace sluice {
namespace {

// Empty: Sluice's commands of Redis's modules are built in, and are no module.
void ModuleList(CommandCall& call) { call.reply.Array(0); }

// Answered as by a server that could not load that one, which is what clients know. The gate of
// protected commands is before it.
//   MODULE LOAD x  → -ERR Error loading the extension. Please check the server logs.
void Load(CommandCall& call) {
  call.part<Host>().Log(LogLevel::kWarning, "a module failed to load: Sluice loads no modules");
  call.reply.Error("ERR Error loading the extension. Please check the server logs.");
}

void Unload(CommandCall& call) {
  call.reply.Error("ERR Error unloading module: no such module with that name");
}

constexpr std::string_view kModulesHelp[] = {
    "LIST",
    "    Return a list of loaded modules.",
    "LOAD <path> [<arg> ...]",
    "    Load a module library from <path>, passing to it any optional arguments.",
    "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
    "    Load a module library from <path>, while passing it module configurations and optional "
    "arguments.",
    "UNLOAD <name>",
    "    Unload a module.",
};

void ModulesHelp(CommandCall& call) { ReplyHelp(call, kModulesHelp); }

// --- the table

constexpr uint32_t kLoads = kAdmin | kNoScript | kNoAsyncLoading | kProtected;

// The rows of Redis, so that a refusal is told as one and not as an unknown word.
constexpr CommandRow kModulesSubcommandsListed[] = {
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = ModulesHelp,
     .since = "5.0.0",
     .summary = "What the subcommands do."},
    {.name = "LIST",
     .arity = 2,
     .flags = kAdmin | kNoScript,
     .run = ModuleList,
     .complexity = "O(N) where N is the number of loaded modules.",
     .summary = "The modules that are loaded: none.",
     .tips = "nondeterministic_output_order"},
    {.name = "LOAD",
     .arity = -3,
     .flags = kLoads,
     .run = Load,
     .usage = "path [arg ...]",
     .summary = "Load a module; refused."},
    {.name = "LOADEX",
     .arity = -3,
     .flags = kLoads,
     .run = Load,
     .since = "7.0.0",
     .usage = "path [CONFIG configs=<name value> [CONFIG configs=<name value> ...]] "
              "[ARGS args=<arg> ...]",
     .summary = "Load a module with options; refused."},
    {.name = "UNLOAD",
     .arity = 3,
     .flags = kLoads,
     .run = Unload,
     .usage = "name",
     .summary = "Unload a module; refused."},
};
constexpr auto kModulesSubcommands =
    RowsOf(kModulesSubcommandsListed, {.group = "server", .since = "4.0.0", .complexity = "O(1)"});

constexpr CommandRow kModulesRows[] = {
    {.name = "MODULE",
     .arity = -2,
     .subcommands = kSpecsOf<kModulesSubcommands>,
     .group = "server",
     .since = "4.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "Modules: none are loaded."},
};

}  // namespace

CommandFamily ModulesFamily() { return {"modules", kSpecsOf<kModulesRows>}; }

}  // namespace sluice
