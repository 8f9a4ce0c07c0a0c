// XDELEX and XACKDEL: deleting entries of a stream, with a word on groups that still need them.
//
//   KEEPREF   the entry goes, and stays pending where it is: XDEL's way, and the usual one
//   DELREF    the entry goes, and is pending nowhere any more
//   ACKED     the entry goes once every group was given it and has acknowledged it
//
// XACKDEL acknowledges in one group first, and looks only at what is pending there. Each id gets a
// number: -1 no such entry (XACKDEL: it is not pending), 1 deleted, 2 still needed.
//
//   XDELEX jobs ACKED IDS 2 1-1 1-2          > 1, 2
//   XACKDEL jobs workers ACKED IDS 1 1-2     > 1

#include <algorithm>
#include <optional>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/commands/streams/stream_references.h"
#include "server/dispatch/arg_reader.h"
#include "server/notify/notifications.h"

namespace sluice {
namespace {

constexpr int64_t kNoSuchEntry = -1;
constexpr int64_t kDeleted = 1;
constexpr int64_t kStillNeeded = 2;

struct DeletionArgs {
  std::optional<StreamReferences> references;
  Args ids;
};

bool HasNoWord(const DeletionArgs& args) { return !args.references; }

template <StreamReferences references>
void SetReferences(ArgReader&, DeletionArgs& args) {
  args.references = references;
}

// IDS numids id [id ...]
void TakeIds(ArgReader& reader, DeletionArgs& args) {
  const std::optional<int64_t> count = ParseInt64(reader.Bytes());
  if (!count || *count < 1) return reader.Fail("ERR Number of IDs must be a positive integer");
  if (static_cast<uint64_t>(*count) > reader.left()) {
    return reader.Fail("ERR The `numids` parameter must match the number of arguments");
  }
  args.ids = reader.rest().first(static_cast<size_t>(*count));
  reader.Skip(args.ids.size());
}

// [KEEPREF | DELREF | ACKED] IDS numids id [id ...], in any order.
constexpr OptionRow<DeletionArgs> kStreamDeletionsOptions[] = {
    {"KEEPREF", SetReferences<StreamReferences::kKeep>, 0, HasNoWord},
    {"DELREF", SetReferences<StreamReferences::kRemove>, 0, HasNoWord},
    {"ACKED", SetReferences<StreamReferences::kHonour>, 0, HasNoWord},
    {"IDS", TakeIds, 1, [](const DeletionArgs& args) { return args.ids.empty(); }},
};

// The ids themselves are read once the stream is found. Null: the error has been answered.
std::optional<DeletionArgs> ReadDeletionArgs(CommandCall& call, size_t first) {
  ArgReader reader(call.args, first);
  DeletionArgs args;
  ReadOptions(reader, kStreamDeletionsOptions, args);
  if (args.ids.empty()) reader.Fail(ErrorCode::kSyntax);
  if (!reader.failed()) return args;
  call.reply.Error(reader.error());
  return std::nullopt;
}

std::optional<std::vector<StreamId>> ReadIds(CommandCall& call, Args texts) {
  std::vector<StreamId> ids;
  for (const std::string_view text : texts) {
    const std::optional<StreamId> id = ReadStreamId(call, text);
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

void ReplyNumbers(ReplySink& reply, const std::vector<int64_t>& numbers) {
  reply.Array(numbers.size());
  for (const int64_t number : numbers) reply.Integer(number);
}

// Deletes entries one by one, and says at the end what has come of it.
class Deletion {
 public:
  Deletion(CommandCall& call, StreamReferences references, Stream& stream)
      : call_(call), references_(references), stream_(stream) {}

  bool IsNeeded(StreamId id) const {
    return references_ == StreamReferences::kHonour && stream_.IsReferenced(id);
  }
  // False: there is no such entry.
  bool Delete(StreamId id) {
    if (!stream_.Delete(id)) return false;
    deleted_.push_back(id);
    return true;
  }
  // All these were to go. True: groups have changed, beside entries.
  bool Finish(const std::vector<StreamId>& asked) {
    if (!deleted_.empty()) {
      call_.Changed(kNotifyStream, "xdel", call_.args[1]);
      RecordDeleted(call_, deleted_);
    }
    return references_ == StreamReferences::kRemove && RemoveReferences(call_, stream_, asked);
  }
  bool any() const { return !deleted_.empty(); }

 private:
  CommandCall& call_;
  const StreamReferences references_;
  Stream& stream_;
  std::vector<StreamId> deleted_;
};

// --- XDELEX

bool IsPending(const Stream& stream, StreamId id) {
  return std::ranges::any_of(stream.groups(),
                             [id](const auto& row) { return row.second->pending().contains(id); });
}

// Tells what the request would change, before the stream is opened; none: nothing.
std::optional<StreamEdit::Of> ChangeBy(const Stream& stream, StreamReferences references,
                                       const std::vector<StreamId>& ids) {
  const auto goes = [&](StreamId id) {
    const bool stays = references == StreamReferences::kHonour && stream.IsReferenced(id);
    return !stays && stream.Find(id);
  };
  if (std::ranges::any_of(ids, goes)) return StreamEdit::Of::kEntries;
  const auto is_pending = [&stream](StreamId id) { return IsPending(stream, id); };
  const bool removes = references == StreamReferences::kRemove;
  if (removes && std::ranges::any_of(ids, is_pending)) return StreamEdit::Of::kGroups;
  return std::nullopt;
}

// The type, the words, and then the ids of a stream that is there. An id that a group needs is 2
// with ACKED, even if there is no such entry. After `XADD s 1-1 f v`, `XGROUP CREATE s g 0`:
//   XDELEX s ACKED IDS 1 1-1    → [2]  not given to the group yet
//   XDELEX s IDS 2 1-1 9-9      → [1, -1]
//   XDELEX nothing IDS 1 1-1    → [-1]
//   XDELEX s IDS 0 1-1          → -ERR Number of IDs must be a positive integer
void XDelEx(CommandCall& call) {
  const FoundStream found = FindStreamToChange(call, call.Key(1));
  if (found.failed) return;
  const std::optional<DeletionArgs> args = ReadDeletionArgs(call, 2);
  if (!args) return;
  std::vector<int64_t> numbers(args->ids.size(), kNoSuchEntry);
  if (!found.entry) return ReplyNumbers(call.reply, numbers);
  const std::optional<std::vector<StreamId>> ids = ReadIds(call, args->ids);
  if (!ids) return;
  const StreamReferences references = args->references.value_or(StreamReferences::kKeep);
  const std::optional<StreamEdit::Of> changes = ChangeBy(*found.stream(), references, *ids);
  std::optional<StreamEdit> edit;
  if (changes) edit.emplace(call, found, *changes);
  Deletion deletion(call, references, *found.stream());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (deletion.IsNeeded((*ids)[i])) {
      numbers[i] = kStillNeeded;
    } else if (changes && deletion.Delete((*ids)[i])) {
      numbers[i] = kDeleted;
    }
  }
  if (changes && deletion.Finish(*ids) && !deletion.any()) call.ChangedUnannounced(call.args[1]);
  ReplyNumbers(call.reply, numbers);
}

// --- XACKDEL

// Acknowledges what is pending in the group in any case. A key or a group that is missing is no
// fault, as for XACK. After `XADD s 1-1 f v`, `XGROUP CREATE s g 0`, `XREADGROUP GROUP g me STREAMS
// s >`, `XGROUP CREATE s h 0`:
//   XACKDEL s g ACKED IDS 1 1-1   → [2]   h was not given it
//   XACKDEL s g ACKED IDS 1 1-1   → [-1]  not pending any more
//   XACKDEL s nobody IDS 1 1-1    → [-1]
void XAckDel(CommandCall& call) {
  const FoundStream found = FindStreamToChange(call, call.Key(1));
  if (found.failed) return;
  const std::optional<DeletionArgs> args = ReadDeletionArgs(call, 3);
  if (!args) return;
  std::vector<int64_t> numbers(args->ids.size(), kNoSuchEntry);
  StreamGroup* const group = found.entry ? found.stream()->FindGroup(call.args[2]) : nullptr;
  if (!group) return ReplyNumbers(call.reply, numbers);
  const std::optional<std::vector<StreamId>> ids = ReadIds(call, args->ids);
  if (!ids) return;
  if (std::ranges::none_of(*ids, [&](StreamId id) { return group->pending().contains(id); }))
    return ReplyNumbers(call.reply, numbers);

  const StreamReferences references = args->references.value_or(StreamReferences::kKeep);
  StreamEdit stream(call, found, StreamEdit::Of::kEntries);
  Deletion deletion(call, references, *stream);
  std::vector<StreamId> acknowledged;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const StreamId id = (*ids)[i];
    if (!group->Release(id)) continue;
    acknowledged.push_back(id);
    numbers[i] = deletion.IsNeeded(id) ? kStillNeeded : kDeleted;
    if (numbers[i] == kDeleted) deletion.Delete(id);  // it may be gone already
  }
  RecordAcknowledged(call, call.args[2], acknowledged);
  deletion.Finish(acknowledged);
  if (!deletion.any()) call.ChangedUnannounced(call.args[1]);
  ReplyNumbers(call.reply, numbers);
}

// --- the table

constexpr CommandRow kStreamDeletionsListed[] = {
    {.name = "XDELEX",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = XDelEx,
     .complexity = "O(1) for each single item to delete in the stream, regardless of the stream "
                   "size; with DELREF and ACKED, for each group of it.",
     .usage = "key condition=[KEEPREF | DELREF | ACKED] IDS ids=<numids:integer id:string "
              "[id:string ...]>",
     .summary = "Delete entries of a stream, with or without what groups have pending of them."},
    {.name = "XACKDEL",
     .arity = -6,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate | kKeyDelete),
     .run = XAckDel,
     .complexity = "O(1) for each message ID processed; with DELREF and ACKED, for each group.",
     .usage = "key group condition=[KEEPREF | DELREF | ACKED] IDS ids=<numids:integer id:string "
              "[id:string ...]>",
     .summary = "Acknowledge entries in a group, and delete them."},
};
constexpr auto kStreamDeletionsRows =
    RowsOf(kStreamDeletionsListed, {.categories = kCatStream, .group = "stream", .since = "8.2.0"});

}  // namespace

CommandFamily StreamDeletionsFamily() {
  return {"stream deletions", kSpecsOf<kStreamDeletionsRows>};
}

}  // namespace sluice
