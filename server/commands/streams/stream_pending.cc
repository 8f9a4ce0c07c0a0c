// XPENDING: what consumers of a group have been given and not acknowledged.
//
// Two forms. The short one sums up: how many, the lowest and the highest id, and a count for each
// consumer that has any. The long one lists entries with owner, idle ms and number of deliveries.
// It is a read: looking does not reset the idle time.

#include <algorithm>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

constexpr int64_t kIdleForEver = -1;  // as Redis 8.8 shows what nobody owns

// `summary`: only key and group were given.
struct PendingArgs {
  bool summary = true;
  int64_t idle_min_ms = 0;
  StreamId from, to;
  int64_t count = 0;
  std::optional<std::string_view> consumer;
};

// "[[IDLE ms] start end count [consumer]]". Faults are looked for in Redis's order, the count
// before the ids; arguments behind the consumer, up to nine in all, are passed over as there.
PendingArgs ReadPendingArgs(ArgReader& args) {
  constexpr size_t kLeast = 3;
  constexpr size_t kMost = 6;
  PendingArgs result;
  if (!args.more()) return result;
  result.summary = false;
  if (args.left() < kLeast || args.left() > kMost) args.Fail(ErrorCode::kSyntax);
  if (args.TakeWord("IDLE")) {
    result.idle_min_ms = args.Int();
    if (args.left() < kLeast) args.Fail(ErrorCode::kSyntax);
  }
  const std::string_view from = args.Bytes();
  const std::string_view to = args.Bytes();
  result.count = std::max<int64_t>(args.Int(), 0);
  result.from = RangeStart(args, from);
  result.to = RangeEnd(args, to);
  if (args.more()) result.consumer = args.Bytes();
  return result;
}

// Counts of consumers are bulk strings here, as in Redis, though the total is an integer.
// O(consumers).
void ReplySummary(CommandCall& call, const StreamGroup& group) {
  ReplySink& reply = call.reply;
  reply.Array(4);
  reply.Integer(static_cast<int64_t>(group.pending().size()));
  if (group.pending().empty()) {
    reply.Null();
    reply.Null();
    return reply.NullArray();
  }
  ReplyId(reply, group.pending().begin()->first);
  ReplyId(reply, group.pending().rbegin()->first);
  const auto has_some = [](const auto& named) { return !named.second->pending.empty(); };
  reply.Array(static_cast<size_t>(
      std::count_if(group.consumers().begin(), group.consumers().end(), has_some)));
  for (const auto& named : group.consumers()) {
    if (!has_some(named)) continue;
    reply.Array(2);
    reply.Bulk(named.first);
    reply.Bulk(Int64Text(static_cast<int64_t>(named.second->pending.size())));
  }
}

// The entry lies in the group and stays valid during the command, which changes nothing.
struct Shown {
  StreamId id;
  const PendingEntry* entry;
};

// The entries that the arguments ask for, in order. O(log N + entries passed): IDLE has no index,
// so entries that are too fresh are passed one by one.
std::vector<Shown> FindShown(CommandCall& call, StreamGroup& group, const PendingArgs& args,
                             const StreamConsumer* consumer) {
  std::vector<Shown> result;
  const int64_t now_ms = call.now.unix_ms();
  const auto take = [&](StreamId id, const PendingEntry& entry) {
    const bool is_idle = entry.unowned() || now_ms - entry.delivered_ms >= args.idle_min_ms;
    if (args.idle_min_ms != 0 && !is_idle) return;
    result.push_back({id, &entry});
  };
  const auto has_room = [&] { return result.size() < static_cast<uint64_t>(args.count); };
  // A consumer's own list of ids is as short as its work; the group's may be long.
  if (consumer != nullptr) {
    for (auto at = consumer->pending.lower_bound(args.from);
         at != consumer->pending.end() && *at <= args.to && has_room(); ++at) {
      take(*at, *group.FindPending(*at));
    }
    return result;
  }
  for (auto at = group.pending().lower_bound(args.from);
       at != group.pending().end() && at->first <= args.to && has_room(); ++at) {
    take(at->first, at->second);
  }
  return result;
}

// The arguments come before the key and the group. A consumer that does not exist has nothing
// pending: an empty array. After `XADD s 1-1 f v`, `XGROUP CREATE s g 0`:
//   XPENDING s g        → [0, nil, nil, nil array]
// After `XREADGROUP GROUP g me STREAMS s >`:
//   XPENDING s g        → [1, "1-1", "1-1", [["me", "1"]]]
//   XPENDING s g - + 0  → []
void XPending(CommandCall& call) {
  ArgReader reader(call.args, 3);
  const PendingArgs args = ReadPendingArgs(reader);
  if (reader.failed()) return call.reply.Error(reader.error());
  const FoundStream found = FindStream(call, call.Key(1));
  if (found.failed) return;
  StreamGroup* const group = found.entry ? found.stream()->FindGroup(call.args[2]) : nullptr;
  if (!group) return ReplyNoGroup(call, call.args[1], call.args[2]);
  if (args.summary) return ReplySummary(call, *group);

  const StreamConsumer* const consumer =
      args.consumer ? group->FindConsumer(*args.consumer) : nullptr;
  if (args.consumer && !consumer) return call.reply.Array(0);
  const int64_t now_ms = call.now.unix_ms();
  const std::vector<Shown> shown = FindShown(call, *group, args, consumer);
  call.reply.Array(shown.size());
  for (const auto& [id, entry] : shown) {
    call.reply.Array(4);
    ReplyId(call.reply, id);
    call.reply.Bulk(entry->owner());
    call.reply.Integer(entry->unowned() ? kIdleForEver
                                        : std::max<int64_t>(now_ms - entry->delivered_ms, 0));
    call.reply.Integer(entry->deliveries);
  }
}

// --- the table

// XPENDING key group [[IDLE min-idle-ms] start end count [consumer]]
constexpr CommandRow kStreamPendingRows[] = {
    {.name = "XPENDING",
     .arity = -3,
     .flags = kReadOnly,
     .categories = kCatStream,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = XPending,
     .group = "stream",
     .since = "5.0.0",
     .complexity =
         "O(N) with N being the number of elements returned, so asking for a small fixed number of "
         "entries per call is O(1). O(M), where M is the total number of entries scanned when used "
         "with the IDLE filter. When the command returns just the summary and the list of "
         "consumers is small, it runs in O(1) time; otherwise, an additional O(N) time for "
         "iterating every consumer.",
     .usage = "key group filters=[[IDLE min-idle-time:integer]@6.2.0 start:string end:string count "
              "[consumer]]",
     .summary = "What was given to consumers and not acknowledged: a summary, or one by one.",
     .history = "6.2.0 `IDLE` and exclusive ranges.",
     .tips = "nondeterministic_output"},
};

}  // namespace

CommandFamily StreamPendingFamily() { return {"stream pending", kSpecsOf<kStreamPendingRows>}; }

}  // namespace sluice
