// Sorted sets member by member: chosen by chance (ZRANDMEMBER), and all of them in pieces (ZSCAN).
//
//   ZRANDMEMBER key            a member, or null
//   ZRANDMEMBER key 5          up to five different ones
//   ZRANDMEMBER key -5         exactly five, each out of all

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/random_count.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/scan_args.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

using Direction = SortedSet::Direction;

// --- ZRANDMEMBER

// O(log N) in a tree, O(N) in a compact set.
void AddRank(const SortedSet& set, size_t rank, ElementsReply& reply) {
  set.ForEach({rank, rank + 1}, Direction::kUp,
              [&](std::string_view name, double score) { return reply.Add(name, score); });
}

// A small set has to be walked through for each rank: once is enough.
void ReplyRepeatedOfFew(CommandCall& call, const SortedSet& set, int64_t count,
                        ElementsReply& reply) {
  std::vector<std::pair<std::string, double>> elements;
  set.ForEach(set.All(), Direction::kUp, [&](std::string_view name, double score) {
    elements.emplace_back(name, score);
    return true;
  });
  for (int64_t i = 0; i < count && !call.reply.full(); ++i) {
    const auto& [name, score] = elements[call.random() % elements.size()];
    reply.Add(name, score);
  }
}

// Draws with repetition: bounded by kRepeatedMax, and by what the client may be sent.
void ReplyRepeated(CommandCall& call, const SortedSet& set, int64_t count, bool with_scores) {
  ElementsReply reply(call.reply, static_cast<size_t>(count), with_scores);
  if (set.Encoding() == "listpack") return ReplyRepeatedOfFew(call, set, count, reply);
  for (int64_t i = 0; i < count && !call.reply.full(); ++i) {
    AddRank(set, call.random() % set.size(), reply);
  }
}

// Different ones (Floyd's sampling); all of them in Redis's order, from the highest down.
void ReplyDistinct(CommandCall& call, const SortedSet& set, uint64_t count, bool with_scores) {
  const size_t size = set.size();
  if (count >= size) {
    ElementsReply reply(call.reply, size, with_scores);
    return set.ForEach(set.All(), Direction::kDown,
                       [&](std::string_view name, double score) { return reply.Add(name, score); });
  }
  ElementsReply reply(call.reply, count, with_scores);
  absl::flat_hash_set<size_t> taken;
  for (size_t last = size - count; last < size; ++last) {
    const size_t rank = call.random() % (last + 1);
    // Floyd: a rank that is taken already is replaced by the newest one, which cannot be.
    const size_t chosen = taken.insert(rank).second ? rank : last;
    taken.insert(chosen);
    AddRank(set, chosen, reply);
  }
}

// Each member is equally likely, as ranks are.
void ReplyOne(CommandCall& call) {
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  if (!set) return call.reply.Null();
  const size_t rank = call.random() % set->size();
  set->ForEach({rank, rank + 1}, Direction::kUp, [&](std::string_view name, double) {
    call.reply.Bulk(name);
    return true;
  });
}

// The order of Redis: the count, its lowest value, the word, the range for pairs, then the key.
// After `ZADD z 1 a`:
//   ZRANDMEMBER z 5 WITHSCORES  → ["a", "1"]  at most every member once
//   ZRANDMEMBER z -2            → ["a", "a"]  exactly two, with repetition
//   ZRANDMEMBER nothing         → nil
//   ZRANDMEMBER nothing 2       → []
void ZRandMember(CommandCall& call) {
  if (call.args.size() == 2) return ReplyOne(call);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  ArgReader args(call.args, 2);
  const int64_t count = args.Int();
  if (!args.failed() && count < -kMax) {
    args.Fail(
        "ERR value is out of range, value must between -9223372036854775807 and "
        "9223372036854775807");
  }
  const bool with_scores = args.TakeWord("WITHSCORES");
  if (args.Finish() &&
      ((with_scores && (count < -kMax / 2 || count > kMax / 2)) || count < -kRepeatedMax)) {
    args.Fail(ErrorCode::kOutOfRange);
  }
  if (args.failed()) return call.reply.Error(args.error());
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  if (!set || count == 0) return call.reply.Array(0);
  if (count < 0) return ReplyRepeated(call, *set, -count, with_scores);
  ReplyDistinct(call, *set, static_cast<uint64_t>(count), with_scores);
}

// --- ZSCAN

// As Redis keeps scores in a listpack: whole numbers with all their digits.
std::string ScoreText(const SortedSet& set, double score) {
  const bool whole =
      std::fabs(score) <= static_cast<double>(std::numeric_limits<int64_t>::max() / 2) &&
      score == std::trunc(score);
  if (set.Encoding() == "listpack" && whole) return Int64Text(static_cast<int64_t>(score));
  return DoubleText(score);
}

// Order of checks: cursor, key, options. A compact set comes as a whole with cursor 0.
void ZScan(CommandCall& call) {
  const std::optional<uint64_t> cursor = ParseCursor(call.args[2]);
  if (!cursor) return call.reply.Error(ErrorCode::kInvalidCursor);
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  if (!set) return ReplyEmptyScan(call);
  ScanOptions options;
  if (!ReadScanOptions(call, 3, ScanTarget::kMembers, options)) return;
  std::vector<std::string> found;
  const uint64_t next = set->Scan(
      *cursor, static_cast<size_t>(options.count),
      [&](std::string_view name, double score) {
        if (!options.Wants(name)) return;
        found.emplace_back(name);
        found.push_back(ScoreText(*set, score));
      },
      &call.keyspace.scan_cache());
  ReplyScan(call, next, found);
}

// --- the table

constexpr CommandRow kSortedSetScanRows[] = {
    {.name = "ZRANDMEMBER",
     .arity = -2,
     .flags = kReadOnly,
     .categories = kCatSortedSet,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRandMember,
     .group = "sorted-set",
     .since = "6.2.0",
     .complexity = "O(N) where N is the number of elements returned",
     .usage = "key options=[count [WITHSCORES]]",
     .summary = "Members chosen by chance.",
     .tips = "nondeterministic_output"},
    {.name = "ZSCAN",
     .arity = -3,
     .flags = kReadOnly,
     .categories = kCatSortedSet,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZScan,
     .group = "sorted-set",
     .since = "2.8.0",
     .complexity =
         "O(1) for every call. O(N) for a complete iteration, including enough command calls for "
         "the cursor to return back to 0. N is the number of elements inside the collection..",
     .usage = "key cursor [MATCH pattern] [COUNT count]",
     .summary =
         "Some more members with their scores, and the cursor with which to go on; 0 at the end.",
     .tips = "nondeterministic_output"},
};

}  // namespace

CommandFamily SortedSetScanFamily() { return {"sorted_set_scan", kSpecsOf<kSortedSetScanRows>}; }

}  // namespace sluice
