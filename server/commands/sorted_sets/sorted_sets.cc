// The sorted-set family: members put in, taken out and asked for by name. Commands on ranges are in
// sorted_set_ranges.cc, on several sets in sorted_set_algebra.cc, popping in sorted_set_pops.cc.
//
//   command       missing member        event        effect
//   ZADD          made, unless XX       zadd         itself
//   ZADD INCR     made, unless XX       zincr        itself
//   ZINCRBY       made                  zincr        itself
//   ZREM          not counted           zrem, del    itself
//   ZSCORE        null
//   ZRANK         null

#include "absl/container/inlined_vector.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/commands/sorted_sets/sorted_set_add.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- ZADD and ZINCRBY

// The order in which Redis tells these faults; empty: there is none.
std::string_view FaultOf(const AddOptions& options, size_t arguments_left) {
  if (arguments_left == 0 || arguments_left % 2 != 0) return ErrorText(ErrorCode::kSyntax);
  if (options.nx && options.xx) {
    return "ERR XX and NX options at the same time are not compatible";
  }
  if ((options.nx && (options.gt || options.lt)) || (options.gt && options.lt)) {
    return "ERR GT, LT, and/or NX options at the same time are not compatible";
  }
  if (options.increment && arguments_left > 2) {
    return "ERR INCR option supports a single increment-element pair";
  }
  return {};
}

// Every score is read before the key is looked at, so one bad score refuses the whole request.
// Scores and names from argument `first` on.
void Add(CommandCall& call, const AddOptions& options, size_t first) {
  absl::InlinedVector<double, 16> scores;
  for (size_t i = first; i < call.args.size(); i += 2) {
    ArgReader args(call.args, i);
    scores.push_back(args.Double());
    if (args.failed()) return call.reply.Error(args.error());
  }
  AddMembers(call, options, {scores.data(), scores.size()}, first + 1, 2);
}

// Words end where the first one is none: from there on come pairs, so a member may be named "NX".
// After `ZADD z 5 a`:
//   ZADD z GT CH 3 a 7 b  → 1    b is new, a stays
//   ZADD z XX INCR 1 c    → nil  not added: it is not there
//   ZADD z NX GT 1 d      → -ERR GT, LT, and/or NX options at the same time are not compatible
//   ZADD z INCR 1 a 2 b   → -ERR INCR option supports a single increment-element pair
//   ZADD z nan d          → -ERR value is not a valid float
void ZAdd(CommandCall& call) {
  ArgReader args(call.args, 2);
  AddOptions options;
  while (TakeAddOption(args, options, true)) {
  }
  const std::string_view fault = FaultOf(options, args.left());
  if (!fault.empty()) return call.reply.Error(fault);
  Add(call, options, args.position());
}

// A word of ZADD's in place of the increment leaves no pair of score and member. After
// `ZADD z inf a`:
//   ZINCRBY z -inf a   → -ERR resulting score is not a number (NaN)
//   ZINCRBY z 1.5 new  → "1.5"
void ZIncrBy(CommandCall& call) {
  ArgReader args(call.args, 2);
  AddOptions options;
  if (TakeAddOption(args, options, true)) return call.reply.Error(ErrorCode::kSyntax);
  Add(call, {.increment = true}, 2);
}

// --- taking out

// Members are looked for before the set is opened: with none there is no change. Once the set is
// empty the rest need not be asked. After `ZADD z 1 a`:
//   ZREM z a a b  → 1
//   EXISTS z      → 0  the last member took it along
void ZRem(CommandCall& call) {
  SortedSetChange change(call, call.Key(1));
  if (change.refused()) return;
  int64_t erased = 0;
  for (size_t i = 2; i < call.args.size() && change.found() && !change.found()->empty(); ++i) {
    if (!change.found()->Score(call.args[i])) continue;
    change.set().Erase(call.args[i]);
    ++erased;
  }
  change.Close("zrem");
  call.reply.Integer(erased);
}

// --- asking

// O(1).
void ZCard(CommandCall& call) {
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (!set.refused) call.reply.Integer(set ? static_cast<int64_t>(set->size()) : 0);
}

// Null for a missing member, in RESP3 a double.
void ReplyScore(CommandCall& call, const Typed<SortedSet>& set, std::string_view name) {
  const std::optional<double> score = set ? set->Score(name) : std::nullopt;
  score ? call.reply.Double(*score) : call.reply.Null();
}

// O(1) in a large set, O(N) in a compact one.
void ZScore(CommandCall& call) {
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (!set.refused) ReplyScore(call, set, call.args[2]);
}

// An answer for each member, null included, in the order of the request. After `ZADD z 1.5 a`:
//   ZMSCORE z a b      → ["1.5", nil]
//   ZMSCORE nothing a  → [nil]
void ZMScore(CommandCall& call) {
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  call.reply.Array(call.args.size() - 2);
  for (const std::string_view name : call.args.subspan(2)) ReplyScore(call, set, name);
}

// WITHSCORE is Redis 7.2's. Without a member the answer has the kind of null that fits: an array's
// with the word, a bulk string's without. O(log N).
void ReplyRank(CommandCall& call, bool from_highest) {
  ArgReader args(call.args, 3);
  const bool with_score = args.TakeWord("WITHSCORE");
  if (!args.Finish()) return call.reply.Error(args.error());
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  const std::optional<SortedSet::Found> found = set ? set->Find(call.args[2]) : std::nullopt;
  if (!found) return with_score ? call.reply.NullArray() : call.reply.Null();
  const size_t rank = from_highest ? set->size() - 1 - found->rank : found->rank;
  if (with_score) call.reply.Array(2);
  call.reply.Integer(static_cast<int64_t>(rank));
  if (with_score) call.reply.Double(found->score);
}

// After `ZADD z 1 b 1 a 2 c`:
//   ZRANK z a        → 0  equal scores: in the order of the names
//   ZREVRANK z a     → 2
//   ZRANK z nothing  → nil
void ZRank(CommandCall& call) { ReplyRank(call, false); }
void ZRevRank(CommandCall& call) { ReplyRank(call, true); }

// --- the table

// ZADD INCR answers what ZINCRBY does.
uint16_t AddKeyFlags(const Request& request) {
  ArgReader args(request.args, 2);
  AddOptions options;
  while (TakeAddOption(args, options, true)) {
  }
  return options.increment ? kKeyRw | kKeyAccess | kKeyUpdate : kKeyRw | kKeyUpdate;
}

// kFast is Redis's word for O(log N) as well.
constexpr CommandRow kSortedSetsListed[] = {
    {.name = "ZADD",
     .arity = -4,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate | kKeyVariableFlags,
                   "with INCR it answers the score"),
     .run = ZAdd,
     .since = "1.2.0",
     .complexity =
         "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
     .usage = "key [NX | XX]@3.0.2 comparison=[GT | LT]@6.2.0 [change=CH]@3.0.2 "
              "[increment=INCR]@3.0.2 score:double "
              "member [score:double member ...]",
     .summary = "Put members into a sorted set, or give them other scores; how many are new.",
     .history = "2.4.0 Accepts multiple elements.|3.0.2 Added the `XX`, `NX`, `CH` and `INCR` "
                "options.|6.2.0 Added the `GT` and `LT` options.",
     .key_flags = AddKeyFlags},
    {.name = "ZINCRBY",
     .arity = 4,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = ZIncrBy,
     .since = "1.2.0",
     .complexity = "O(log(N)) where N is the number of elements in the sorted set.",
     .usage = "key increment member",
     .summary = "Add to the score of a member, which starts at zero; its new score."},
    {.name = "ZREM",
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = ZRem,
     .since = "1.2.0",
     .complexity = "O(M*log(N)) with N being the number of elements in the sorted set and M the "
                   "number of elements to be removed.",
     .usage = "key member [member ...]",
     .summary = "Take members out; how many were there.",
     .history = "2.4.0 Accepts multiple elements."},
    {.name = "ZCARD",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo),
     .run = ZCard,
     .since = "1.2.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many members a sorted set has."},
    {.name = "ZSCORE",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZScore,
     .since = "1.2.0",
     .complexity = "O(1)",
     .usage = "key member",
     .summary = "The score of a member, or null."},
    {.name = "ZMSCORE",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZMScore,
     .since = "6.2.0",
     .complexity = "O(N) where N is the number of members being requested.",
     .usage = "key member [member ...]",
     .summary = "The scores of several members, null for each that is missing."},
    {.name = "ZRANK",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRank,
     .since = "2.0.0",
     .complexity = "O(log(N))",
     .usage = "key member [WITHSCORE]@7.2.0",
     .summary = "How many members have a lower score, or null for a missing one.",
     .history = "7.2.0 `WITHSCORE`."},
    {.name = "ZREVRANK",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = ZRevRank,
     .since = "2.0.0",
     .complexity = "O(log(N))",
     .usage = "key member [WITHSCORE]@7.2.0",
     .summary = "How many members have a higher score, or null for a missing one.",
     .history = "7.2.0 `WITHSCORE`."},
};
constexpr auto kSortedSetsRows =
    RowsOf(kSortedSetsListed, {.categories = kCatSortedSet, .group = "sorted-set"});

}  // namespace

CommandFamily SortedSetsFamily() { return {"sorted_sets", kSpecsOf<kSortedSetsRows>}; }

}  // namespace sluice
