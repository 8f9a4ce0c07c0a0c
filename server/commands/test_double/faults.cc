// SLUICE.FAULT: faults on demand (server/test_double/faults.h).

#include <string>

#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/commands/test_double/families.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/reply_fields.h"
#include "server/test_double/request_watch.h"

namespace sluice {
namespace {

constexpr IntRange kId{"id", 1, INT64_MAX};

void Add(CommandCall& call) {
  std::string fault;
  const uint64_t id =
      call.part<RequestWatch>().AddFault(call.client.client_id, call.args.subspan(2), fault);
  if (!fault.empty()) return call.reply.Error(fault);
  call.reply.Integer(static_cast<int64_t>(id));
}

void FaultDelete(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t id = args.IntIn(kId);
  if (!args.Finish()) return call.reply.Error(args.error());
  call.reply.Integer(call.part<RequestWatch>().DeleteFault(static_cast<uint64_t>(id)) ? 1 : 0);
}

void FaultClear(CommandCall& call) {
  call.reply.Integer(static_cast<int64_t>(call.part<RequestWatch>().ClearFaults()));
}

void FaultList(CommandCall& call) {
  const auto& rules = call.part<RequestWatch>().faults().rules();
  call.reply.Array(rules.size());
  for (const auto& [id, rule] : rules) {
    ReplyFields fields(call.reply, 4);
    fields.Integer("id", static_cast<int64_t>(id));
    fields.At("rule").Array(rule.canonical.size());
    for (const std::string& word : rule.canonical) call.reply.Bulk(word);
    fields.Integer("seen", static_cast<int64_t>(rule.seen));
    fields.Integer("hits", static_cast<int64_t>(rule.hits));
  }
}

constexpr std::string_view kFaultsHelp[] = {
    "ADD [COMMAND <name> [<subcommand>]] [KEY <glob>] [CLIENT <id> | NAME <glob>] [ARGS <n>]",
    "    [NTH <n> | PROB <p>] [TIMES <n>] [BEFORE | AFTER] <action>",
    "    Add a rule; answer with its id. The first rule that matches a request hits it:",
    "    BEFORE (default) it is executed, which it then is not, or AFTER, and its answer suffers.",
    "    <action> is ERROR <text>, DELAY <ms> [REAL], CLOSE, DROP, TRUNCATE <bytes>, HANG, SPLIT,",
    "    STATE LOADING|READONLY|OOM|MISCONF|BUSY|NOREPLICAS|MASTERDOWN, MOVED <address>,",
    "    ASK <address> or FAILOVER.",
    "DEL <id>",
    "    Delete a rule. What it has held back goes on.",
    "LIST",
    "    List the rules, and how many requests each has seen and hit.",
    "CLEAR",
    "    Delete all rules; answer with their number.",
};

void FaultsHelp(CommandCall& call) { ReplyHelp(call, kFaultsHelp); }

constexpr uint32_t kFaultsFlags = kOfTestDouble | kAdmin | kNoScript | kStale;

constexpr CommandRow kFaultsListed[] = {
    {.name = "ADD",
     .arity = -3,
     .flags = kFaultsFlags,
     .run = Add,
     .complexity = "O(log N) where N is the number of rules",
     .usage =
         "[COMMAND name [subcommand]] [KEY key-glob] [CLIENT client-id:integer | NAME name-glob] "
         "[ARGS count:integer(1..1048576)] [NTH nth:integer | PROB probability:double] "
         "[TIMES times:integer] [BEFORE | AFTER] action=<ERROR text | DELAY ms:integer [REAL] | "
         "CLOSE | DROP | TRUNCATE bytes:integer | HANG | SPLIT | STATE state=<LOADING | "
         "READONLY | OOM | MISCONF | BUSY | NOREPLICAS | MASTERDOWN> | MOVED address | ASK "
         "address | FAILOVER>",
     .summary = "Adds a rule: which requests are hit, and by what."},
    {.name = "DEL",
     .arity = 3,
     .flags = kFaultsFlags,
     .run = FaultDelete,
     .complexity = "O(N) where N is the number of requests that are held back",
     .usage = "id:integer",
     .summary = "Deletes a rule."},
    {.name = "LIST",
     .arity = 2,
     .flags = kFaultsFlags,
     .run = FaultList,
     .complexity = "O(N) where N is the number of rules",
     .summary = "The rules, with their hits."},
    {.name = "CLEAR",
     .arity = 2,
     .flags = kFaultsFlags,
     .run = FaultClear,
     .complexity = "O(N) where N is the number of rules",
     .summary = "Deletes all rules."},
    {.name = "HELP",
     .arity = 2,
     .flags = kOfTestDouble | kLoading | kStale,
     .run = FaultsHelp,
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
};
constexpr auto kFaultsSubcommands =
    RowsOf(kFaultsListed, {.group = "test double", .since = "0.1.0"});

constexpr CommandRow kFaultsRows[] = {
    {.name = "SLUICE.FAULT",
     .arity = -2,
     .flags = kOfTestDouble,
     .subcommands = kSpecsOf<kFaultsSubcommands>,
     .group = "test double",
     .since = "0.1.0",
     .complexity = "Depends on subcommand.",
     .summary = "Faults that this test double makes."},
};

}  // namespace

CommandFamily FaultsFamily() { return {"faults", kSpecsOf<kFaultsRows>}; }

}  // namespace sluice
