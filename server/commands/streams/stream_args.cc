// See stream_args.h. Changes of a group (the owner of an entry, up to where it has read) are
// recorded here as the effects that a replay needs.
#include "server/commands/streams/stream_args.h"

#include <charconv>
#include <limits>
#include <memory>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/shared/lookup.h"
#include "server/notify/notifications.h"

namespace sluice {
namespace {

// The sequence number of a range's end that names none.
constexpr uint64_t kSequenceMax = std::numeric_limits<uint64_t>::max();
constexpr std::string_view kBadId = "ERR Invalid stream ID specified as stream command argument";
constexpr size_t kIdTextMax = 41;  // two numbers of 64 bits, and the dash

// The one place that knows the sentence for an id that is none. 0-0 after a fault.
StreamId Parse(ArgReader& args, std::string_view text, StreamIdSyntax syntax) {
  const std::optional<ParsedStreamId> parsed = ParseStreamId(text, syntax);
  if (!parsed) args.Fail(std::string(kBadId));
  return parsed ? parsed->id : StreamId();
}

// "(" alone is no bound: it goes on as an id, and fails there.
bool IsExclusive(std::string_view text) { return text.size() > 1 && text[0] == '('; }

}  // namespace

// --- arguments

// For commands that check their ids one at a time, in a loop of their own.
std::optional<StreamId> ReadStreamId(CommandCall& call, std::string_view text) {
  const std::optional<ParsedStreamId> parsed = ParseStreamId(text, {});
  if (parsed) return parsed->id;
  call.reply.Error(kBadId);
  return std::nullopt;
}

// "(max" has no id above it: that is an error, not an empty range. A missing sequence number means
// 0 at the start of a range.
StreamId RangeStart(ArgReader& args, std::string_view text) {
  if (!IsExclusive(text)) return Parse(args, text, {.ends = true});
  const std::optional<StreamId> next = Parse(args, text.substr(1), {}).Next();
  if (!next) args.Fail("ERR invalid start ID for the interval");
  return next.value_or(StreamId());
}

// The mirror: "(0-0" has no id below it, and a missing sequence number means the highest.
StreamId RangeEnd(ArgReader& args, std::string_view text) {
  if (!IsExclusive(text))
    return Parse(args, text, {.missing_sequence = kSequenceMax, .ends = true});
  const StreamId id = Parse(args, text.substr(1), {.missing_sequence = kSequenceMax});
  const std::optional<StreamId> before = id.Previous();
  if (!before) args.Fail("ERR invalid end ID for the interval");
  return before.value_or(StreamId());
}

StreamId TakeStreamId(ArgReader& args) { return Parse(args, args.Bytes(), {}); }

int64_t TakeInteger(ArgReader& args, std::string_view fault) {
  const std::optional<int64_t> value = ParseInt64(args.Bytes());
  if (!value) args.Fail(std::string(fault));
  return value.value_or(0);
}

// --- look-ups

// The stream is not const: a look-up and the change that follows it use the same pointer.
FoundStream AsStream(CommandCall& call, const Entry* entry) {
  if (entry == nullptr || entry->type() == ValueType::kStream) return {entry, false};
  call.reply.Error(ErrorCode::kWrongType);
  return {nullptr, true};
}

// The stream of a reader: hit or miss is counted.
FoundStream FindStream(CommandCall& call, HashedKey key) {
  return AsStream(call, LookUpToRead(call, key));
}

FoundStream FindStreamToChange(CommandCall& call, HashedKey key) {
  return AsStream(call, LookUp(call, key));
}

// An empty stream may stay: a stream is the one collection that exists without elements.
Entry& MakeStream(CommandCall& call, HashedKey key) {
  return call.db.PutValue(key, std::make_unique<Stream>(), Deadline::None(), call.now);
}

// --- replies

// Written into a buffer on the stack: ids are most of what a range answers with.
void ReplyId(ReplySink& reply, StreamId id) {
  char text[kIdTextMax];
  const auto put = [&text](char* at, uint64_t part) {
    if (part <= INT64_MAX) return FormatInt64(at, static_cast<int64_t>(part));  // twice as fast
    return std::to_chars(at, text + sizeof text, part).ptr;
  };
  char* end = put(text, id.ms);
  *end++ = '-';
  end = put(end, id.seq);
  reply.Bulk({text, static_cast<size_t>(end - text)});
}

// An id and a flat array of fields and values, in RESP3 too.
void ReplyEntry(ReplySink& reply, const StreamEntry& entry, size_t elements) {
  reply.Array(elements);
  ReplyId(reply, entry.id());
  reply.Array(2 * entry.pairs());
  entry.ForEachPair([&reply](std::string_view field, std::string_view value) {
    reply.Bulk(field);
    reply.Bulk(value);
  });
}

// Two walks, because an array says its length first. Both stop at `most`.
void ReplyRange(ReplySink& reply, const Stream& stream, StreamId from, StreamId to, uint64_t most) {
  uint64_t left = stream.Count(from, to, most);
  reply.Array(left);
  if (left == 0) return;
  stream.ForEach(from, to, [&](const StreamEntry& entry) {
    ReplyEntry(reply, entry);
    return --left > 0;
  });
}

// The sentence names the key and the group, whichever of them is missing.
void ReplyNoGroup(CommandCall& call, std::string_view key, std::string_view group,
                  std::string_view where) {
  call.reply.Error(
      Concat("NOGROUP No such key '", key, "' or consumer group '", group, "'", where));
}

void ReplyNoGroupForKey(CommandCall& call, std::string_view group, std::string_view key) {
  call.reply.Error(Concat("NOGROUP No such consumer group '", group, "' for key name '", key, "'"));
}

// --- effects

// XCLAIM says everything about a pending entry: its owner, when it was delivered, how often. With
// FORCE it is made if a replay does not know it. IDLE would be relative, hence TIME in Unix ms. One
// that nobody owns is given to a consumer without a name, at time 0: so a redis-server that follows
// has it pending and free to be claimed, and a Sluice knows it as what it is.
void RecordPending(CommandCall& call, const GroupPlace& place, StreamId id,
                   const PendingEntry& pending) {
  if (!call.wants_effects()) return;
  call.ReplaceWith({"XCLAIM", place.key, place.name, pending.owner(), "0", id.Text(), "TIME",
                    Int64Text(pending.shown_ms()), "RETRYCOUNT", Int64Text(pending.deliveries),
                    "FORCE", "JUSTID", "LASTID", place.group.last_id.Text()});
}

// Up to where the group has read, and its count, which XINFO's lag is computed from.
void RecordLastId(CommandCall& call, const GroupPlace& place) {
  if (!call.wants_effects()) return;
  call.ReplaceWith({"XGROUP", "SETID", place.key, place.name, place.group.last_id.Text(),
                    "ENTRIESREAD", Int64Text(place.group.entries_read)});
}

bool HasRoomFor(CommandCall& call, const StreamGroup& group, std::string_view consumer) {
  // No limit for a replay: a log tells what has happened.
  if (group.consumers().size() < kConsumersMax || call.client.replays) [[likely]]
    return true;
  if (group.FindConsumer(consumer)) return true;
  call.reply.Error(Concat("ERR a group has at most ", kConsumersMax,
                          " consumers: delete those that are gone with XGROUP DELCONSUMER"));
  return false;
}

// Since Redis 7 a consumer that is made by reading is announced like one that XGROUP makes.
StreamConsumer& SeenConsumer(CommandCall& call, const GroupPlace& place, std::string_view name) {
  if (StreamConsumer* const consumer = place.group.FindConsumer(name)) {
    consumer->seen_ms = call.now.unix_ms();
    return *consumer;
  }
  StreamConsumer& made = place.group.AddConsumer(name, call.now.unix_ms());
  call.Changed(kNotifyStream, "xgroup-createconsumer", place.key);
  if (call.wants_effects()) {
    call.ReplaceWith({"XGROUP", "CREATECONSUMER", place.key, place.name, name});
  }
  return made;
}

}  // namespace sluice
