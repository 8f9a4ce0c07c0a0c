// Unions, intersections and differences of sorted sets and sets (set_operands.h): read from the
// arguments, and answered, counted or stored.
//
// Worked example: with a = {x:1, y:2} and b = {y:10}, ZUNION 2 a b WEIGHTS 2 1 gives x:2, y:14.
// Results are made as a whole before anything is stored, so the target may be a source. It runs in
// one piece.
//
//   command                    options                       event of the target
//   ZUNION ZINTER              WEIGHTS AGGREGATE WITHSCORES
//   ZDIFF                      WITHSCORES
//   ZUNIONSTORE ZINTERSTORE    WEIGHTS AGGREGATE             zunionstore zinterstore, or del
//   ZDIFFSTORE                 none                          zdiffstore, or del
//   ZINTERCARD                 LIMIT

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/sorted_sets/set_operands.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// Which options a command has.
struct Form {
  bool weighted = false;  // WEIGHTS and AGGREGATE
  bool with_scores = false;
};

// The request as it was read. The operands point into the database: nothing may be changed until
// they are done with.
struct AlgebraRequest {
  Form form;
  SetOperands operands;
  bool with_scores = false;
};

// --- reading

// One for each key; the keys are there already.
void ReadWeights(ArgReader& args, AlgebraRequest& request) {
  std::vector<SetOperand>& operands = request.operands.list;
  if (args.left() < operands.size()) return args.Fail(ErrorCode::kSyntax);
  for (SetOperand& operand : operands) {
    const std::optional<double> weight = ParseDouble(args.Bytes());
    if (!weight) return args.Fail("ERR weight value is not a float");
    operand.weight = *weight;
  }
}

constexpr OptionRow<SetOperands> kAggregates[] = {
    {"SUM", kAssign<&SetOperands::aggregate, Aggregate::kSum>},
    {"MIN", kAssign<&SetOperands::aggregate, Aggregate::kMin>},
    {"MAX", kAssign<&SetOperands::aggregate, Aggregate::kMax>},
    {"COUNT", kAssign<&SetOperands::aggregate, Aggregate::kCount>},
};

// SUM is what holds without the word.
void ReadAggregate(ArgReader& args, AlgebraRequest& request) {
  if (!TakeOption(args, kAggregates, request.operands)) args.Fail(ErrorCode::kSyntax);
}

constexpr auto kIsWeighted = [](const AlgebraRequest& request) { return request.form.weighted; };
// [WEIGHTS w ...] [AGGREGATE SUM | MIN | MAX | COUNT] [WITHSCORES], as far as the command has them.
constexpr OptionRow<AlgebraRequest> kSortedSetAlgebraOptions[] = {
    {"WEIGHTS", ReadWeights, 1, kIsWeighted},
    {"AGGREGATE", ReadAggregate, 1, kIsWeighted},
    {"WITHSCORES", kRaise<&AlgebraRequest::with_scores>, 0,
     [](const AlgebraRequest& request) { return request.form.with_scores; }},
};

// False when the key holds something else: then WRONGTYPE has been answered. A key that is missing
// is an empty set.
bool FindOperand(CommandCall& call, HashedKey key, SetOperand& operand) {
  const Entry* const entry = LookUpToRead(call, key);
  if (!entry) return true;
  if (entry->type() == ValueType::kSortedSet) {
    operand.sorted = static_cast<const SortedSet*>(&entry->value());
    return true;
  }
  if (entry->type() == ValueType::kSet) {
    operand.plain = static_cast<const Set*>(&entry->value());
    return true;
  }
  call.reply.Error(ErrorCode::kWrongType);
  return false;
}

// The count of keys at `args` and the keys. Answers with the error that Redis has for this.
bool ReadOperands(CommandCall& call, ArgReader& args, SetOperands& operands) {
  const int64_t count = args.Int();
  if (!args.failed() && count < 1) {
    args.Fail(Concat("ERR at least 1 input key is needed for '", LowerCase(call.spec().name),
                     "' command"));
  }
  // The count is compared before anything is made of its size.
  if (!args.failed() && static_cast<uint64_t>(count) > args.left()) args.Fail(ErrorCode::kSyntax);
  if (args.failed()) {
    call.reply.Error(args.error());
    return false;
  }
  operands.list.resize(static_cast<size_t>(count));
  for (SetOperand& operand : operands.list) {
    if (!FindOperand(call, call.Key(args.position()), operand)) return false;
    args.Skip();
  }
  return true;
}

// Keys are looked up while the operands are read, so WRONGTYPE wins over a fault in the options, as
// in Redis. False: the error has been answered.
bool ReadRequest(CommandCall& call, size_t count_at, AlgebraRequest& request) {
  ArgReader args(call.args, count_at);
  if (!ReadOperands(call, args, request.operands)) return false;
  ReadOptions(args, kSortedSetAlgebraOptions, request);
  if (args.failed()) call.reply.Error(args.error());
  const bool counts = request.operands.aggregate == Aggregate::kCount;
  for (SetOperand& operand : request.operands.list) operand.counts = counts;
  return !args.failed();
}

// One of the three operations: how it computes, whether it has WEIGHTS, the event of its STORE.
struct Kind {
  std::vector<ScoredName> (*compute)(SetOperands&, HashKeys&);
  bool weighted;
  std::string_view event;
};
constexpr Kind kUnion{UnionOf, true, "zunionstore"};
constexpr Kind kIntersection{IntersectionOf, true, "zinterstore"};
constexpr Kind kDifference{DifferenceOf, false, "zdiffstore"};

// --- answering and storing

// In the order of scores, then names. ZDIFF has no weights: they are a syntax error.
void Reply(CommandCall& call, const Kind& kind) {
  AlgebraRequest request{.form = {kind.weighted, true}};
  if (!ReadRequest(call, 1, request)) return;
  std::vector<ScoredName> elements = kind.compute(request.operands, call.keyspace.hash_keys());
  std::ranges::sort(elements, std::less<>());
  ElementsReply reply(call.reply, elements.size(), request.with_scores);
  for (const ScoredName& element : elements) reply.Add(element.name, element.score);
}
void ZUnion(CommandCall& call) { Reply(call, kUnion); }
void ZInter(CommandCall& call) { Reply(call, kIntersection); }
void ZDiff(CommandCall& call) { Reply(call, kDifference); }

// Redis 7.0 has no COUNT, and is told what comes of it.
void RecordCounted(CommandCall& call, const std::vector<ScoredName>& elements) {
  constexpr size_t kPerEffect = 500;  // Redis takes a million words
  if (!call.wants_effects()) return;
  call.ReplaceWith({"DEL", call.args[1]});
  for (size_t at = 0; at < elements.size(); at += kPerEffect) {
    const size_t end = std::min(at + kPerEffect, elements.size());
    std::vector<std::string> words = {"ZADD", std::string(call.args[1])};
    for (size_t i = at; i < end; ++i) {
      words.push_back(DoubleText(elements[i].score));
      words.push_back(elements[i].name);
    }
    const std::vector<std::string_view> views(words.begin(), words.end());
    call.ReplaceWith(Args(views));
  }
}

// WITHSCORES is no option here. Whatever the target held goes, with its time to live; an empty
// result deletes it with `del`. The effect is the command itself. After `ZADD a 1 x 2 y`,
// `ZADD b 10 y`:
//   ZUNIONSTORE t 2 a b WEIGHTS 2 1    → 2
//   ZRANGE t 0 -1 WITHSCORES           → ["x", "2", "y", "14"]
//   ZINTERSTORE t 2 a b AGGREGATE MAX  → 1
//   ZRANGE t 0 -1 WITHSCORES           → ["y", "10"]
// After `SADD s x`:
//   ZDIFFSTORE t 2 a s                 → 1  plain sets count as scores of 1
//   ZINTERSTORE t 2 a nothing          → 0
//   EXISTS t                           → 0
void Store(CommandCall& call, const Kind& kind) {
  AlgebraRequest request{.form = {kind.weighted, false}};
  if (!ReadRequest(call, 2, request)) return;
  auto result = std::make_unique<SortedSet>();
  const SortedSet::Limits limits = SortedSetLimits(call);
  const std::vector<ScoredName> elements =
      kind.compute(request.operands, call.keyspace.hash_keys());
  for (const ScoredName& element : elements) result->Put(element.name, element.score, limits);
  const bool changes = !elements.empty() || call.db.Find(call.Key(1), call.now);
  StoreSortedSet(call, call.Key(1), std::move(result), kind.event);
  if (changes && request.operands.aggregate == Aggregate::kCount) RecordCounted(call, elements);
}
void ZUnionStore(CommandCall& call) { Store(call, kUnion); }
void ZInterStore(CommandCall& call) { Store(call, kIntersection); }
void ZDiffStore(CommandCall& call) { Store(call, kDifference); }

constexpr OptionRow<int64_t> kLimit[] = {
    {"LIMIT",
     [](ArgReader& args, int64_t& limit) {
       limit = ParseInt64(args.Bytes()).value_or(-1);
       if (limit < 0) args.Fail("ERR LIMIT can't be negative");
     },
     1},
};

// The keys come before LIMIT, unlike in SINTERCARD: WRONGTYPE wins here. LIMIT 0 is none. After
// `ZADD a 1 x 2 y`:
//   ZINTERCARD 2 a a LIMIT 1  → 1
//   ZINTERCARD 0 a            → -ERR at least 1 input key is needed for 'zintercard' command
void ZInterCard(CommandCall& call) {
  SetOperands operands;
  ArgReader args(call.args, 1);
  if (!ReadOperands(call, args, operands)) return;
  int64_t limit = 0;  // none
  ReadOptions(args, kLimit, limit);
  if (args.failed()) return call.reply.Error(args.error());
  call.reply.Integer(CountCommon(operands, limit));
}

// --- the table

// Their keys are counted by numkeys; the STORE forms have a target before it.
constexpr CommandRow kSortedSetAlgebraListed[] = {
    {.name = "ZUNION",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = ZUnion,
     .since = "6.2.0",
     .complexity = "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, "
                   "and M being the number of elements in the resulting sorted set.",
     .usage = "numkeys key [key ...] [WEIGHTS weight:integer [weight:integer ...]] [AGGREGATE "
              "aggregate=<SUM | MIN | MAX | COUNT@8.8.0>] [WITHSCORES]",
     .summary = "What is in any of several sets, scores weighted and aggregated."},
    {.name = "ZINTER",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = ZInter,
     .since = "6.2.0",
     .complexity = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K "
                   "being the number of input sorted sets and M being the number of elements in "
                   "the resulting sorted set.",
     .usage = "numkeys key [key ...] [WEIGHTS weight:integer [weight:integer ...]] [AGGREGATE "
              "aggregate=<SUM | MIN | MAX | COUNT@8.8.0>] [WITHSCORES]",
     .summary = "What is in all of several sets, scores weighted and aggregated."},
    {.name = "ZDIFF",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = ZDiff,
     .since = "6.2.0",
     .complexity = "O(L + (N-K)log(N)) worst case where L is the total number of elements in all "
                   "the sets, N is the size of the first set, and K is the size of the result set.",
     .usage = "numkeys key [key ...] [WITHSCORES]",
     .summary = "What is in the first of several sets and in no other."},
    {.name = "ZUNIONSTORE",
     .arity = -4,
     .flags = kWrite | kDenyOom | kMovableKeys,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate) + KeysCounted(2, kKeyRo | kKeyAccess),
     .run = ZUnionStore,
     .since = "2.0.0",
     .complexity = "O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, "
                   "and M being the number of elements in the resulting sorted set.",
     .usage = "destination numkeys key [key ...] [WEIGHTS weight:integer [weight:integer ...]] "
              "[AGGREGATE aggregate=<SUM | MIN | MAX | COUNT@8.8.0>]",
     .summary = "Store what is in any of several sets; how many members that are."},
    {.name = "ZINTERSTORE",
     .arity = -4,
     .flags = kWrite | kDenyOom | kMovableKeys,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate) + KeysCounted(2, kKeyRo | kKeyAccess),
     .run = ZInterStore,
     .since = "2.0.0",
     .complexity = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K "
                   "being the number of input sorted sets and M being the number of elements in "
                   "the resulting sorted set.",
     .usage = "destination numkeys key [key ...] [WEIGHTS weight:integer [weight:integer ...]] "
              "[AGGREGATE aggregate=<SUM | MIN | MAX | COUNT@8.8.0>]",
     .summary = "Store what is in all of several sets; how many members that are."},
    {.name = "ZDIFFSTORE",
     .arity = -4,
     .flags = kWrite | kDenyOom | kMovableKeys,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate) + KeysCounted(2, kKeyRo | kKeyAccess),
     .run = ZDiffStore,
     .since = "6.2.0",
     .complexity = "O(L + (N-K)log(N)) worst case where L is the total number of elements in all "
                   "the sets, N is the size of the first set, and K is the size of the result set.",
     .usage = "destination numkeys key [key ...]",
     .summary =
         "Store what is in the first of several sets and in no other; how many members that are."},
    {.name = "ZINTERCARD",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = ZInterCard,
     .since = "7.0.0",
     .complexity = "O(N*K) worst case with N being the smallest input sorted set, K being the "
                   "number of input sorted sets.",
     .usage = "numkeys key [key ...] [LIMIT limit:integer]",
     .summary = "How many members all of several sets have in common."},
};
constexpr auto kSortedSetAlgebraRows =
    RowsOf(kSortedSetAlgebraListed, {.categories = kCatSortedSet, .group = "sorted-set"});

}  // namespace

CommandFamily SortedSetAlgebraFamily() {
  return {"sorted_set_algebra", kSpecsOf<kSortedSetAlgebraRows>};
}

}  // namespace sluice
