// Ranges of a sorted set: by rank, score or name; answered, counted, stored or taken out. ZRANGE
// says in options what the older commands say in their names; here every one of them is the same
// request (RangeRequest), which is read, found as a range of ranks, and handed to what is done with
// it.
//
// Finding a range is O(log N), whatever it contains; walking over it or taking it out is
// O(members), in one piece. LIMIT is arithmetic on ranks, so a large offset costs nothing, while
// Redis steps over it.
//
//   command              bounds                 event               effect
//   ZRANGE and kin       ranks, scores, names
//   ZRANGESTORE          the same               zrangestore, del    itself
//   ZCOUNT ZLEXCOUNT     scores, names
//   ZREMRANGEBY...       as the name says       zremrangeby...      itself

#include <algorithm>
#include <memory>
#include <optional>

#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

using Direction = SortedSet::Direction;
// Kinds of bounds: places, scores, or names where all scores are equal.
enum class RangeBy : uint8_t { kRank, kScore, kName };

// The parts of a request that the command's name has said already.
struct RangeForm {
  std::optional<RangeBy> by;
  std::optional<Direction> direction;
  bool with_scores = true;  // the option is known
};

// The wanted elements, and in which direction; `start` and `stop` are as the client wrote them.
struct RangeRequest {
  RangeForm form;
  RangeBy by = RangeBy::kRank;
  Direction direction = Direction::kUp;
  bool with_scores = false;
  int64_t skip = 0;
  int64_t take = -1;  // negative: all
  // The bounds: those that `by` says.
  int64_t start = 0;
  int64_t stop = 0;
  ScoreRange scores;
  LexRange names;

  // Empty where the bounds have nothing between them.
  RankRange Find(const SortedSet& set) const;
};

// The older commands have chosen already, and BYSCORE and BYLEX exclude each other.
constexpr auto kMayChooseBy = [](const RangeRequest& request) {
  return !request.form.by && request.by == RangeBy::kRank;
};
// ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
constexpr OptionRow<RangeRequest> kSortedSetRangesOptions[] = {
    {"WITHSCORES", kRaise<&RangeRequest::with_scores>, 0,
     [](const RangeRequest& request) { return request.form.with_scores; }},
    {"LIMIT",
     [](ArgReader& args, RangeRequest& request) {
       request.skip = args.Int();
       request.take = args.Int();
     },
     2},
    {"REV", kAssign<&RangeRequest::direction, Direction::kDown>, 0,
     [](const RangeRequest& request) {
       return !request.form.direction && request.direction == Direction::kUp;
     }},
    {"BYLEX", kAssign<&RangeRequest::by, RangeBy::kName>, 0, kMayChooseBy},
    {"BYSCORE", kAssign<&RangeRequest::by, RangeBy::kScore>, 0, kMayChooseBy},
};

// For scores and names in reverse the client writes the higher bound first; ranks keep their order.
void ReadBounds(ArgReader& args, RangeRequest& request) {
  if (request.by == RangeBy::kRank) {
    request.start = args.Int();
    request.stop = args.Int();
    return;
  }
  std::string_view min = args.Bytes();
  std::string_view max = args.Bytes();
  // From here on the lower bound comes first.
  if (request.direction == Direction::kDown) std::swap(min, max);
  if (request.by == RangeBy::kScore) {
    const std::optional<ScoreRange> scores = ParseScoreRange(min, max);
    if (!scores) return args.Fail(std::string(kScoreRangeFault));
    request.scores = *scores;
  } else {
    const std::optional<LexRange> names = ParseLexRange(min, max);
    if (!names) return args.Fail(std::string(kLexRangeFault));
    request.names = *names;
  }
}

// Reads the bounds at `bounds_at` and the options behind them. False: the error has been answered.
// Redis's order: the options, what they exclude, then the bounds, then the key. LIMIT by rank is
// found by its count alone: LIMIT 0 -1 passes.
bool ReadRange(CommandCall& call, size_t bounds_at, const RangeForm& form, RangeRequest& request) {
  request.form = form;
  if (form.by) request.by = *form.by;
  if (form.direction) request.direction = *form.direction;
  ArgReader options(call.args, bounds_at + 2);
  ReadOptions(options, kSortedSetRangesOptions, request);
  // As in Redis only the count is looked at: an offset alone is overlooked.
  if (!options.failed() && request.by == RangeBy::kRank && request.take != -1) {
    options.Fail(
        "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
  }
  if (!options.failed() && request.by == RangeBy::kName && request.with_scores) {
    options.Fail("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
  }
  if (options.failed()) {
    call.reply.Error(options.error());
    return false;
  }
  ArgReader bounds(call.args, bounds_at);
  ReadBounds(bounds, request);
  if (bounds.failed()) call.reply.Error(bounds.error());
  return !bounds.failed();
}

// A walk downwards covers the same ranks, counted from the other end: rank 0 of ZREVRANGE is the
// last. A negative offset gives nothing, a negative count gives all.
RankRange RangeRequest::Find(const SortedSet& set) const {
  const bool down = direction == Direction::kDown;
  if (by == RangeBy::kRank) {
    const RankRange range = RanksFrom(start, stop, set.size());
    if (!down) return range;
    return {set.size() - range.last, set.size() - range.first};
  }
  RankRange range = by == RangeBy::kScore ? set.Between(scores) : set.Between(names);
  if (skip < 0 || static_cast<size_t>(skip) >= range.size()) return {};
  const size_t left = range.size() - static_cast<size_t>(skip);
  const size_t taken = take < 0 ? left : std::min(left, static_cast<size_t>(take));
  if (down)
    return {range.last - static_cast<size_t>(skip) - taken, range.last - static_cast<size_t>(skip)};
  return {range.first + static_cast<size_t>(skip), range.first + static_cast<size_t>(skip) + taken};
}

// --- answering

// A missing key answers an empty array after all arguments were checked. After
// `ZADD z 1 a 2 b 3 c`:
//   ZRANGE z 0 1 REV WITHSCORES           → ["c", "3", "b", "2"]
//   ZRANGE z (1 +inf BYSCORE LIMIT 0 1    → ["b"]
//   ZRANGE z 3 1 BYSCORE REV              → ["c", "b", "a"]  the upper bound comes first
//   ZRANGE z 1 3 BYSCORE REV              → []
//   ZRANGE z 0 -1 LIMIT 0 1               → -ERR syntax error, LIMIT is only supported in ...
//   ZRANGEBYSCORE z -inf +inf LIMIT 1 -1  → ["b", "c"]
void ReplyRange(CommandCall& call, const RangeForm& form) {
  RangeRequest request;
  if (!ReadRange(call, 2, form, request)) return;
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  const RankRange range = set ? request.Find(*set) : RankRange{};
  ElementsReply elements(call.reply, range.size(), request.with_scores);
  if (range.empty()) return;
  set->ForEach(range, request.direction,
               [&](std::string_view name, double score) { return elements.Add(name, score); });
}

void ZRange(CommandCall& call) { ReplyRange(call, {}); }
void ZRevRange(CommandCall& call) { ReplyRange(call, {RangeBy::kRank, Direction::kDown}); }
void ZRangeByScore(CommandCall& call) { ReplyRange(call, {RangeBy::kScore, Direction::kUp}); }
void ZRevRangeByScore(CommandCall& call) { ReplyRange(call, {RangeBy::kScore, Direction::kDown}); }
void ZRangeByLex(CommandCall& call) { ReplyRange(call, {RangeBy::kName, Direction::kUp}); }
void ZRevRangeByLex(CommandCall& call) { ReplyRange(call, {RangeBy::kName, Direction::kDown}); }

// The source's order does not matter once it is stored. The target may be the source, as the result
// is made before it is put. WITHSCORES is no option. After `ZADD z 1 a 2 b`:
//   ZRANGESTORE t z 5 9  → 0  an empty result deletes the target
//   EXISTS t             → 0
//   ZRANGESTORE z z 0 0  → 1
//   ZRANGE z 0 -1        → ["a"]
void ZRangeStore(CommandCall& call) {
  RangeRequest request;
  if (!ReadRange(call, 3, {.with_scores = false}, request)) return;
  const Typed<SortedSet> source = FindTyped<SortedSet>(call, call.Key(2));
  if (source.refused) return;
  auto result = std::make_unique<SortedSet>();
  if (source) {
    const SortedSet::Limits limits = SortedSetLimits(call);
    source->ForEach(request.Find(*source), request.direction,
                    [&](std::string_view name, double score) {
                      result->Put(name, score, limits);
                      return true;
                    });
  }
  StoreSortedSet(call, call.Key(1), std::move(result), "zrangestore");
}

// --- counting

// Two look-ups in the tree, however many members lie between. After `ZADD z 1 a 2 b 3 c`:
//   ZCOUNT z (1 3      → 2
//   ZCOUNT z 3 1       → 0
//   ZCOUNT z 1 x       → -ERR min or max is not a float
// After `ZADD n 0 a 0 b 0 c`:
//   ZLEXCOUNT n [a (c  → 2
//   ZLEXCOUNT n - +    → 3
//   ZLEXCOUNT n a c    → -ERR min or max not valid string range item
void Count(CommandCall& call, RangeBy by) {
  RangeRequest request{.by = by};
  ArgReader args(call.args, 2);
  ReadBounds(args, request);
  if (args.failed()) return call.reply.Error(args.error());
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  call.reply.Integer(set ? static_cast<int64_t>(request.Find(*set).size()) : 0);
}
// Bounds of scores: "(1" leaves 1 out, "-inf" and "+inf" are the ends.
void ZCount(CommandCall& call) { Count(call, RangeBy::kScore); }
// Bounds of names: "[a" has a in it, "(a" has not, "-" and "+" are the ends.
void ZLexCount(CommandCall& call) { Count(call, RangeBy::kName); }

// --- taking out

// The bounds come before the key. Nothing in the range means no change, no event and no effect; the
// last member takes the key along. After `ZADD z 1 a 2 b 3 c`:
//   ZREMRANGEBYRANK z 5 9       → 0
//   ZREMRANGEBYSCORE z -inf (3  → 2
//   ZREMRANGEBYRANK z 0 -1      → 1
//   EXISTS z                    → 0
void Remove(CommandCall& call, RangeBy by, std::string_view event) {
  RangeRequest request{.by = by};
  ArgReader args(call.args, 2);
  ReadBounds(args, request);
  if (args.failed()) return call.reply.Error(args.error());
  SortedSetChange change(call, call.Key(1));
  if (change.refused()) return;
  const RankRange range = change.found() ? request.Find(*change.found()) : RankRange{};
  if (!range.empty()) change.set().Erase(range);
  change.Close(event);
  call.reply.Integer(static_cast<int64_t>(range.size()));
}
void ZRemRangeByRank(CommandCall& call) { Remove(call, RangeBy::kRank, "zremrangebyrank"); }
void ZRemRangeByScore(CommandCall& call) { Remove(call, RangeBy::kScore, "zremrangebyscore"); }
void ZRemRangeByLex(CommandCall& call) { Remove(call, RangeBy::kName, "zremrangebylex"); }

// --- the table

// The older commands are deprecated in favour of ZRANGE, and stay.
constexpr CommandRow kSortedSetRangesListed[] = {
    {.name = "ZRANGE",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRange,
     .since = "1.2.0",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements returned.",
     .usage = "key start:string stop sortby=[BYSCORE | BYLEX]@6.2.0 [REV]@6.2.0 [LIMIT offset "
              "count]@6.2.0 [WITHSCORES]",
     .summary = "The members of a range of ranks, scores or names, in either order.",
     .history = "6.2.0 Added the `REV`, `BYSCORE`, `BYLEX` and `LIMIT` options."},
    {.name = "ZREVRANGE",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRevRange,
     .since = "1.2.0",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements returned.",
     .usage = "key start stop:integer [WITHSCORES]",
     .summary = "The members of a range of ranks, from the highest down.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`ZRANGE` with the `REV` argument"},
    {.name = "ZRANGEBYSCORE",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRangeByScore,
     .since = "1.0.5",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements being returned. If M is constant (e.g. always asking for "
                   "the first 10 elements with LIMIT), you can consider it O(log(N)).",
     .usage = "key min:double max:double [WITHSCORES]@2.0.0 [LIMIT offset count]",
     .summary = "The members whose scores lie in a range, from the lowest up.",
     .history = "2.0.0 Added the `WITHSCORES` modifier.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`ZRANGE` with the `BYSCORE` argument"},
    {.name = "ZREVRANGEBYSCORE",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRevRangeByScore,
     .since = "2.2.0",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements being returned. If M is constant (e.g. always asking for "
                   "the first 10 elements with LIMIT), you can consider it O(log(N)).",
     .usage = "key max:double min:double [WITHSCORES] [LIMIT offset count]",
     .summary = "The members whose scores lie in a range, from the highest down.",
     .history = "2.1.6 `min` and `max` can be exclusive.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`ZRANGE` with the `REV` and `BYSCORE` arguments"},
    {.name = "ZRANGEBYLEX",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRangeByLex,
     .since = "2.8.9",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements being returned. If M is constant (e.g. always asking for "
                   "the first 10 elements with LIMIT), you can consider it O(log(N)).",
     .usage = "key min max [LIMIT offset count]",
     .summary = "The members whose names lie in a range, where all scores are equal.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`ZRANGE` with the `BYLEX` argument"},
    {.name = "ZREVRANGEBYLEX",
     .arity = -4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRevRangeByLex,
     .since = "2.8.9",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements being returned. If M is constant (e.g. always asking for "
                   "the first 10 elements with LIMIT), you can consider it O(log(N)).",
     .usage = "key max min [LIMIT offset count]",
     .summary =
         "The members whose names lie in a range, from the last back, where all scores are equal.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`ZRANGE` with the `REV` and `BYLEX` arguments"},
    {.name = "ZRANGESTORE",
     .arity = -5,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate) + KeyAt(2, kKeyRo | kKeyAccess),
     .run = ZRangeStore,
     .since = "6.2.0",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements stored into the destination key.",
     .usage = "dst src min max sortby=[BYSCORE | BYLEX] [REV] [LIMIT offset count]",
     .summary = "Store a range of one sorted set as another; how many members it has."},
    {.name = "ZCOUNT",
     .arity = 4,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZCount,
     .since = "2.0.0",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .usage = "key min:double max:double",
     .summary = "How many members have a score in a range."},
    {.name = "ZLEXCOUNT",
     .arity = 4,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZLexCount,
     .since = "2.8.9",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .usage = "key min max",
     .summary = "How many members have a name in a range, where all scores are equal."},
    {.name = "ZREMRANGEBYRANK",
     .arity = 4,
     .flags = kWrite,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = ZRemRangeByRank,
     .since = "2.0.0",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements removed by the operation.",
     .usage = "key start stop:integer",
     .summary = "Take out the members of a range of ranks; how many."},
    {.name = "ZREMRANGEBYSCORE",
     .arity = 4,
     .flags = kWrite,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = ZRemRangeByScore,
     .since = "1.2.0",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements removed by the operation.",
     .usage = "key min:double max:double",
     .summary = "Take out the members whose scores lie in a range; how many."},
    {.name = "ZREMRANGEBYLEX",
     .arity = 4,
     .flags = kWrite,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = ZRemRangeByLex,
     .since = "2.8.9",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the "
                   "number of elements removed by the operation.",
     .usage = "key min max",
     .summary = "Take out the members whose names lie in a range; how many."},
};
constexpr auto kSortedSetRangesRows =
    RowsOf(kSortedSetRangesListed, {.categories = kCatSortedSet, .group = "sorted-set"});

}  // namespace

CommandFamily SortedSetRangesFamily() {
  return {"sorted_set_ranges", kSpecsOf<kSortedSetRangesRows>};
}

}  // namespace sluice
