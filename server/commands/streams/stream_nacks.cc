// XNACK: a consumer gives entries back that it was given, and they are still pending, for nobody.
//
//   SILENT    the delivery did not count            one off the count of deliveries
//   FAIL      it failed; others may do better       the count as it is
//   FATAL     nobody is to try again                the highest count
//
// Whoever claims next (XREADGROUP CLAIM, XCLAIM, XAUTOCLAIM) gets such entries, whatever the
// idle time it asks for, and before all others. RETRYCOUNT sets the count, whichever word there is;
// FORCE makes entries pending that are not. The answer is how many were given back.
//
//   XNACK jobs workers FAIL IDS 2 1-1 1-2    > 2
//
// The log and replicas are told by XCLAIM (RecordPending), as redis-servers know it; but of an
// entry that was deleted by XNACK, as they would then hold it for acknowledged.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/dispatch/arg_reader.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

enum class NackMode : uint8_t { kSilent, kFail, kFatal };

struct NackArgs {
  NackMode mode = NackMode::kFail;
  std::vector<StreamId> ids;
  std::optional<int64_t> retry_count;
  bool force = false;
};

// IDS numids id [id ...]
void ReadNackIds(ArgReader& reader, NackArgs& args) {
  const std::optional<int64_t> count = ParseInt64(reader.Bytes());
  if (!count || *count < 1) return reader.Fail("ERR numids must be a positive integer");
  if (static_cast<uint64_t>(*count) > reader.left()) {
    return reader.Fail("ERR number of IDs doesn't match numids");
  }
  args.ids.clear();
  for (int64_t left = *count; left > 0; --left) args.ids.push_back(TakeStreamId(reader));
}

void ReadRetryCount(ArgReader& reader, NackArgs& args) {
  args.retry_count = reader.Int();
  if (*args.retry_count < 0) reader.Fail("ERR Invalid RETRYCOUNT value, must be >= 0");
}

// In any order; the last of a word counts.
constexpr OptionRow<NackArgs> kNackOptions[] = {
    {"IDS", ReadNackIds, 1},
    {"RETRYCOUNT", ReadRetryCount, 1},
    {"FORCE", kRaise<&NackArgs::force>},
};

// Null: the error has been answered.
std::optional<NackArgs> ReadNackArgs(CommandCall& call) {
  ArgReader reader(call.args, 3);
  NackArgs args;
  if (reader.TakeWord("SILENT")) {
    args.mode = NackMode::kSilent;
  } else if (reader.TakeWord("FATAL")) {
    args.mode = NackMode::kFatal;
  } else if (!reader.TakeWord("FAIL")) {
    reader.Fail("ERR mode must be SILENT, FAIL, or FATAL");
  }
  while (!reader.failed() && reader.more()) {
    if (TakeOption(reader, kNackOptions, args)) continue;
    reader.Fail(Concat("ERR Unrecognized XNACK option '", reader.Peek(), "'"));
  }
  if (args.ids.empty()) reader.Fail("ERR syntax error, expected IDS keyword");
  if (!reader.failed()) return args;
  call.reply.Error(reader.error());
  return std::nullopt;
}

// `before`: how often it was delivered; an entry that was not pending: 0.
int64_t CountAfter(const NackArgs& args, int64_t before) {
  if (args.retry_count) return *args.retry_count;
  if (args.mode == NackMode::kFatal) return INT64_MAX;
  return args.mode == NackMode::kSilent ? std::max<int64_t>(before - 1, 0) : before;
}

void RecordNack(CommandCall& call, const GroupPlace& place, StreamId id, bool is_there,
                const PendingEntry& pending) {
  if (is_there) return RecordPending(call, place, id, pending);
  if (!call.wants_effects()) return;
  call.ReplaceWith({"XNACK", place.key, place.name, "FAIL", "IDS", "1", id.Text(), "RETRYCOUNT",
                    Int64Text(pending.deliveries)});
}

// Group first, then the arguments, as XCLAIM. After `XADD s 1-1 f v`, `XGROUP CREATE s g 0`,
// `XREADGROUP GROUP g me STREAMS s >`:
//   XNACK s g FAIL IDS 2 1-1 9-9  → 1  what is not pending is passed over
//   XPENDING s g - + 1            → [["1-1", "", -1, 1]]
//   XNACK s g LATER IDS 1 1-1     → -ERR mode must be SILENT, FAIL, or FATAL
void XNack(CommandCall& call) {
  const FoundStream found = FindStreamToChange(call, call.Key(1));
  if (found.failed) return;
  StreamGroup* const group = found.entry ? found.stream()->FindGroup(call.args[2]) : nullptr;
  if (!group) return ReplyNoGroup(call, call.args[1], call.args[2]);
  const std::optional<NackArgs> args = ReadNackArgs(call);
  if (!args) return;

  const auto gives_back = [&](StreamId id) {
    return group->FindPending(id) || (args->force && found.stream()->Find(id));
  };
  if (std::ranges::none_of(args->ids, gives_back)) return call.reply.Integer(0);
  const GroupPlace place{call.args[1], call.args[2], *group};
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  call.ChangedUnannounced(place.key);
  int64_t count = 0;
  for (const StreamId id : args->ids) {
    if (!gives_back(id)) continue;
    const PendingEntry* const pending = group->FindPending(id);
    const int64_t after = CountAfter(*args, pending ? pending->deliveries : 0);
    RecordNack(call, place, id, stream->Find(id).has_value(), group->Disown(id, after));
    ++count;
  }
  // Clients that wait with CLAIM may have them.
  call.part<Waiters>().KeyTouched(call.db.index(), place.key, false);
  call.reply.Integer(count);
}

// --- the table

constexpr CommandRow kStreamNacksRows[] = {
    {.name = "XNACK",
     .arity = -7,
     .flags = kNotInRedis70 | kWrite | kFast,
     .categories = kCatStream,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = XNack,
     .group = "stream",
     .since = "8.8.0",
     .complexity = "O(1) for each message ID processed.",
     .usage = "key group mode=<SILENT | FAIL | FATAL> IDS ids=<numids:integer id [id ...]> "
              "[RETRYCOUNT count] [FORCE]",
     .summary = "Give pending entries back to a group, so that whoever claims next gets them."},
};

}  // namespace

CommandFamily StreamNacksFamily() { return {"stream nacks", kSpecsOf<kStreamNacksRows>}; }

}  // namespace sluice
