// LIMIT.POLICY: limits with a name, so that they are changed in one place. Policies are not in the
// keyspace, so their effects are said here; callers that wait with one follow a change at once
// (LimitWaiters::PolicyChanged).
//
// A policy is looked up when a request is made, so LIMIT.POLICY SET works on live keys: these keep
// the fraction that is consumed. There are at most 10000, and none of them belongs to a database.
//
//   > LIMIT.POLICY SET api GCRA 100 60000 BURST 20
//   > LIMIT.TAKE user:7 POLICY api
//   > LIMIT.POLICY SET api GCRA 200 60000 BURST 20      from the next request on

#include <string_view>
#include <vector>

#include "server/commands/families.h"
#include "server/commands/limits/limit_args.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/reply_fields.h"
#include "server/limits/limit_waiters.h"
#include "storage/limits/calendar.h"

namespace sluice {
namespace {

PolicyTable& Policies(CommandCall& call) { return call.part<LimitService>().policies(); }

void RecordAsIs(CommandCall& call) { call.ReplaceWith(call.args); }

// The numbers are checked before the name, and both before anything is replaced.
//   LIMIT.POLICY SET api WINDOW 5 1000  → OK
//   LIMIT.POLICY GET api                → ["WINDOW", 5, 1000, 0]
//   LIMIT.POLICY GET nothing            → []
//   LIMIT.POLICY SET api NOSUCH 5 1000  → -ERR unknown limiter algorithm 'NOSUCH', they are ...
void SetPolicy(CommandCall& call) {
  ArgReader args(call.args, 3);
  const LimitConfig config = ReadConfig(args, call.part<LimitService>(), call.client.replays);
  if (args.failed()) return call.reply.Error(args.error());
  switch (Policies(call).Set(call.args[2], config)) {
    case PolicyTable::SetResult::kNameTooLong:
      return call.reply.Error("ERR a policy's name has at most 256 bytes");
    case PolicyTable::SetResult::kTooMany:
      return call.reply.Error("ERR there are 10000 policies already");
    case PolicyTable::SetResult::kSet:
      RecordAsIs(call);
      call.part<LimitWaiters>().PolicyChanged(call.args[2]);
      return call.reply.Ok();
  }
}

// An empty answer for a name that is not known; burst is the one in effect.
void GetPolicy(CommandCall& call) {
  const LimitConfig* const policy = Policies(call).Find(call.args[2]);
  if (!policy) return ReplyNoFields(call.reply);
  ReplyFields fields(call.reply, policy->calendar ? 7 : 4);
  fields.At("algorithm").Bulk(LimitAlgorithmName(policy->algorithm));
  fields.Integer("max", policy->max);
  fields.Integer("period_ms", policy->period_ms);
  fields.Integer("burst", policy->burst);
  if (!policy->calendar) return;
  fields.At("unit").Bulk(CalendarUnitName(policy->calendar->terms().unit));
  fields.At("zone").Bulk(policy->calendar->zone());
  fields.Integer("starts", policy->calendar->terms().starts);
}

// Requests that name it fail from here on. One that waits gets the error as soon as it is at the
// head of its queue, not at its deadline.
void DeletePolicy(CommandCall& call) {
  const bool deleted = Policies(call).Delete(call.args[2]);
  if (deleted) {
    RecordAsIs(call);
    call.part<LimitWaiters>().PolicyChanged(call.args[2]);
  }
  call.reply.Integer(deleted);
}

// Sorted by name.
void ListPolicies(CommandCall& call) {
  const std::vector<std::string_view> names = Policies(call).Names();
  call.reply.Array(names.size());
  for (const std::string_view name : names) call.reply.Bulk(name);
}

constexpr std::string_view kLimitPoliciesHelp[] = {
    "DEL <name>",
    "    Forget a policy. Keys keep the numbers they have.",
    "GET <name>",
    "    Answer with a policy's algorithm, max, period and burst.",
    "LIST",
    "    Answer with the names of all policies, sorted.",
    "SET <name> <algorithm> <max> <period-ms> [BURST <burst>]",
    "SET <name> CALENDAR <max> MINUTE|HOUR|DAY|WEEK|MONTH [ZONE <zone>] [STARTS <n>]",
    "    Name a limit, or change the one of that name.",
};

void LimitPoliciesHelp(CommandCall& call) { ReplyHelp(call, kLimitPoliciesHelp); }

// --- the table

// Writes without keys: what they change is beside the keyspace, and holds for all clients, so DEL
// and SET are @dangerous.
constexpr CommandRow kLimitPoliciesSubcommands[] = {
    {.name = "DEL",
     .arity = 3,
     .flags = kNotInRedis70 | kWrite | kFast,
     .categories = kCatLimit | kCatDangerous,
     .run = DeletePolicy,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(log N) where N is the number of policies.",
     .usage = "name:string(0..256)",
     .summary = "Forget a policy; keys keep the numbers they have. 1 or 0."},
    {.name = "GET",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .categories = kCatLimit,
     .run = GetPolicy,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(log N) where N is the number of policies.",
     .usage = "name:string(0..256)",
     .summary = "A policy's algorithm, max, period and burst; nothing if there is none."},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .categories = kCatLimit,
     .run = LimitPoliciesHelp,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(1)",
     .summary = "What LIMIT.POLICY can do."},
    {.name = "LIST",
     .arity = 2,
     .flags = kReadOnly,
     .categories = kCatLimit,
     .run = ListPolicies,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of policies.",
     .summary = "The names of all policies, sorted."},
    {.name = "SET",
     .arity = -6,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
     .categories = kCatLimit | kCatDangerous,
     .run = SetPolicy,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(log N) where N is the number of policies.",
     .usage = "name:string(0..256) limit=<algorithm=<WINDOW | ROLLING | SLIDING | LOG | GCRA | "
              "LEAKY> max:integer(1..2^62) period-ms:integer(1..2^46) | calendar=<CALENDAR "
              "max:integer(1..2^62) unit=<MINUTE | HOUR | DAY | WEEK | MONTH> [ZONE "
              "zone:string(1..64)] [STARTS starts:integer(0..31)]>> [BURST "
              "burst:integer(0..2^62)]",
     .summary = "Name a limit, so that it can be changed in one place."},
};

constexpr CommandRow kLimitPoliciesRows[] = {
    {.name = "LIMIT.POLICY",
     .arity = -2,
     .subcommands = kSpecsOf<kLimitPoliciesSubcommands>,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "Depends on subcommand.",
     .summary = "Named limits."},
};

}  // namespace

CommandFamily LimitPoliciesFamily() { return {"limit_policies", kSpecsOf<kLimitPoliciesRows>}; }

}  // namespace sluice
