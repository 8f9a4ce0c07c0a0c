// See stream_trim_args.h.
//
// An approximate trim (~) removes whole nodes only, as that is cheap, and stops at LIMIT entries.
// How much it removes depends on how the stream is laid out, so the log gets the exact outcome
// instead.
#include "server/commands/streams/stream_trim_args.h"

#include <algorithm>

#include "protocol/text/number_text.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/streams/stream_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// The work of an approximate trim when LIMIT does not say: at most a hundred nodes.
constexpr int64_t kTrimNodes = 100;
constexpr int64_t kTrimDefault = 10'000;
constexpr int64_t kTrimMost = 1'000'000;

// The options so far, and the facts that judge them at the end.
struct TrimReading {
  bool adds;  // XADD, not XTRIM
  AddTrimArgs result;
  std::optional<int64_t> limit;
};

// Behind the option's word: [= | ~] and the bound. False: there is a fault.
template <StreamTrim::By by>
bool TakeSign(ArgReader& args, StreamTrim& trim) {
  if (trim.by != StreamTrim::By::kNothing) {
    args.Fail("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
    return false;
  }
  trim.by = by;
  const bool has_sign = args.left() >= 2 && (args.Peek() == "~" || args.Peek() == "=");
  trim.approximate = has_sign && args.Peek() == "~";
  if (has_sign) args.Skip();
  return true;
}

// A fault in the number itself comes first: args keeps the first one.
int64_t TakeNotNegative(ArgReader& args, std::string_view fault) {
  const int64_t value = args.Int();
  if (value < 0) args.Fail(std::string(fault));
  return value;
}

// One of the three words, once.
bool HasNoReferences(const TrimReading& reading) { return !reading.result.says_references; }
template <StreamReferences references>
void TakeReferences(ArgReader&, TrimReading& to) {
  to.result.trim.references = references;
  to.result.says_references = true;
}

// [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [MAXLEN | MINID [= | ~] bound [LIMIT n]] and, for XADD,
// the id behind them.
constexpr OptionRow<TrimReading> kStreamTrimArgsOptions[] = {
    {"MAXLEN",
     [](ArgReader& args, TrimReading& to) {
       if (!TakeSign<StreamTrim::By::kLength>(args, to.result.trim)) return;
       to.result.trim.length_max =
           static_cast<uint64_t>(TakeNotNegative(args, "ERR The MAXLEN argument must be >= 0."));
     },
     1},
    {"MINID",
     [](ArgReader& args, TrimReading& to) {
       if (!TakeSign<StreamTrim::By::kId>(args, to.result.trim)) return;
       to.result.trim.id_min = TakeStreamId(args);
     },
     1},
    {"LIMIT",
     [](ArgReader& args, TrimReading& to) {
       to.limit = TakeNotNegative(args, "ERR The LIMIT argument must be >= 0.");
     },
     1},
    {"KEEPREF", TakeReferences<StreamReferences::kKeep>, 0, HasNoReferences},
    {"DELREF", TakeReferences<StreamReferences::kRemove>, 0, HasNoReferences},
    {"ACKED", TakeReferences<StreamReferences::kHonour>, 0, HasNoReferences},
    {"NOMKSTREAM", [](ArgReader&, TrimReading& to) { to.result.no_mkstream = true; }, 0,
     [](const TrimReading& reading) { return reading.adds; }},
};

// Takes the id, which ends XADD's options. "*" lets the server choose, "5-*" only the sequence
// number; a plain "5" is 5-0.
void TakeNewId(ArgReader& args, AddTrimArgs& result) {
  if (args.Peek() == "*") return args.Skip();
  const std::optional<ParsedStreamId> parsed = ParseStreamId(args.Bytes(), {.any_sequence = true});
  if (!parsed) return args.Fail("ERR Invalid stream ID specified as stream command argument");
  result.id = parsed->id;
  result.any_sequence = parsed->any_sequence;
}

// Refuses options that do not go together, once all have been read, as in Redis.
void Check(ArgReader& args, const TrimReading& reading) {
  const bool trims = reading.result.trim.by != StreamTrim::By::kNothing;
  if (reading.limit.value_or(0) != 0 && !trims) {
    args.Fail("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
  } else if (!reading.adds && !trims) {
    args.Fail("ERR syntax error, XTRIM must be called with a trimming strategy");
  } else if (reading.limit && !reading.result.trim.approximate) {
    args.Fail("ERR syntax error, LIMIT cannot be used without the special ~ option");
  }
}

// Redis's: 100 times stream-node-max-entries, at most a million; 10000 where nodes have no such
// limit.
int64_t DefaultLimit(const Settings& settings) {
  const int64_t entries = settings.stream_node_max_entries;
  if (entries <= 0) return kTrimDefault;
  return entries >= kTrimMost / kTrimNodes ? kTrimMost : entries * kTrimNodes;
}

// The first word that is no option is XADD's id; XTRIM allows none. MAXLEN and MINID exclude each
// other, and the second one is told so at once.
std::optional<AddTrimArgs> ReadTrim(CommandCall& call, bool adds) {
  ArgReader args(call.args, 2);
  TrimReading reading{.adds = adds};
  AddTrimArgs& result = reading.result;
  while (args.more() && TakeOption(args, kStreamTrimArgsOptions, reading)) continue;
  if (args.more()) adds ? TakeNewId(args, result) : args.Fail(ErrorCode::kSyntax);
  if (!args.failed()) Check(args, reading);
  if (args.failed()) {
    call.reply.Error(args.error());
    return std::nullopt;
  }
  result.rest = args.position();
  if (result.trim.approximate) {
    result.trim.limit = static_cast<uint64_t>(reading.limit.value_or(DefaultLimit(call.settings)));
  }
  // Redis goes entry by entry where references matter; only the limit is left of "about".
  if (result.trim.references != StreamReferences::kKeep) result.trim.approximate = false;
  return result;
}

}  // namespace

std::optional<AddTrimArgs> ReadAddArgs(CommandCall& call) { return ReadTrim(call, true); }

std::optional<AddTrimArgs> ReadTrimArgs(CommandCall& call) { return ReadTrim(call, false); }

StreamNodeLimits NodeLimits(const CommandCall& call) {
  const Settings& settings = call.settings;
  return {static_cast<uint64_t>(settings.stream_node_max_entries),
          static_cast<uint64_t>(settings.stream_node_max_bytes)};
}

// The word of the option that an effect repeats.
std::string_view TrimWord(const StreamTrim& trim) {
  return trim.by == StreamTrim::By::kLength ? "MAXLEN" : "MINID";
}

// After the trim: the length that is left, or the first id that was kept. An exact trim with this
// bound leaves the same entries, however a replay lays its nodes out.
std::string TrimBound(const StreamTrim& trim, const Stream& trimmed) {
  if (trim.by == StreamTrim::By::kLength) return Int64Text(static_cast<int64_t>(trimmed.length()));
  return trimmed.FirstKeptId().value_or(StreamId::Max()).Text();
}

}  // namespace sluice
