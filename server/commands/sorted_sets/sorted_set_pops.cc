// Taking out members from either end of a sorted set, at once (ZPOPMIN, ZMPOP) or as soon as there
// are any (BZPOPMIN, BZMPOP).
//
// A pop is O(log N) for each member and is logged without its waiting: as ZPOPMIN or ZPOPMAX of the
// one key that served, for of several keys only one gives.
//
//   command             nothing there     event               effect
//   ZPOPMIN ZPOPMAX     an empty array    zpopmin zpopmax     itself
//   ZMPOP               a null array      the same            ZPOPMIN or ZPOPMAX key count
//   BZPOPMIN BZPOPMAX   waits             the same            ZPOPMIN or ZPOPMAX key
//   BZMPOP              waits             the same            ZPOPMIN or ZPOPMAX key count

#include <algorithm>
#include <limits>
#include <optional>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/rows.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/arg_reader.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

using Direction = SortedSet::Direction;

// From which end.
struct End {
  Direction direction;
  std::string_view command;  // that does it to one key
  std::string_view event;

  // The ranks of the first `count` from this end; fewer where there are no more.
  RankRange Find(const SortedSet& set, uint64_t count) const {
    const size_t taken = std::min<uint64_t>(count, set.size());
    if (direction == Direction::kUp) return {0, taken};
    return {set.size() - taken, set.size()};
  }
};
constexpr End kLowest{Direction::kUp, "ZPOPMIN", "zpopmin"};
constexpr End kHighest{Direction::kDown, "ZPOPMAX", "zpopmax"};

// Answers with the elements, and takes them out.
void Pop(CommandCall& call, SortedSetChange& change, const End& end, RankRange range, bool paired) {
  change.found()->ForEach(range, end.direction, [&](std::string_view name, double score) {
    if (paired) call.reply.Array(2);
    call.reply.Bulk(name);
    call.reply.Double(score);
    return true;
  });
  change.set().Erase(range);
  change.Close(end.event);
}

// --- ZPOPMIN, ZPOPMAX

// The count comes before the key, which is WRONGTYPE even with count 0. Without a count RESP3 has a
// flat pair; with one it has pairs in an array. After `ZADD z 1 a 2 b 3 c`:
//   ZPOPMAX z     → ["c", "3"]
//   ZPOPMIN z 5   → ["a", "1", "b", "2"]
//   ZPOPMIN z     → []
//   ZPOPMIN z -1  → -ERR value is out of range, must be positive
void PopFromKey(CommandCall& call, const End& end) {
  if (call.args.size() > 3) return call.reply.Error(ErrorCode::kSyntax);
  const bool counted = call.args.size() == 3;
  const int64_t count = counted ? ParseInt64(call.args[2]).value_or(-1) : 1;
  if (count < 0) return call.reply.Error(ErrorCode::kPositive);
  SortedSetChange change(call, call.Key(1));
  if (change.refused()) return;
  if (!change.found() || count == 0) return call.reply.Array(0);
  const RankRange range = end.Find(*change.found(), static_cast<uint64_t>(count));
  // RESP3 without a count has one flat pair, as in Redis.
  const bool paired = counted && call.reply.version() == 3;
  call.reply.Array(paired ? range.size() : 2 * range.size());
  Pop(call, change, end, range, paired);
}
void ZPopMin(CommandCall& call) { PopFromKey(call, kLowest); }
void ZPopMax(CommandCall& call) { PopFromKey(call, kHighest); }

// --- ZMPOP

// `end` points to one of the two constants above.
struct MultiPop {
  Args keys;
  const End* end = nullptr;
  int64_t count = 1;
};

// Every fault in the grammar comes before any look at a key; any bad numkeys gives the same
// sentence.
// "numkeys key ... MIN|MAX [COUNT count]".
void ReadMultiPop(CommandCall& call, ArgReader& args, MultiPop& pop) {
  const int64_t keys = ParseInt64(args.Bytes()).value_or(0);
  if (keys < 1) return args.Fail("ERR numkeys should be greater than 0");
  if (static_cast<uint64_t>(keys) >= args.left()) return args.Fail(ErrorCode::kSyntax);
  pop.keys = call.args.subspan(args.position(), static_cast<size_t>(keys));
  args.Skip(pop.keys.size());
  if (args.TakeWord("MIN")) {
    pop.end = &kLowest;
  } else if (args.TakeWord("MAX")) {
    pop.end = &kHighest;
  } else {
    return args.Fail(ErrorCode::kSyntax);
  }
  if (args.left() >= 2 && args.TakeWord("COUNT")) {
    pop.count = ParseInt64(args.Bytes()).value_or(0);
    if (pop.count < 1) return args.Fail(ErrorCode::kNotPositive);
  }
  args.Finish();
}

// Pops from the first key that has something, or answers WRONGTYPE. False: none has.
bool PopFromFirst(CommandCall& call, Args keys, const MultiPop& pop) {
  for (const std::string_view name : keys) {
    SortedSetChange change(call, call.keyspace.Hash(name));
    if (change.refused()) return true;
    if (!change.found()) continue;
    const RankRange range = pop.end->Find(*change.found(), static_cast<uint64_t>(pop.count));
    call.reply.Array(2);
    call.reply.Bulk(name);
    call.reply.Array(range.size());
    Pop(call, change, *pop.end, range, true);
    if (call.wants_effects()) call.ReplaceWith({pop.end->command, name, Int64Text(pop.count)});
    return true;
  }
  return false;
}

// A null array, not an empty one, where no key has anything. After `ZADD b 1 x 2 y`:
//   ZMPOP 2 a b MIN        → ["b", [["x", "1"]]]  the first set that has something
//   ZMPOP 1 a MAX COUNT 2  → nil array
//   ZMPOP 1 b MIN COUNT 0  → -ERR count should be greater than 0
void ZMPop(CommandCall& call) {
  ArgReader args(call.args, 1);
  MultiPop pop;
  ReadMultiPop(call, args, pop);
  if (args.failed()) return call.reply.Error(args.error());
  if (!PopFromFirst(call, pop.keys, pop)) call.reply.NullArray();
}

// --- BZPOPMIN, BZPOPMAX, BZMPOP

// Inside MULTI and scripts Block answers at once, as at the deadline.
void Wait(CommandCall& call, Args keys, int64_t deadline_ms) {
  Block(call, keys, {.deadline_ms = deadline_ms, .type = ValueType::kSortedSet});
}

// The answer is flat in both protocols: key, member, score. A client that was woken looks only at
// the key that woke it, so it cannot overtake another waiter of its other keys.
// "key ... timeout".
void PopOrWait(CommandCall& call, const End& end) {
  ArgReader args(call.args, call.args.size() - 1);
  const int64_t deadline_ms = ReadTimeoutSeconds(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  const Args keys = call.args.subspan(1, call.args.size() - 2);
  for (const std::string_view name : call.woken ? Args(&call.woken_key, 1) : keys) {
    SortedSetChange change(call, call.keyspace.Hash(name));
    if (change.refused()) return;
    if (!change.found()) continue;
    call.reply.Array(3);
    call.reply.Bulk(name);
    Pop(call, change, end, end.Find(*change.found(), 1), false);
    call.ReplaceWith({end.command, name});
    return;
  }
  Wait(call, keys, deadline_ms);
}

// After `ZADD z 1 a`:
//   BZPOPMIN z 0     → ["z", "a", "1"]  with the key's name, unlike ZPOPMIN
//   BZPOPMIN z 0.01  → nil array
//   BZPOPMIN z -1    → -ERR timeout is negative
//   BZPOPMIN z x     → -ERR timeout is not a float or out of range
void BZPopMin(CommandCall& call) { PopOrWait(call, kLowest); }
void BZPopMax(CommandCall& call) { PopOrWait(call, kHighest); }

// The grammar behind the time-out is read first, as in BLMPOP.
void BZMPop(CommandCall& call) {
  ArgReader args(call.args, 2);
  MultiPop pop;
  ReadMultiPop(call, args, pop);
  if (args.failed()) return call.reply.Error(args.error());
  ArgReader timeout(call.args, 1);
  const int64_t deadline_ms = ReadTimeoutSeconds(timeout, call);
  if (timeout.failed()) return call.reply.Error(timeout.error());
  if (!PopFromFirst(call, call.woken ? Args(&call.woken_key, 1) : pop.keys, pop)) {
    Wait(call, pop.keys, deadline_ms);
  }
}

// --- the table

// ZPOPMIN is kFast as in Redis, though it is O(log N) a member.
constexpr CommandRow kSortedSetPopsListed[] = {
    {.name = "ZPOPMIN",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = ZPopMin,
     .since = "5.0.0",
     .complexity = "O(log(N)*M) with N being the number of elements in the sorted set, and M being "
                   "the number of elements popped.",
     .usage = "key [count]",
     .summary = "Take out the members with the lowest scores."},
    {.name = "ZPOPMAX",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = ZPopMax,
     .since = "5.0.0",
     .complexity = "O(log(N)*M) with N being the number of elements in the sorted set, and M being "
                   "the number of elements popped.",
     .usage = "key [count]",
     .summary = "Take out the members with the highest scores."},
    {.name = "ZMPOP",
     .arity = -4,
     .flags = kWrite | kMovableKeys,
     .keys = KeysCounted(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = ZMPop,
     .since = "7.0.0",
     .complexity = "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number "
                   "of elements in the sorted set, and M being the number of elements popped.",
     .usage = "numkeys key [key ...] where=<MIN | MAX> [COUNT count]",
     .summary = "Take out members of the first of several sorted sets that has any."},
    {.name = "BZPOPMIN",
     .arity = -3,
     .flags = kWrite | kNoScript | kBlocking | kFast,
     .keys = KeyRange(1, -2, 1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = BZPopMin,
     .since = "5.0.0",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .usage = "key [key ...] timeout:double",
     .summary = "Take out the member with the lowest score, or wait for one.",
     .history = "6.0.0 `timeout` is interpreted as a double instead of an integer."},
    {.name = "BZPOPMAX",
     .arity = -3,
     .flags = kWrite | kNoScript | kBlocking | kFast,
     .keys = KeyRange(1, -2, 1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = BZPopMax,
     .since = "5.0.0",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .usage = "key [key ...] timeout:double",
     .summary = "Take out the member with the highest score, or wait for one.",
     .history = "6.0.0 `timeout` is interpreted as a double instead of an integer."},
    {.name = "BZMPOP",
     .arity = -5,
     .flags = kWrite | kBlocking | kMovableKeys,
     .keys = KeysCounted(2, kKeyRw | kKeyAccess | kKeyDelete),
     .run = BZMPop,
     .since = "7.0.0",
     .complexity = "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number "
                   "of elements in the sorted set, and M being the number of elements popped.",
     .usage = "timeout:double numkeys key [key ...] where=<MIN | MAX> [COUNT count]",
     .summary =
         "Take out members of the first of several sorted sets that has any, or wait for one."},
};
constexpr auto kSortedSetPopsRows =
    RowsOf(kSortedSetPopsListed, {.categories = kCatSortedSet, .group = "sorted-set"});

}  // namespace

CommandFamily SortedSetPopsFamily() { return {"sorted_set_pops", kSpecsOf<kSortedSetPopsRows>}; }

}  // namespace sluice
