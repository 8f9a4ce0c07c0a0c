// The SLOWLOG family: the commands that took longest. server/observe/slow_log.h and command_timer.h
// say what is in the log and why.
//
// Newest first. Times are in µs of execution, without waiting and without writing the answer.
//
//   slowlog-log-slower-than 10000      µs from which on a command is kept; -1: none is
//   slowlog-max-len 128                entries

#include "server/observe/slow_log.h"

#include <algorithm>
#include <optional>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"

namespace sluice {
namespace {

constexpr int64_t kShownByDefault = 10;
constexpr int64_t kAll = -1;

// Six fields: id, Unix seconds, µs, arguments, client's address and its name. `tells_given`: and
// how many arguments there were. Arguments were cut and hidden when the entry was made.
void ReplyEntry(ReplySink& reply, const SlowEntry& entry, bool tells_given) {
  reply.Array(tells_given ? 7 : 6);
  reply.Integer(entry.id);
  reply.Integer(entry.unix_s);
  reply.Integer(entry.micros);
  reply.Array(entry.args.size());
  for (const std::string& argument : entry.args) reply.Bulk(argument);
  reply.Bulk(entry.address);
  reply.Bulk(entry.client_name);
  if (tells_given) reply.Integer(static_cast<int64_t>(entry.args_given));
}

// The seventh field is Redis 8.10's, as slowlog-max-argc is: it is told where that option is set.
// go-redis and hedis take six at most, and go-redis reads a seventh for the next answer.
//
// -1 is all; any other negative number, and what is no number, have the same sentence.
//   SLOWLOG GET -2  → -ERR count should be greater than or equal to -1
//   SLOWLOG GET x   → -ERR count should be greater than or equal to -1
//   SLOWLOG GET 0   → []
void SlowLogGet(CommandCall& call) {
  if (call.args.size() > 3) {
    return call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '",
                                   call.args[1], "'. Try SLOWLOG HELP."));
  }
  std::optional<int64_t> count = kShownByDefault;
  if (call.args.size() == 3) count = ParseInt64(call.args[2]);
  if (!count || *count < kAll) {
    return call.reply.Error("ERR count should be greater than or equal to -1");
  }
  const SlowLog& log = call.part<SlowLog>();
  const bool tells_given = log.args_max() != SlowLog::kArgsMaxOfRedis7;
  const auto& entries = log.entries();
  const size_t shown =
      *count == kAll ? entries.size() : std::min(entries.size(), static_cast<size_t>(*count));
  call.reply.Array(shown);
  for (size_t i = 0; i < shown; ++i) ReplyEntry(call.reply, entries[i], tells_given);
}

// O(1).
void Len(CommandCall& call) {
  call.reply.Integer(static_cast<int64_t>(call.part<SlowLog>().entries().size()));
}

// Ids go on from where they were.
void SlowLogReset(CommandCall& call) {
  call.part<SlowLog>().Clear();
  call.reply.Ok();
}

constexpr std::string_view kSlowLogHelp[] = {
    "GET [<count>]",
    "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
    "    Entries are made of:",
    "    id, timestamp, time in microseconds, arguments array, client IP and port,",
    "    client name",
    "LEN",
    "    Return the length of the slowlog.",
    "RESET",
    "    Reset the slowlog.",
};

void SlowLogHelp(CommandCall& call) { ReplyHelp(call, kSlowLogHelp); }

// --- the table

constexpr uint32_t kSlowLogFlags = kAdmin | kLoading | kStale;

// For administrators: arguments of others' commands are shown.
constexpr CommandRow kSlowLogSubcommands[] = {
    {.name = "GET",
     .arity = -2,
     .flags = kSlowLogFlags,
     .run = SlowLogGet,
     .group = "server",
     .since = "2.2.12",
     .complexity = "O(N) where N is the number of entries returned",
     .usage = "[count]",
     .summary = "The commands that took longest, the newest first.",
     .history = "4.0.0 Address and name of the client.",
     .tips = "request_policy:all_nodes,nondeterministic_output"},
    {.name = "LEN",
     .arity = 2,
     .flags = kSlowLogFlags,
     .run = Len,
     .group = "server",
     .since = "2.2.12",
     .complexity = "O(1)",
     .summary = "How many entries the slow log has.",
     .tips = "request_policy:all_nodes,response_policy:agg_sum,nondeterministic_output"},
    {.name = "RESET",
     .arity = 2,
     .flags = kSlowLogFlags,
     .run = SlowLogReset,
     .group = "server",
     .since = "2.2.12",
     .complexity = "O(N) where N is the number of entries in the slowlog",
     .summary = "Forget all entries of the slow log.",
     .tips = "request_policy:all_nodes,response_policy:all_succeeded"},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = SlowLogHelp,
     .group = "server",
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
};

constexpr CommandRow kSlowLogRows[] = {
    {.name = "SLOWLOG",
     .arity = -2,
     .subcommands = kSpecsOf<kSlowLogSubcommands>,
     .group = "server",
     .since = "2.2.12",
     .complexity = "Depends on subcommand.",
     .summary = "The commands that took longest."},
};

}  // namespace

CommandFamily SlowLogFamily() { return {"slow_log", kSpecsOf<kSlowLogRows>}; }

}  // namespace sluice
