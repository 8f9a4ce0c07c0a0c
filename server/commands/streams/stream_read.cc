// XREAD and XREADGROUP: what has come to streams since an id, for one reader or for the consumers
// of a group, waiting for it if there is nothing yet.
//
// XREAD only looks: it never changes anything, and every reader gets every entry. XREADGROUP with
// ">" deals entries out, each to one consumer, and with an id shows that consumer what it has not
// acknowledged. The former is a write, told to the log entry by entry.
//
// The hard part is waiting. A client that waits has been promised "what comes after now", so the
// request that runs again on waking is not the one that was sent: "$" has become an id.
//
//   XREADGROUP   id    gives                              effect for each entry
//                >     what no consumer was given yet     XCLAIM ... FORCE JUSTID LASTID
//                0     all that is pending for this one   XCLAIM with the new count and time

#include <string>
#include <utility>
#include <vector>

#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/commands/streams/stream_read_args.h"
#include "server/dispatch/arg_reader.h"
#include "server/notify/notifications.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

constexpr uint64_t kWokenCount = 1000;  // most that a wake-up gives without a COUNT

// The entries that one stream gives.
struct Found {
  std::string_view key;
  // An entry that is still pending but was deleted is its id alone.
  std::vector<std::pair<StreamId, std::optional<StreamEntry>>> entries;
};

// --- reading

// At most `most` entries. No id lies above the highest, so nothing can come after it.
void TakeAfter(const Stream& stream, StreamId after, uint64_t most, Found& found) {
  const std::optional<StreamId> first = after.Next();
  if (!first) return;
  stream.ForEach(*first, StreamId::Max(), [&](const StreamEntry& entry) {
    found.entries.emplace_back(entry.id(), entry);
    return found.entries.size() < most;
  });
}

// Delivers once more what is pending for the consumer above `after`. An entry that was deleted from
// the stream is given as its id with a null, and is not counted as delivered; the client has to
// acknowledge it all the same.
void TakePending(CommandCall& call, const GroupPlace& place, StreamConsumer& consumer,
                 const Stream& stream, StreamId after, uint64_t most, Found& found) {
  for (auto at = consumer.pending.upper_bound(after);
       at != consumer.pending.end() && found.entries.size() < most; ++at) {
    const std::optional<StreamEntry> entry = stream.Find(*at);
    found.entries.emplace_back(*at, entry);
    if (!entry) continue;
    PendingEntry& pending = *place.group.FindPending(*at);
    pending.delivered_ms = call.now.unix_ms();
    pending.deliveries = NextCount(pending.deliveries);
    RecordPending(call, place, *at, pending);
  }
}

// Moves the group forward. With NOACK too, but then no entry becomes pending. The last id is told
// once, behind the entries.
void Deliver(CommandCall& call, const GroupPlace& place, StreamConsumer& consumer,
             const Stream& stream, bool no_ack, const Found& found) {
  for (const auto& [id, entry] : found.entries) {
    stream.Deliver(place.group, id);
    if (no_ack) continue;
    PendingEntry& pending = place.group.Give(id, consumer);
    pending.delivered_ms = call.now.unix_ms();
    pending.deliveries = 1;
    RecordPending(call, place, id, pending);
  }
  if (!found.entries.empty()) RecordLastId(call, place);
}

// Null where there is nothing to give: with ">" and nothing new, neither is the consumer made nor
// the key touched. With an id the stream is always part of the answer, even with an empty list: the
// client learns that its history is empty.
std::optional<Found> ReadGroup(CommandCall& call, const ReadArgs& args, const FoundStream& open,
                               size_t index) {
  StreamGroup& group = *open.stream()->FindGroup(args.group);
  const From& from = args.from[index];
  const bool is_new = from.kind == From::Kind::kNew;
  if (is_new) {
    const std::optional<StreamId> last = open.stream()->LastLiveId();
    if (!last || *last <= group.last_id) return std::nullopt;
  }
  const GroupPlace place{args.key(call, index), args.group, group};
  Found found{place.key, {}};
  StreamEdit stream(call, open, StreamEdit::Of::kGroups);
  call.ChangedUnannounced(place.key);
  StreamConsumer& consumer = SeenConsumer(call, place, args.consumer);
  if (is_new) {
    TakeAfter(*stream, group.last_id, args.count, found);
    Deliver(call, place, consumer, *stream, args.no_ack, found);
  } else {
    TakePending(call, place, consumer, *stream, from.id, args.count, found);
  }
  return found;
}

// Null for a stream without new entries: it is left out of the answer.
std::optional<Found> ReadPlain(CommandCall& call, const ReadArgs& args, const FoundStream& open,
                               size_t index) {
  Found found{args.key(call, index), {}};
  TakeAfter(*open.stream(), args.from[index].id, args.count, found);
  if (found.entries.empty()) return std::nullopt;
  return found;
}

// A map from keys to entries in RESP3; RESP2 has pairs in an array.
void ReplyFound(CommandCall& call, const std::vector<Found>& all) {
  const bool as_map = call.reply.version() > 2;
  as_map ? call.reply.Map(all.size()) : call.reply.Array(all.size());
  for (const Found& found : all) {
    if (!as_map) call.reply.Array(2);
    call.reply.Bulk(found.key);
    call.reply.Array(found.entries.size());
    for (const auto& [id, entry] : found.entries) {
      if (entry) {
        ReplyEntry(call.reply, *entry);
        continue;
      }
      call.reply.Array(2);
      ReplyId(call.reply, id);
      call.reply.NullArray();
    }
  }
}

// --- waiting

// Waits for streams only: a key that gets another type meanwhile wakes no reader. A reader of a
// group is woken when the key goes, too (when_gone).
void Block(CommandCall& call, const ReadArgs& args) {
  // Reading on a wake-up begins where it would have begun now: "$" is the last id of now.
  std::vector<std::string_view> again(call.args.begin(), call.args.end());
  std::vector<std::string> ids(args.streams);
  for (size_t i = 0; i < args.streams; ++i) {
    if (args.from[i].kind == From::Kind::kNew) continue;
    ids[i] = args.from[i].id.Text();
    again[args.first_key + args.streams + i] = ids[i];
  }
  Block(call, call.args.subspan(args.first_key, args.streams),
        {.deadline_ms = *args.block_until_ms,
         .type = ValueType::kStream,
         .when_gone = args.in_group,
         .again = again});
}

// False: the group that the client waits for is gone, and so is its wait. Two different errors, as
// in Redis 7.0: the key is gone, or only the group.
bool GroupIsThere(CommandCall& call, const ReadArgs& args, const FoundStream& found) {
  if (!found.entry) {
    call.reply.Error("UNBLOCKED the stream key no longer exists");
    return false;
  }
  if (found.stream()->FindGroup(args.group)) return true;
  call.reply.Error("NOGROUP the consumer group this client was blocked on no longer exists");
  return false;
}

// Answers with what is in the key that woke the client. The other keys are not looked at: their
// news wake it by themselves. If another reader took what there was, the client waits on, until the
// same deadline.
void ReadWoken(CommandCall& call, ReadArgs& args) {
  const HashedKey key = call.keyspace.Hash(call.woken_key);
  const Entry* const entry = call.db.Find(key, call.now);
  const bool is_stream = entry && entry->type() == ValueType::kStream;
  const FoundStream open{is_stream ? entry : nullptr, false};
  if (args.in_group && !GroupIsThere(call, args, open)) return;
  // One push to a stream must not make every waiter's answer as long as the stream.
  if (args.count == ReadArgs::kNoCount) args.count = kWokenCount;
  args.from.resize(args.streams);
  for (size_t i = 0; i < args.streams && open.entry; ++i) {
    // Only the stream that woke it; it may be named more than once.
    if (args.key(call, i) != call.woken_key) continue;
    const std::string_view text = call.args[args.first_key + args.streams + i];
    if (!ReadPlace(call, args, open, text, args.from[i])) return;
    std::optional<Found> found =
        args.in_group ? ReadGroup(call, args, open, i) : ReadPlain(call, args, open, i);
    if (found) return ReplyFound(call, {std::move(*found)});
  }
  Block(call, args);
}

// Options, then for each key type, group and id, in this order; only then is anything read. So no
// entry is dealt out by a request that fails. Nothing found and no BLOCK: a null array.
void Read(CommandCall& call, bool in_group) {
  ReadArgs args;
  args.in_group = in_group;
  if (in_group) call.NoEffect();  // until something is given
  if (!ReadStreamOptions(call, args)) return;
  if (call.woken) return ReadWoken(call, args);
  if (!ReadStreamPlaces(call, args)) return;

  std::vector<Found> all;
  for (size_t i = 0; i < args.streams; ++i) {
    const FoundStream open = FindStream(call, call.Key(args.first_key + i));
    if (!open.entry) continue;
    std::optional<Found> found =
        in_group ? ReadGroup(call, args, open, i) : ReadPlain(call, args, open, i);
    if (found) all.push_back(std::move(*found));
  }
  if (!all.empty()) return ReplyFound(call, all);
  if (args.block_until_ms) return Block(call, args);
  call.reply.NullArray();
}

// After `XADD s 1-1 f v`:
//   XREAD STREAMS s 0 nothing    → -ERR Unbalanced XREAD list of streams: for each stream key ...
//   XREAD STREAMS s nothing 0 0  → [["s", [["1-1", ["f", "v"]]]]]
//   XREAD STREAMS s $            → nil array
//   XREAD STREAMS s              → -ERR wrong number of arguments for 'xread' command
void XRead(CommandCall& call) { Read(call, false); }

// After `XADD s 1-1 f v`, `XGROUP CREATE s g 0`:
//   XREADGROUP GROUP g me STREAMS s >   → [["s", [["1-1", ["f", "v"]]]]]
//   XREADGROUP GROUP g me STREAMS s >   → nil array  all has been delivered
//   XREADGROUP GROUP g me STREAMS s 0   → [["s", [["1-1", ["f", "v"]]]]]  its own pending ones
//   XREADGROUP GROUP g you STREAMS s 0  → [["s", []]]
//   XREADGROUP GROUP h me STREAMS s >   → -NOGROUP No such key 's' or consumer group 'h' in ...
void XReadGroup(CommandCall& call) { Read(call, true); }

// --- the table

constexpr KeySpecs AfterStreams(int16_t start_from) {
  return {{KeySpec{.flags = kKeyRo | kKeyAccess,
                   .begin = start_from,
                   .last = -1,
                   .limit = 2,
                   .keyword = "STREAMS"}},
          1};
}

// Keys are found behind the word STREAMS: the first half of what is left, the other half are ids.
constexpr CommandRow kStreamReadRows[] = {
    {.name = "XREAD",
     .arity = -4,
     .flags = kReadOnly | kBlocking | kMovableKeys,
     .categories = kCatStream,
     .keys = AfterStreams(1),
     .run = XRead,
     .group = "stream",
     .since = "5.0.0",
     .complexity =
         "For each stream mentioned: O(N) with N being the number of elements being returned, it "
         "means that XREAD-ing with a fixed COUNT is O(1). Note that when the BLOCK option is "
         "used, XADD will pay O(M) time in order to serve the M clients blocked on the stream "
         "getting new data.",
     .usage = "[COUNT count] [BLOCK milliseconds] STREAMS streams=<key [key ...] id [id ...]>",
     .summary = "What has come to streams since an id of each; waits for it with BLOCK.",
     .find_keys = FindStreamKeys},
    {.name = "XREADGROUP",
     .arity = -7,
     .flags = kWrite | kBlocking | kMovableKeys,
     .categories = kCatStream,
     .keys = AfterStreams(4),
     .run = XReadGroup,
     .group = "stream",
     .since = "5.0.0",
     .complexity =
         "For each stream mentioned: O(M) with M being the number of elements returned. If M is "
         "constant (e.g. always asking for the first 10 elements with COUNT), you can consider it "
         "O(1). On the other side when XREADGROUP blocks, XADD will pay the O(N) time in order to "
         "serve the N clients blocked on the stream getting new data.",
     .usage = "GROUP group_consumer=<group consumer> [COUNT count] [BLOCK milliseconds] [NOACK] "
              "STREAMS streams=<key [key ...] id [id ...]>",
     .summary = "What a group has not been given yet, or what is pending for one consumer.",
     .find_keys = FindStreamKeys},
};

}  // namespace

CommandFamily StreamReadFamily() { return {"stream read", kSpecsOf<kStreamReadRows>}; }

}  // namespace sluice
