// SLUICE.JOURNAL: what clients sent and got (server/test_double/journal.h).

#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/test_double/families.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/reply_fields.h"
#include "server/test_double/journal_expect.h"
#include "server/test_double/journal_export.h"
#include "server/test_double/request_watch.h"

namespace sluice {
namespace {

constexpr IntRange kMaxLength{"MAXLEN", 1, Journal::kEntriesMax};
constexpr IntRange kCount{"COUNT", 1, INT64_MAX};
constexpr IntRange kClient{"CLIENT", 1, INT64_MAX};

void Start(CommandCall& call) {
  ArgReader args(call.args, 2);
  int64_t entries_max = Journal::kEntriesDefault;
  if (args.more()) {
    if (!args.TakeWord("MAXLEN")) args.Fail(ErrorCode::kSyntax);
    entries_max = args.IntIn(kMaxLength);
  }
  if (!args.Finish()) return call.reply.Error(args.error());
  call.part<RequestWatch>().StartJournal(static_cast<size_t>(entries_max));
  call.reply.Ok();
}

void Stop(CommandCall& call) {
  call.part<RequestWatch>().StopJournal();
  call.reply.Ok();
}

void JournalClear(CommandCall& call) {
  call.part<RequestWatch>().ClearJournal();
  call.reply.Ok();
}

// --- GET

struct Filter {
  int64_t count = INT64_MAX;
  int64_t client = 0;  // 0: each
  std::string_view pattern;
};
constexpr OptionRow<Filter> kFilter[] = {
    {"COUNT", [](ArgReader& args, Filter& to) { to.count = args.IntIn(kCount); }, 1},
    {"CLIENT", [](ArgReader& args, Filter& to) { to.client = args.IntIn(kClient); }, 1},
    {"MATCH", kTakeBytes<&Filter::pattern>, 1},
};

// Why it cannot be matched, or empty.
std::string PatternFault(std::string_view pattern) {
  if (!pattern.empty() && pattern.size() <= RequestGlob::kBytesMax) return {};
  return Concat("ERR a pattern has 1 to ", RequestGlob::kBytesMax, " bytes");
}

void ReplyEntry(ReplySink& reply, const JournalEntry& entry) {
  ReplyFields fields(reply, 7);
  fields.Integer("number", static_cast<int64_t>(entry.number));
  fields.Integer("at_ms", entry.unix_ms);
  fields.Integer("client", static_cast<int64_t>(entry.client));
  fields.At("name").Bulk(entry.name);
  fields.At("request").Array(entry.words.size());
  for (const std::string& word : entry.words) reply.Bulk(word);
  fields.At("answer");
  entry.answer.empty() ? reply.Null() : reply.Bulk(entry.answer);
  fields.At("fault");
  entry.fault == 0 ? reply.Null() : reply.Integer(static_cast<int64_t>(entry.fault));
}

void Get(CommandCall& call) {
  ArgReader args(call.args, 2);
  Filter filter;
  ReadOptionsOnce(args, kFilter, filter);
  if (!args.Finish()) return call.reply.Error(args.error());
  std::optional<RequestGlob> glob;
  if (filter.pattern.data()) {
    if (const std::string fault = PatternFault(filter.pattern); !fault.empty())
      return call.reply.Error(fault);
    glob.emplace(filter.pattern);
  }
  const auto& entries = call.part<RequestWatch>().journal().entries();
  std::vector<const JournalEntry*> found;  // the newest first
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (found.size() == static_cast<size_t>(filter.count)) break;
    if (filter.client != 0 && entry->client != static_cast<uint64_t>(filter.client)) continue;
    if (!glob || glob->Matches(*entry, entry->Line())) found.push_back(&*entry);
  }
  call.reply.Array(found.size());
  for (auto entry = found.rbegin(); entry != found.rend(); ++entry) {
    ReplyEntry(call.reply, **entry);
  }
}

// --- EXPECT, EXPORT

constexpr IntRange kExpected{"the number of patterns", 1, kExpectedMax};

void ExpectRequests(CommandCall& call) {
  ArgReader args(call.args, 2);
  const bool in_order = args.TakeWord("ORDERED");
  const int64_t count = args.IntIn(kExpected);
  if (!args.failed() && args.left() != static_cast<size_t>(count))
    args.Fail(Concat("ERR ", count, " patterns were announced, ", args.left(), " are there"));
  if (args.failed()) return call.reply.Error(args.error());
  for (const std::string_view pattern : args.rest()) {
    if (const std::string fault = PatternFault(pattern); !fault.empty())
      return call.reply.Error(fault);
  }
  const std::string missing = Expect(call.part<RequestWatch>().journal(), args.rest(), in_order);
  if (!missing.empty()) return call.reply.Error(missing);
  call.reply.Ok();
}

void ExportAll(CommandCall& call) { call.reply.Bulk(Export(call.part<RequestWatch>().journal())); }

constexpr std::string_view kJournalHelp[] = {
    "START [MAXLEN <n>]",
    "    Record requests, at most so many (10000): the oldest go.",
    "STOP",
    "    Record no more. What there is stays.",
    "CLEAR",
    "    Forget what was recorded.",
    "GET [COUNT <n>] [MATCH <pattern>] [CLIENT <id>]",
    "    The newest <n> requests that match, the oldest of them first.",
    "EXPECT [ORDERED] <n> <pattern> [<pattern> ...]",
    "    OK if for each pattern there was a request of its own, else what is missing, in words.",
    "EXPORT",
    "    All of it as a transcript that another server can be played.",
};

void JournalHelp(CommandCall& call) { ReplyHelp(call, kJournalHelp); }

constexpr uint32_t kJournalFlags = kOfTestDouble | kAdmin | kNoScript | kStale;
constexpr std::string_view kByEntries = "O(N) where N is the number of recorded requests";

constexpr CommandRow kJournalListed[] = {
    {.name = "START",
     .arity = -2,
     .flags = kJournalFlags,
     .run = Start,
     .complexity = "O(1)",
     .usage = "[MAXLEN count:integer]",
     .summary = "Records what clients send, and get."},
    {.name = "STOP",
     .arity = 2,
     .flags = kJournalFlags,
     .run = Stop,
     .complexity = "O(1)",
     .summary = "Records no more."},
    {.name = "CLEAR",
     .arity = 2,
     .flags = kJournalFlags,
     .run = JournalClear,
     .complexity = kByEntries,
     .summary = "Forgets what was recorded."},
    {.name = "GET",
     .arity = -2,
     .flags = kJournalFlags,
     .run = Get,
     .complexity = kByEntries,
     .usage = "[COUNT count:integer] [MATCH pattern] [CLIENT client-id:integer]",
     .summary = "The requests that were recorded."},
    {.name = "EXPECT",
     .arity = -4,
     .flags = kJournalFlags,
     .run = ExpectRequests,
     .complexity = "O(N*M) where N is the number of recorded requests, M that of patterns",
     .usage = "[ORDERED] numpatterns:integer pattern [pattern ...]",
     .summary = "Whether requests came that match these patterns."},
    {.name = "EXPORT",
     .arity = 2,
     .flags = kJournalFlags,
     .run = ExportAll,
     .complexity = kByEntries,
     .summary = "The recorded requests as a transcript."},
    {.name = "HELP",
     .arity = 2,
     .flags = kOfTestDouble | kLoading | kStale,
     .run = JournalHelp,
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
};
constexpr auto kJournalSubcommands =
    RowsOf(kJournalListed, {.group = "test double", .since = "0.1.0"});

constexpr CommandRow kJournalRows[] = {
    {.name = "SLUICE.JOURNAL",
     .arity = -2,
     .flags = kOfTestDouble,
     .subcommands = kSpecsOf<kJournalSubcommands>,
     .group = "test double",
     .since = "0.1.0",
     .complexity = "Depends on subcommand.",
     .summary = "What clients have sent to this test double."},
};

}  // namespace

CommandFamily JournalFamily() { return {"journal", kSpecsOf<kJournalRows>}; }

}  // namespace sluice
