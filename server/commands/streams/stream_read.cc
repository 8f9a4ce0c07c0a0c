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
//
// With CLAIM ms, ">" first gives what has been pending for so long, whoever has it, the oldest
// first, and each entry says for how long, and how often it was delivered before. A client that
// waits is woken when an entry becomes so old.

#include <algorithm>
#include <cstdint>
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

struct FoundEntry {
  StreamId id;
  // Null: it is still pending but was deleted, and is its id alone.
  std::optional<StreamEntry> entry;
  int64_t idle_ms = 0;
  int64_t deliveries = 0;  // before this one
};

// The entries that one stream gives.
struct Found {
  std::string_view key;
  std::vector<FoundEntry> entries;
  bool tells_more = false;  // idle_ms and deliveries, too
};

// --- reading

// At most `most` entries. No id lies above the highest, so nothing can come after it.
void TakeAfter(const Stream& stream, StreamId after, uint64_t most, Found& found) {
  const std::optional<StreamId> first = after.Next();
  if (!first) return;
  stream.ForEach(*first, StreamId::Max(), [&](const StreamEntry& entry) {
    found.entries.push_back({entry.id(), entry});
    return found.entries.size() < most;
  });
}

// One that is pending goes to the consumer, who may have it already, once more.
void GiveAgain(CommandCall& call, const GroupPlace& place, StreamConsumer& consumer, StreamId id) {
  const int64_t before = place.group.FindPending(id)->deliveries;
  RecordPending(call, place, id,
                place.group.Give(id, consumer, call.now.unix_ms(), NextCount(before)));
}

// Delivers once more what is pending for the consumer above `after`. An entry that was deleted from
// the stream is given as its id with a null, and is not counted as delivered; the client has to
// acknowledge it all the same.
void TakePending(CommandCall& call, const GroupPlace& place, StreamConsumer& consumer,
                 const Stream& stream, StreamId after, uint64_t most, Found& found) {
  std::vector<StreamId> ids;
  for (auto at = consumer.pending.upper_bound(after);
       at != consumer.pending.end() && found.entries.size() < most; ++at) {
    const std::optional<StreamEntry> entry = stream.Find(*at);
    found.entries.push_back({*at, entry});
    if (entry) ids.push_back(*at);
  }
  for (const StreamId id : ids) GiveAgain(call, place, consumer, id);
}

// Moves the group forward by what was found from `first` on. With NOACK too, but then no entry
// becomes pending. The last id is told once, behind the entries.
void Deliver(CommandCall& call, const GroupPlace& place, StreamConsumer& consumer,
             const Stream& stream, bool no_ack, const Found& found, size_t first) {
  for (size_t i = first; i < found.entries.size(); ++i) {
    const StreamId id = found.entries[i].id;
    stream.Deliver(place.group, id);
    if (no_ack) continue;
    RecordPending(call, place, id, place.group.Give(id, consumer, call.now.unix_ms(), 1));
  }
  if (found.entries.size() > first) RecordLastId(call, place);
}

// The entries that CLAIM gives, and the ids of those on the way that were deleted.
struct Claimable {
  std::vector<FoundEntry> entries;
  std::vector<StreamId> gone;
};

// Whoever claims from a group first has its entries put in order, which takes memory.
void Order(CommandCall& call, std::string_view key, const FoundStream& open, StreamGroup& group) {
  if (group.ordered()) return;
  const StreamEdit stream(call, open, StreamEdit::Of::kGroups);
  call.ChangedUnannounced(key);
  group.Order();
}

Claimable FindClaimable(const CommandCall& call, const Stream& stream, StreamGroup& group,
                        const ReadArgs& args) {
  constexpr int64_t kIdleForEver = -1;  // of an entry that nobody owns
  Claimable found;
  const int64_t now_ms = call.now.unix_ms();
  int64_t delivered_max_ms;
  if (__builtin_sub_overflow(now_ms, *args.claim_min_ms, &delivered_max_ms))
    delivered_max_ms = INT64_MIN;
  if (*args.claim_min_ms == 0) delivered_max_ms = INT64_MAX;  // whatever clocks say
  group.VisitOldest(delivered_max_ms, [&](StreamId id) {
    const std::optional<StreamEntry> entry = stream.Find(id);
    if (!entry) {
      found.gone.push_back(id);
      return true;
    }
    const PendingEntry& pending = *group.FindPending(id);
    const int64_t idle_ms =
        pending.unowned() ? kIdleForEver : std::max<int64_t>(now_ms - pending.delivered_ms, 0);
    found.entries.push_back({id, entry, idle_ms, pending.deliveries});
    return found.entries.size() < args.count;
  });
  return found;
}

// As XCLAIM: what was deleted is pending no longer.
void TakeClaimable(CommandCall& call, const GroupPlace& place, StreamConsumer& consumer,
                   Claimable& claimable, Found& found) {
  for (const StreamId id : claimable.gone) {
    RecordPending(call, place, id, *place.group.FindPending(id));
    place.group.Release(id);
  }
  for (const FoundEntry& claimed : claimable.entries) GiveAgain(call, place, consumer, claimed.id);
  found.entries = std::move(claimable.entries);
}

// Null where there is nothing to give: with ">" and nothing new, neither is the consumer made nor
// the key touched. With an id the stream is always part of the answer, even with an empty list: the
// client learns that its history is empty.
std::optional<Found> ReadGroup(CommandCall& call, const ReadArgs& args, const FoundStream& open,
                               size_t index) {
  StreamGroup& group = *open.stream()->FindGroup(args.group);
  const From& from = args.from[index];
  const bool is_new = from.kind == From::Kind::kNew;
  Claimable claimable;
  if (is_new) {
    if (args.claim_min_ms) {
      Order(call, args.key(call, index), open, group);
      claimable = FindClaimable(call, *open.stream(), group, args);
    }
    const std::optional<StreamId> last = open.stream()->LastLiveId();
    const bool has_new = last && *last > group.last_id;
    if (!has_new && claimable.entries.empty()) return std::nullopt;
  }
  const GroupPlace place{args.key(call, index), args.group, group};
  Found found{place.key, {}, is_new && args.claim_min_ms};
  StreamEdit stream(call, open, StreamEdit::Of::kGroups);
  call.ChangedUnannounced(place.key);
  StreamConsumer& consumer = SeenConsumer(call, place, args.consumer);
  if (is_new) {
    if (args.claim_min_ms) TakeClaimable(call, place, consumer, claimable, found);
    const size_t claimed = found.entries.size();
    if (claimed < args.count) TakeAfter(*stream, group.last_id, args.count, found);
    Deliver(call, place, consumer, *stream, args.no_ack, found, claimed);
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

void ReplyFoundEntry(ReplySink& reply, const FoundEntry& entry, const Found& found) {
  if (entry.entry && found.tells_more) {
    ReplyEntry(reply, *entry.entry, 4);
    reply.Integer(entry.idle_ms);
    return reply.Integer(entry.deliveries);
  }
  if (entry.entry) return ReplyEntry(reply, *entry.entry);
  reply.Array(2);
  ReplyId(reply, entry.id);
  reply.NullArray();
}

// A map from keys to entries in RESP3; RESP2 has pairs in an array.
void ReplyFound(CommandCall& call, const std::vector<Found>& all) {
  const bool as_map = call.reply.version() > 2;
  as_map ? call.reply.Map(all.size()) : call.reply.Array(all.size());
  for (const Found& found : all) {
    if (!as_map) call.reply.Array(2);
    call.reply.Bulk(found.key);
    call.reply.Array(found.entries.size());
    for (const FoundEntry& entry : found.entries) ReplyFoundEntry(call.reply, entry, found);
  }
}

// --- waiting

// When something may be old enough to be claimed: at the latest once what is delivered from now on
// is. Engine ms. Not at once again and not too late, as clocks may be set.
int64_t NextClaimMs(CommandCall& call, const ReadArgs& args) {
  constexpr int64_t kSoonestMs = 10;
  constexpr int64_t kLatestMs = 60'000;
  int64_t left_ms = std::min(*args.claim_min_ms, kLatestMs);
  for (size_t i = 0; i < args.streams; ++i) {
    const Entry* const entry = call.db.Find(call.Key(args.first_key + i), call.now);
    if (!entry || entry->type() != ValueType::kStream) continue;
    const StreamGroup* const group = static_cast<Stream&>(entry->value()).FindGroup(args.group);
    // One that is not ordered has come since; it is by the first look.
    if (!group || !group->ordered()) continue;
    const std::optional<int64_t> oldest_ms = group->OldestDeliveredMs();
    if (!oldest_ms) continue;
    const int64_t idle_ms = std::max<int64_t>(call.now.unix_ms() - *oldest_ms, 0);
    left_ms = std::min(left_ms, std::max<int64_t>(*args.claim_min_ms - idle_ms, 0));
  }
  return call.now.ms() + std::max(left_ms, kSoonestMs);
}

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
         .look_again_ms = args.claim_min_ms ? NextClaimMs(call, args) : 0,
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
//   XREADGROUP GROUP g you CLAIM 0 STREAMS s >  → [["s", [["1-1", ["f", "v"], 0, 2]]]]
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
     .usage = "GROUP group_consumer=<group consumer> [COUNT count] [BLOCK milliseconds] "
              "[CLAIM min-idle-time:integer]@8.4.0 [NOACK] "
              "STREAMS streams=<key [key ...] id [id ...]>",
     .summary = "What a group has not been given yet, or what is pending for one consumer.",
     .history = "8.4.0 `CLAIM`.",
     .find_keys = FindStreamKeys},
};

}  // namespace

CommandFamily StreamReadFamily() { return {"stream read", kSpecsOf<kStreamReadRows>}; }

}  // namespace sluice
