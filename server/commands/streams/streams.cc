// The stream family: logs of entries. Reading is in stream_read.cc, consumer groups in
// stream_groups.cc and stream_claims.cc, XINFO in stream_info.cc.
//
// An id is "<ms>-<seq>". Ids grow strictly, also over deletions and XSETID, so a reader that
// remembers the last one misses nothing. A stream stays when its last entry goes: only DEL removes
// the key.
//
//   command    missing key             event            effect
//   XADD       made, or null           xadd (xtrim)     itself; "*" as the id that was chosen
//   XTRIM      0                       xtrim            itself; ~ as the exact trim that it was
//   XDEL       0                       xdel             itself
//   XSETID     an error                xsetid           itself
//   XRANGE     an empty array

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/commands/streams/stream_references.h"
#include "server/commands/streams/stream_trim_args.h"
#include "server/dispatch/arg_reader.h"
#include "server/notify/notifications.h"

namespace sluice {
namespace {

// Also the answer when a sequence number runs out, see ChooseId.
constexpr std::string_view kTooLarge = "ERR Elements are too large to be stored";

// --- XADD

// The id that the new entry gets; null: the error has been answered. With "*" it is the wall clock,
// or the last id's successor if the clock is not ahead of it: a step back of the clock never makes
// an id that is too small.
std::optional<StreamId> ChooseId(CommandCall& call, const AddTrimArgs& args, StreamId last) {
  if (last == StreamId::Max()) {
    call.reply.Error("ERR The stream has exhausted the last possible ID, unable to add more items");
    return std::nullopt;
  }
  // "*": the time, or the next id if that is not ahead.
  if (!args.id) return Stream::NextId(last, call.Present().unix_ms());
  std::optional<StreamId> id = args.id;
  // "ms-*" of the last entry's own millisecond: one more than its number.
  if (args.any_sequence && last.ms == args.id->ms) {
    id = last.Next();
    if (id->ms == last.ms) return id;
    call.reply.Error(kTooLarge);  // Redis's words for it
    return std::nullopt;
  }
  if (*id > last) return id;
  call.reply.Error(
      "ERR The ID specified in XADD is equal or smaller than the target stream top item");
  return std::nullopt;
}

// Tells a replay the id that was chosen, and an exact trim for an approximate one. Only where the
// request would not say the same again: "*", "ms-*" or an approximate trim. NOMKSTREAM is left out:
// the stream was there.
void RecordAdd(CommandCall& call, const AddTrimArgs& args, StreamId id, const Stream& stream) {
  if (!call.wants_effects()) return;
  const std::string id_text = id.Text();
  const std::string bound = TrimBound(args.trim, stream);
  std::vector<std::string_view> command = {"XADD", call.args[1]};
  if (args.trim.by != StreamTrim::By::kNothing && TrimsAsRedis70(args.trim)) {
    command.insert(command.end(), {TrimWord(args.trim), "=", bound});
  }
  command.push_back(id_text);
  const Args pairs = call.args.subspan(args.rest);
  command.insert(command.end(), pairs.begin(), pairs.end());
  call.ReplaceWith(Args(command));
}

// The order of faults: options and id, the number of pairs, 0-0, the type, the order of ids, the
// size. NOMKSTREAM answers null for a missing key. Trimming comes after the entry is added and may
// remove it at once (MAXLEN 0); the answer is its id all the same, and the events are xadd and
// xtrim.
//   XADD s 5-1 f v                   → "5-1"
//   XADD s 5-* f v                   → "5-2"  the next one of these ms
//   XADD s 5-1 f v                   → -ERR The ID specified in XADD is equal or smaller than ...
//   XADD s 0-0 f v                   → -ERR The ID specified in XADD must be greater than 0-0
//   XADD s NOMKSTREAM 9-1 f          → -ERR wrong number of arguments for 'xadd' command
//   XADD nothing NOMKSTREAM 9-1 f v  → nil
void XAdd(CommandCall& call) {
  const std::optional<AddTrimArgs> args = ReadAddArgs(call);
  if (!args) return;
  const Args pairs = call.args.subspan(args->rest);
  if (pairs.size() < 2 || pairs.size() % 2 == 1) {
    return call.reply.Error("ERR wrong number of arguments for 'xadd' command");
  }
  if (args->id && !args->any_sequence && args->id->zero()) {
    return call.reply.Error("ERR The ID specified in XADD must be greater than 0-0");
  }
  const HashedKey key = call.Key(1);
  const FoundStream found = FindStreamToChange(call, key);
  if (found.failed) return;
  if (!found.entry && args->no_mkstream) return call.reply.Null();
  const std::optional<StreamId> id =
      ChooseId(call, *args, found.entry ? found.stream()->last_id() : StreamId::Min());
  if (!id) return;
  size_t bytes = 0;
  for (const std::string_view text : pairs) bytes += text.size();
  if (bytes > Stream::kEntryBytesMax) return call.reply.Error(kTooLarge);

  StreamEdit stream(call,
                    found.entry ? call.db.Modify(*found.entry, call.now) : MakeStream(call, key));
  stream->Append(*id, pairs, NodeLimits(call));
  ReplyId(call.reply, *id);
  call.Changed(kNotifyStream, "xadd", call.args[1]);
  const Trimmed trimmed = TrimStream(args->trim, *stream);
  if (trimmed.entries > 0) call.Changed(kNotifyStream, "xtrim", call.args[1]);
  if (!args->id || args->any_sequence || args->trim.approximate || args->says_references) {
    RecordAdd(call, *args, *id, *stream);
  }
  SettleReferences(call, args->trim, trimmed, *stream);
}

// --- XTRIM, XDEL, XSETID

// WouldTrim looks before the stream is opened: a trim of nothing is no change. An exact trim is its
// own effect. After `XADD s 1-1 f v`, `XADD s 2-1 f v`:
//   XTRIM s MINID 2           → 1  2 is 2-0
//   XTRIM s MAXLEN 0          → 1
//   EXISTS s                  → 1  an empty stream stays
//   XTRIM s MAXLEN 5 LIMIT 1  → -ERR syntax error, LIMIT cannot be used without the special ~ ...
void XTrim(CommandCall& call) {
  const std::optional<AddTrimArgs> args = ReadTrimArgs(call);
  if (!args) return;
  const FoundStream found = FindStreamToChange(call, call.Key(1));
  if (found.failed) return;
  if (!found.entry || !TrimsAny(args->trim, *found.stream())) return call.reply.Integer(0);
  StreamEdit stream(call, found, StreamEdit::Of::kEntries);
  const Trimmed trimmed = TrimStream(args->trim, *stream);
  call.Changed(kNotifyStream, "xtrim", call.args[1]);
  const bool is_another = args->trim.approximate || args->says_references;
  if (is_another && TrimsAsRedis70(args->trim) && call.wants_effects()) {
    call.ReplaceWith(
        {"XTRIM", call.args[1], TrimWord(args->trim), "=", TrimBound(args->trim, *stream)});
  }
  SettleReferences(call, args->trim, trimmed, *stream);
  call.reply.Integer(static_cast<int64_t>(trimmed.entries));
}

// Every id is read before any entry goes: one bad id refuses all. The highest deleted id is
// remembered, for XINFO's lag. Entries that are pending in a group stay pending. After
// `XADD s 1-1 f v`:
//   XDEL s 1-1 1-1 9-9  → 1
//   XDEL s 1-1 abc      → -ERR Invalid stream ID specified as stream command argument
void XDel(CommandCall& call) {
  const FoundStream found = FindStreamToChange(call, call.Key(1));
  if (found.failed) return;
  if (!found.entry) return call.reply.Integer(0);
  std::vector<StreamId> ids;
  bool any = false;
  for (const std::string_view text : call.args.subspan(2)) {
    const std::optional<StreamId> id = ReadStreamId(call, text);
    if (!id) return;
    ids.push_back(*id);
    any = any || found.stream()->Find(*id);
  }
  if (!any) return call.reply.Integer(0);
  StreamEdit stream(call, found, StreamEdit::Of::kEntries);
  const auto deleted =
      std::count_if(ids.begin(), ids.end(), [&](StreamId id) { return stream->Delete(id); });
  call.Changed(kNotifyStream, "xdel", call.args[1]);
  call.reply.Integer(deleted);
}

// XSETID is what replicas and tools set a stream's counters with; the options stand behind the id.
struct SetIdArgs {
  StreamId id;
  std::optional<int64_t> entries_added;
  StreamId max_deleted;
};

// XSETID key id [ENTRIESADDED n] [MAXDELETEDID id]
constexpr OptionRow<SetIdArgs> kSetIdOptions[] = {
    {"ENTRIESADDED",
     [](ArgReader& args, SetIdArgs& result) {
       result.entries_added = args.Int();
       if (*result.entries_added < 0) args.Fail("ERR entries_added must be positive");
     },
     1},
    {"MAXDELETEDID",
     [](ArgReader& args, SetIdArgs& result) {
       result.max_deleted = TakeStreamId(args);
       if (result.id < result.max_deleted) {
         args.Fail(
             "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
       }
     },
     1},
};

// A MAXDELETEDID above the id is told while it is read.
std::optional<SetIdArgs> ReadSetIdArgs(CommandCall& call) {
  SetIdArgs result;
  const std::optional<StreamId> id = ReadStreamId(call, call.args[2]);
  if (!id) return std::nullopt;
  result.id = *id;
  ArgReader args(call.args, 3);
  ReadOptions(args, kSetIdOptions, result);
  if (!args.failed()) return result;
  call.reply.Error(args.error());
  return std::nullopt;
}

// It may not go below an entry that is there, nor count fewer entries than there are. Readers that
// wait are not woken: no entry has come. After `XADD s 5-1 f v`:
//   XSETID s 4-1        → -ERR The ID specified in XSETID is smaller than the target stream ...
//   XSETID nothing 1-1  → -ERR no such key
void XSetId(CommandCall& call) {
  const std::optional<SetIdArgs> args = ReadSetIdArgs(call);
  if (!args) return;
  const FoundStream found = FindStreamToChange(call, call.Key(1));
  if (found.failed) return;
  if (!found.entry) return call.reply.Error(ErrorCode::kNoSuchKey);
  const Stream& old = *found.stream();
  if (const std::optional<StreamId> last = old.LastLiveId()) {
    if (args->id < *last) {
      return call.reply.Error(
          "ERR The ID specified in XSETID is smaller than the target stream top item");
    }
    if (args->entries_added && old.length() > static_cast<uint64_t>(*args->entries_added)) {
      return call.reply.Error(
          "ERR The entries_added specified in XSETID is smaller than the target stream length");
    }
  }
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  stream->SetLastId(args->id);
  if (args->entries_added) stream->SetEntriesAdded(static_cast<uint64_t>(*args->entries_added));
  if (!args->max_deleted.zero()) stream->SetMaxDeletedId(args->max_deleted);
  call.Changed(kNotifyStream, "xsetid", call.args[1]);
  call.reply.Ok();
}

// --- XLEN, XRANGE, XREVRANGE

// O(1).
void XLen(CommandCall& call) {
  const FoundStream found = FindStream(call, call.Key(1));
  if (found.failed) return;
  call.reply.Integer(found.entry ? static_cast<int64_t>(found.stream()->length()) : 0);
}

// Both ends included. COUNT 0 is not "all" but a null array, and less than 0 counts as 0.
struct RangeArgs {
  StreamId from, to;
  std::optional<uint64_t> count;
};

// XRANGE key start end [COUNT n]
constexpr OptionRow<RangeArgs> kRangeOptions[] = {
    {"COUNT",
     [](ArgReader& args, RangeArgs& result) {
       result.count = static_cast<uint64_t>(std::max<int64_t>(args.Int(), 0));
     },
     1},
};

// The start is read first in both directions: of two bad ids the fault is the start's.
std::optional<RangeArgs> ReadRangeArgs(CommandCall& call, bool backwards) {
  ArgReader args(call.args, 4);
  RangeArgs result;
  result.from = RangeStart(args, call.args[backwards ? 3 : 2]);
  result.to = RangeEnd(args, call.args[backwards ? 2 : 3]);
  ReadOptions(args, kRangeOptions, result);
  if (!args.failed()) return result;
  call.reply.Error(args.error());
  return std::nullopt;
}

// A missing key is an empty array even with COUNT 0, which answers a null array for a stream. After
// `XADD s 1-1 f v`, `XADD s 1-2 f v`:
//   XRANGE s 1 1 COUNT 1  → [["1-1", ["f", "v"]]]  1-0 to the last of 1
//   XRANGE s (1-1 +       → [["1-2", ["f", "v"]]]
//   XREVRANGE s - +       → []                     the upper bound comes first
//   XRANGE s - + COUNT 0  → nil array
void Range(CommandCall& call, bool backwards) {
  const std::optional<RangeArgs> args = ReadRangeArgs(call, backwards);
  if (!args) return;
  const FoundStream found = FindStream(call, call.Key(1));
  if (found.failed) return;
  if (!found.entry) return call.reply.Array(0);
  // A null array, not an empty one.
  if (args->count && *args->count == 0) return call.reply.NullArray();
  const Stream& stream = *found.stream();
  const uint64_t most = args->count.value_or(stream.length());
  if (!backwards) return ReplyRange(call.reply, stream, args->from, args->to, most);

  uint64_t left = stream.Count(args->from, args->to, most);
  call.reply.Array(left);
  if (left == 0) return;
  stream.ForEachBackwards(args->from, args->to, [&](const StreamEntry& entry) {
    ReplyEntry(call.reply, entry);
    return --left > 0;
  });
}

void XRange(CommandCall& call) { Range(call, false); }
void XRevRange(CommandCall& call) { Range(call, true); }

// --- the table

constexpr std::string_view kRangeCost =
    "O(N) with N being the number of elements returned. If N is constant (e.g. always asking for "
    "the first 10 elements with COUNT), you can consider it O(1).";

constexpr CommandRow kStreamsListed[] = {
    {.name = "XADD",
     .arity = -5,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate,
                   "UPDATE instead of INSERT because of the optional trimming feature"),
     .run = XAdd,
     .complexity = "O(1) when adding a new entry, O(N) when trimming where N being the number of "
                   "entries evicted.",
     .usage = "key [NOMKSTREAM]@6.2.0 condition=[KEEPREF | DELREF | ACKED]@8.2.0 "
              "trim=[strategy=<MAXLEN | MINID@6.2.0> operator=[= | ~] "
              "threshold [LIMIT count]@6.2.0] id_or_auto=<* | id> field value [field value ...]",
     .summary = "Add an entry to the end of a stream; its id.",
     .history = "6.2.0 `NOMKSTREAM`, `MINID` and `LIMIT`.|7.0.0 Ids of the form `<ms>-*`.|8.2.0 "
                "`KEEPREF`, "
                "`DELREF` and `ACKED`.",
     .tips = "nondeterministic_output"},
    {.name = "XLEN",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo),
     .run = XLen,
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many entries a stream has."},
    {.name = "XRANGE",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = XRange,
     .complexity =
         "O(N) with N being the number of elements being returned. If N is constant (e.g. always "
         "asking for the first 10 elements with COUNT), you can consider it O(1).",
     .usage = "key start:string end:string [COUNT count]",
     .summary = "The entries of a stream between two ids.",
     .history = "6.2.0 Exclusive ranges."},
    {.name = "XREVRANGE",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = XRevRange,
     .complexity = kRangeCost,
     .usage = "key end:string start:string [COUNT count]",
     .summary = "The entries of a stream between two ids, the last one first.",
     .history = "6.2.0 Exclusive ranges."},
    {.name = "XDEL",
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = XDel,
     .complexity = "O(1) for each single item to delete in the stream, regardless of the stream "
                   "size.",
     .usage = "key id [id ...]",
     .summary = "Delete entries of a stream; how many there were."},
    {.name = "XTRIM",
     .arity = -4,
     .flags = kWrite,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = XTrim,
     .complexity =
         "O(N), with N being the number of evicted entries. Constant times are very small however, "
         "since entries are organized in macro nodes containing multiple entries that can be "
         "released with a single deallocation.",
     .usage = "key trim=<strategy=<MAXLEN | MINID@6.2.0> operator=[= | ~] threshold "
              "[LIMIT count]@6.2.0 condition=[KEEPREF | DELREF | ACKED]@8.2.0>",
     .summary = "Drop the oldest entries of a stream, down to a length or up to an id.",
     .history = "6.2.0 `MINID` and `LIMIT`.|8.2.0 `KEEPREF`, `DELREF` and `ACKED`.",
     .tips = "nondeterministic_output"},
    {.name = "XSETID",
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = XSetId,
     .complexity = "O(1)",
     .usage = "key last-id [ENTRIESADDED entries_added:integer]@7.0.0 "
              "[MAXDELETEDID max_deleted_entry_id]@7.0.0",
     .summary = "Set the counters of a stream, as replication does.",
     .history = "7.0.0 `ENTRIESADDED` and `MAXDELETEDID`."},
};
constexpr auto kStreamsRows =
    RowsOf(kStreamsListed, {.categories = kCatStream, .group = "stream", .since = "5.0.0"});

}  // namespace

CommandFamily StreamsFamily() { return {"streams", kSpecsOf<kStreamsRows>}; }

}  // namespace sluice
