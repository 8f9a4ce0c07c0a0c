// XINFO: what a stream, its groups and their consumers look like inside.
//
// Written for people and for test suites, so names, order and nulls are those of Redis 7.0. A
// missing key is an error in all three subcommands, before their own arguments are read.

#include <algorithm>
#include <limits>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// The word as the client wrote it, up to 128 bytes.
void ReplyInfoSyntax(CommandCall& call) {
  call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '",
                          call.args[1].substr(0, 128), "'. Try XINFO HELP."));
}

// Null: the error has been answered.
Stream* FindShown(CommandCall& call) {
  const FoundStream found = FindStream(call, call.Key(2));
  if (!found.entry && !found.failed) call.reply.Error(ErrorCode::kNoSuchKey);
  return found.stream();
}

// --- fields

// One name and its value in a map, for each kind of value.
void Field(ReplySink& reply, std::string_view name, uint64_t value) {
  reply.Bulk(name);
  reply.Integer(static_cast<int64_t>(value));
}

void Field(ReplySink& reply, std::string_view name, StreamId id) {
  reply.Bulk(name);
  ReplyId(reply, id);
}

void Field(ReplySink& reply, std::string_view name, std::string_view text) {
  reply.Bulk(name);
  reply.Bulk(text);
}

// Both are null when entries were deleted in a way that leaves the count open.
void CounterFields(ReplySink& reply, const Stream& stream, const StreamGroup& group) {
  reply.Bulk("entries-read");
  group.entries_read == StreamGroup::kUnknown ? reply.Null() : reply.Integer(group.entries_read);
  reply.Bulk("lag");
  const std::optional<int64_t> lag = stream.Lag(group);
  lag ? reply.Integer(*lag) : reply.Null();
}

// Redis's radix tree: its keys are its nodes of entries, which we have as chunks. Its branches have
// no counterpart here: two nodes more than there are keys stand for them.
void StreamFields(ReplySink& reply, const Stream& stream) {
  const uint64_t keys = stream.chunks().size();
  Field(reply, "length", stream.length());
  Field(reply, "radix-tree-keys", keys);
  Field(reply, "radix-tree-nodes", keys == 0 ? 1 : keys == 1 ? 2 : keys + 2);
  Field(reply, "last-generated-id", stream.last_id());
  Field(reply, "max-deleted-entry-id", stream.max_deleted_id());
  Field(reply, "entries-added", stream.entries_added());
  Field(reply, "recorded-first-entry-id", stream.first_id());
}

// --- XINFO STREAM

// The first or the last entry; null in an empty stream.
void ReplyEdge(ReplySink& reply, const std::optional<StreamEntry>& entry) {
  entry ? ReplyEntry(reply, *entry) : reply.Null();
}

// O(1) but for the search of the two entries. After `XADD s 1-1 f v`:
//   XINFO STREAM nothing           → -ERR no such key
//   XINFO STREAM s FULL COUNT 1 2  → -ERR unknown subcommand or wrong number of arguments for ...
void ReplyBrief(CommandCall& call, const Stream& stream) {
  ReplySink& reply = call.reply;
  reply.Map(10);
  StreamFields(reply, stream);
  Field(reply, "groups", stream.groups().size());
  reply.Bulk("first-entry");
  ReplyEdge(reply, stream.Find(stream.first_id()));
  reply.Bulk("last-entry");
  const std::optional<StreamId> last = stream.LastLiveId();
  ReplyEdge(reply, last ? stream.Find(*last) : std::nullopt);
}

// How many of `size` elements are shown.
size_t AtMost(size_t size, uint64_t most) {
  return static_cast<size_t>(std::min<uint64_t>(size, most));
}

// Times are Unix ms. The pending entries of one consumer are ids only, so their details are looked
// up in the group.
void ReplyConsumerFull(ReplySink& reply, StreamGroup& group, const StreamConsumer& consumer,
                       uint64_t most) {
  reply.Map(4);
  Field(reply, "name", std::string_view(consumer.name));
  Field(reply, "seen-time", static_cast<uint64_t>(consumer.seen_ms));
  Field(reply, "pel-count", consumer.pending.size());
  reply.Bulk("pending");
  size_t left = AtMost(consumer.pending.size(), most);
  reply.Array(left);
  for (auto at = consumer.pending.begin(); left > 0; ++at, --left) {
    const PendingEntry& pending = *group.FindPending(*at);
    reply.Array(3);
    ReplyId(reply, *at);
    reply.Integer(pending.delivered_ms);
    reply.Integer(pending.deliveries);
  }
}

// Each list is cut to `most`, its count above it is not. nacked-count, which Redis 7.0 does not
// have, is there where there is something to count.
void ReplyGroupFull(ReplySink& reply, const Stream& stream, std::string_view name,
                    StreamGroup& group, uint64_t most) {
  const size_t unowned = group.unowned().size();
  reply.Map(unowned > 0 ? 8 : 7);
  Field(reply, "name", name);
  Field(reply, "last-delivered-id", group.last_id);
  CounterFields(reply, stream, group);
  Field(reply, "pel-count", group.pending().size());
  if (unowned > 0) Field(reply, "nacked-count", unowned);
  reply.Bulk("pending");
  size_t left = AtMost(group.pending().size(), most);
  reply.Array(left);
  for (auto at = group.pending().begin(); left > 0; ++at, --left) {
    reply.Array(4);
    ReplyId(reply, at->first);
    reply.Bulk(at->second.owner());
    reply.Integer(at->second.shown_ms());
    reply.Integer(at->second.deliveries);
  }
  reply.Bulk("consumers");
  reply.Array(group.consumers().size());
  for (const auto& [consumer_name, consumer] : group.consumers()) {
    ReplyConsumerFull(reply, group, *consumer, most);
  }
}

// With COUNT 0 it is O(everything) in one piece: entries, pending entries, and these again by
// consumer.
void ReplyFull(CommandCall& call, const Stream& stream, uint64_t most) {
  ReplySink& reply = call.reply;
  reply.Map(9);
  StreamFields(reply, stream);
  reply.Bulk("entries");
  ReplyRange(reply, stream, StreamId::Min(), StreamId::Max(), most);
  reply.Bulk("groups");
  reply.Array(stream.groups().size());
  for (const auto& [name, group] : stream.groups())
    ReplyGroupFull(reply, stream, name, *group, most);
}

// A COUNT below zero is taken for the default of 10, zero for all. Anything but FULL [COUNT n] is
// the sentence about subcommands, not a syntax error.
void ShowStream(CommandCall& call) {
  constexpr int64_t kCountDefault = 10;
  const Stream* const stream = FindShown(call);
  if (!stream) return;
  ArgReader args(call.args, 3);
  if (!args.more()) return ReplyBrief(call, *stream);
  if (!args.TakeWord("FULL")) return ReplyInfoSyntax(call);
  int64_t count = kCountDefault;
  if (args.more()) {
    if (args.left() != 2 || !args.TakeWord("COUNT")) return ReplyInfoSyntax(call);
    const int64_t given = args.Int();
    if (given >= 0) count = given;
  }
  if (args.failed()) return call.reply.Error(args.error());
  const uint64_t all = std::numeric_limits<uint64_t>::max();
  ReplyFull(call, *stream, count == 0 ? all : static_cast<uint64_t>(count));
}

// --- XINFO GROUPS, XINFO CONSUMERS

// In the order of their names.
void ShowGroups(CommandCall& call) {
  const Stream* const stream = FindShown(call);
  if (!stream) return;
  ReplySink& reply = call.reply;
  reply.Array(stream->groups().size());
  for (const auto& [name, group] : stream->groups()) {
    reply.Map(6);
    Field(reply, "name", std::string_view(name));
    Field(reply, "consumers", group->consumers().size());
    Field(reply, "pending", group->pending().size());
    Field(reply, "last-delivered-id", group->last_id);
    CounterFields(reply, *stream, *group);
  }
}

// "idle" counts from the last command that gave the consumer something, or looked for it. After
// `XGROUP CREATE s g $ MKSTREAM`:
//   XINFO CONSUMERS s g  → []
//   XINFO CONSUMERS s h  → -NOGROUP No such consumer group 'h' for key name 's'
void ShowConsumers(CommandCall& call) {
  const Stream* const stream = FindShown(call);
  if (!stream) return;
  const StreamGroup* const group = stream->FindGroup(call.args[3]);
  if (!group) return ReplyNoGroupForKey(call, call.args[3], call.args[2]);
  ReplySink& reply = call.reply;
  reply.Array(group->consumers().size());
  for (const auto& [name, consumer] : group->consumers()) {
    reply.Map(3);
    Field(reply, "name", std::string_view(name));
    Field(reply, "pending", consumer->pending.size());
    reply.Bulk("idle");
    reply.Integer(std::max<int64_t>(call.now.unix_ms() - consumer->seen_ms, 0));
  }
}

constexpr std::string_view kStreamInfoHelp[] = {
    "CONSUMERS <key> <groupname>",
    "    Show consumers of <groupname>.",
    "GROUPS <key>",
    "    Show the stream consumer groups.",
    "STREAM <key> [FULL [COUNT <count>]",
    "    Show information about the stream.",
};

void StreamInfoHelp(CommandCall& call) { ReplyHelp(call, kStreamInfoHelp); }

// --- the table

constexpr KeySpecs kKey = KeyAt(2, kKeyRo | kKeyAccess);

// Reads of one key, at 2.
constexpr CommandRow kStreamInfoSubcommandsListed[] = {
    {.name = "CONSUMERS",
     .arity = 4,
     .flags = kReadOnly,
     .keys = kKey,
     .run = ShowConsumers,
     .usage = "key groupname",
     .summary = "The consumers of a group: what is pending for each, and since when it is quiet.",
     .tips = "nondeterministic_output"},
    {.name = "GROUPS",
     .arity = 3,
     .flags = kReadOnly,
     .keys = kKey,
     .run = ShowGroups,
     .usage = "key",
     .summary = "The groups of a stream.",
     .history = "7.0.0 The fields `entries-read` and `lag`."},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = StreamInfoHelp,
     .summary = "The subcommands of XINFO."},
    {.name = "STREAM",
     .arity = -3,
     .flags = kReadOnly,
     .keys = kKey,
     .run = ShowStream,
     .usage = "key [FULL full=<[COUNT count]>]",
     .summary = "The counters of a stream; FULL: with its groups and some entries.",
     .history = "6.0.0 `FULL`.|7.0.0 The fields `max-deleted-entry-id`, `entries-added`, "
                "`recorded-first-entry-id`, `entries-read` and `lag`."},
};
constexpr auto kStreamInfoSubcommands =
    RowsOf(kStreamInfoSubcommandsListed,
           {.categories = kCatStream, .group = "stream", .since = "5.0.0", .complexity = "O(1)"});

constexpr CommandRow kStreamInfoRows[] = {
    {.name = "XINFO",
     .arity = -2,
     .subcommands = kSpecsOf<kStreamInfoSubcommands>,
     .group = "stream",
     .since = "5.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "Look into streams, groups and consumers."},
};

}  // namespace

CommandFamily StreamInfoFamily() { return {"stream info", kSpecsOf<kStreamInfoRows>}; }

}  // namespace sluice
