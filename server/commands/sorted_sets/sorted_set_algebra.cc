// Unions, intersections and differences of sorted sets and sets: answered, counted or stored. A
// set's members count as having the score 1.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/arg_reader.h"
#include "storage/hashing/key_hash.h"
#include "storage/types/set.h"

namespace sluice {
namespace {

enum class Aggregate : uint8_t { kSum, kMin, kMax };

constexpr double kSetScore = 1;  // of every member of a set

// One input. A key that is missing is an empty one.
struct Operand {
  const SortedSet* sorted = nullptr;
  const Set* plain = nullptr;
  double weight = 1;

  // False when the key holds something else: then WRONGTYPE has been answered.
  bool Find(CommandCall& call, HashedKey key);
  size_t size() const;
  std::optional<double> Score(std::string_view name) const;
  void ForEach(SortedSet::Visit visit) const;

  const void* source() const { return plain ? static_cast<const void*>(plain) : sorted; }
  double Weighted(double score) const {
    const double value = weight * score;
    return std::isnan(value) ? 0 : value;
  }
};

bool Operand::Find(CommandCall& call, HashedKey key) {
  const Entry* const entry = LookUpToRead(call, key);
  if (!entry) return true;
  if (entry->type() == ValueType::kSortedSet) {
    sorted = static_cast<const SortedSet*>(&entry->value());
    return true;
  }
  if (entry->type() == ValueType::kSet) {
    plain = static_cast<const Set*>(&entry->value());
    return true;
  }
  call.reply.Error(ErrorCode::kWrongType);
  return false;
}

size_t Operand::size() const {
  if (plain) return plain->size();
  return sorted ? sorted->size() : 0;
}

std::optional<double> Operand::Score(std::string_view name) const {
  if (plain) return plain->Has(name) ? std::optional(kSetScore) : std::nullopt;
  return sorted ? sorted->Score(name) : std::nullopt;
}

void Operand::ForEach(SortedSet::Visit visit) const {
  bool more = true;
  if (plain) plain->ForEach([&](std::string_view name) { more = more && visit(name, kSetScore); });
  if (sorted) sorted->ForEach(sorted->All(), SortedSet::Direction::kUp, visit);
}

// Which options a command has.
struct Form {
  bool weighted = false;  // WEIGHTS and AGGREGATE
  bool with_scores = false;
};

struct Request {
  Form form;
  std::vector<Operand> operands;
  Aggregate aggregate = Aggregate::kSum;
  bool with_scores = false;
};

struct Element {
  double score;
  std::string name;
  bool operator<(const Element& other) const {
    return score != other.score ? score < other.score : name < other.name;
  }
};

// --- reading

// One for each key; the keys are there already.
void ReadWeights(ArgReader& args, Request& request) {
  if (args.left() < request.operands.size()) return args.Fail(ErrorCode::kSyntax);
  for (Operand& operand : request.operands) {
    const std::optional<double> weight = ParseDouble(args.Bytes());
    if (!weight) return args.Fail("ERR weight value is not a float");
    operand.weight = *weight;
  }
}

constexpr OptionRow<Request> kAggregates[] = {
    {"SUM", kAssign<&Request::aggregate, Aggregate::kSum>},
    {"MIN", kAssign<&Request::aggregate, Aggregate::kMin>},
    {"MAX", kAssign<&Request::aggregate, Aggregate::kMax>},
};

void ReadAggregate(ArgReader& args, Request& request) {
  if (!TakeOption(args, kAggregates, request)) args.Fail(ErrorCode::kSyntax);
}

constexpr auto kIsWeighted = [](const Request& request) { return request.form.weighted; };
constexpr OptionRow<Request> kOptions[] = {
    {"WEIGHTS", ReadWeights, 1, kIsWeighted},
    {"AGGREGATE", ReadAggregate, 1, kIsWeighted},
    {"WITHSCORES", kRaise<&Request::with_scores>, 0,
     [](const Request& request) { return request.form.with_scores; }},
};

// The count of keys at `args` and the keys. Answers with the error that Redis has for this.
bool ReadOperands(CommandCall& call, ArgReader& args, Request& request) {
  const int64_t count = args.Int();
  if (!args.failed() && count < 1) {
    std::string name(call.spec().name);
    for (char& c : name) c = static_cast<char>(c + 32);
    args.Fail(Concat("ERR at least 1 input key is needed for '", name, "' command"));
  }
  if (!args.failed() && static_cast<uint64_t>(count) > args.left()) args.Fail(ErrorCode::kSyntax);
  if (args.failed()) {
    call.reply.Error(args.error());
    return false;
  }
  request.operands.resize(static_cast<size_t>(count));
  for (Operand& operand : request.operands) {
    if (!operand.Find(call, call.Key(args.position()))) return false;
    args.Skip();
  }
  return true;
}

bool ReadRequest(CommandCall& call, size_t count_at, Request& request) {
  ArgReader args(call.args, count_at);
  if (!ReadOperands(call, args, request)) return false;
  ReadOptions(args, kOptions, request);
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// --- computing

void Combine(double& score, double other, Aggregate aggregate) {
  switch (aggregate) {
    case Aggregate::kSum:
      score += other;
      if (std::isnan(score)) score = 0;  // of opposite infinities, or infinity times 0
      break;
    case Aggregate::kMin:
      score = other < score ? other : score;
      break;
    case Aggregate::kMax:
      score = other > score ? other : score;
      break;
  }
}

// Sums of floating-point numbers depend on their order: it is Redis's, the smallest set first.
void SmallestFirst(std::vector<Operand>& operands) {
  std::ranges::stable_sort(operands, {}, [](const Operand& operand) { return operand.size(); });
}

std::vector<Element> Union(CommandCall& call, Request& request) {
  SmallestFirst(request.operands);
  absl::flat_hash_map<std::string, double, KeyedHash, std::equal_to<>> scores(
      0, KeyedHash(call.keyspace.hash_keys().Next()));
  for (const Operand& operand : request.operands) {
    operand.ForEach([&](std::string_view name, double score) {
      const double weighted = operand.Weighted(score);
      const auto at = scores.find(name);
      if (at == scores.end()) {
        scores.emplace(name, weighted);
      } else {
        Combine(at->second, weighted, request.aggregate);
      }
      return true;
    });
  }
  std::vector<Element> elements;
  elements.reserve(scores.size());
  for (auto& [name, score] : scores) elements.push_back({score, name});
  return elements;
}

// The operands' scores of one member. An operand that is named again is not asked again.
class Scores {
 public:
  explicit Scores(const std::vector<Operand>& operands)
      : operands_(operands), scores_(operands.size()) {
    absl::flat_hash_map<const void*, size_t> first;
    for (size_t i = 0; i < operands.size(); ++i) {
      same_as_.push_back(first.try_emplace(operands[i].source(), i).first->second);
    }
  }

  // Of the first operand, whose walk is at the member.
  void Begin(double score) { scores_[0] = score; }
  // Of operand `i`; after Begin, in ascending order.
  std::optional<double> Of(size_t i, std::string_view name) {
    if (same_as_[i] < i) return scores_[i] = scores_[same_as_[i]];
    const std::optional<double> score = operands_[i].Score(name);
    if (score) scores_[i] = *score;
    return score;
  }

 private:
  const std::vector<Operand>& operands_;
  std::vector<double> scores_;
  std::vector<size_t> same_as_;  // the first operand of the same source
};

// Calls `visit(name, score)` for what is in all operands, until it says no.
template <typename Visit>
void ForEachCommon(Request& request, const Visit& visit) {
  SmallestFirst(request.operands);
  const std::vector<Operand>& operands = request.operands;
  if (operands.front().size() == 0) return;
  Scores scores(operands);
  operands.front().ForEach([&](std::string_view name, double score) {
    double sum = operands.front().Weighted(score);
    scores.Begin(score);
    for (size_t i = 1; i < operands.size(); ++i) {
      const std::optional<double> other = scores.Of(i, name);
      if (!other) return true;
      Combine(sum, operands[i].weight * *other, request.aggregate);
    }
    return visit(name, sum);
  });
}

std::vector<Element> Intersection(CommandCall&, Request& request) {
  std::vector<Element> elements;
  ForEachCommon(request, [&](std::string_view name, double score) {
    elements.push_back({score, std::string(name)});
    return true;
  });
  return elements;
}

// What is in the operands, each looked at once.
void KeepDistinct(std::vector<Operand>& operands) {
  absl::flat_hash_set<const void*> known;
  std::erase_if(operands, [&known](const Operand& operand) {
    return !known.insert(operand.source()).second;
  });
}

using Names = absl::flat_hash_set<std::string, KeyedHash, std::equal_to<>>;

// What the first operand has in common with the others, where these are small beside it.
Names CommonNames(const Operand& first, const std::vector<Operand>& others,
                  const SipKey& hash_key) {
  Names names(0, KeyedHash(hash_key));
  for (const Operand& other : others) {
    other.ForEach([&](std::string_view name, double) {
      if (first.Score(name)) names.emplace(name);
      return true;
    });
  }
  return names;
}

std::vector<Element> Difference(CommandCall& call, Request& request) {
  std::vector<Operand>& others = request.operands;
  const Operand first = others.front();
  if (first.size() == 0) return {};
  others.erase(others.begin());
  KeepDistinct(others);
  uint64_t others_size = 0;
  for (const Operand& other : others) {
    if (other.source() == first.source()) return {};
    others_size += other.size();
  }
  // The way with fewer look-ups. Looking everywhere ends at the first that has it: half of them.
  std::vector<Element> elements;
  const auto subtract = [&](const auto& is_elsewhere) {
    first.ForEach([&](std::string_view name, double score) {
      if (!is_elsewhere(name)) elements.push_back({score, std::string(name)});
      return true;
    });
  };
  if (others_size < first.size() * others.size() / 2) {
    const Names names = CommonNames(first, others, call.keyspace.hash_keys().Next());
    subtract([&](std::string_view name) { return !names.empty() && names.contains(name); });
  } else {
    std::ranges::stable_sort(others, std::ranges::greater(), &Operand::size);
    subtract([&](std::string_view name) {
      return std::ranges::any_of(
          others, [name](const Operand& other) { return other.Score(name).has_value(); });
    });
  }
  return elements;
}

// What differs between the three.
struct Kind {
  std::vector<Element> (*compute)(CommandCall&, Request&);
  bool weighted;
  std::string_view event;
};
constexpr Kind kUnion{Union, true, "zunionstore"};
constexpr Kind kIntersection{Intersection, true, "zinterstore"};
constexpr Kind kDifference{Difference, false, "zdiffstore"};

// --- answering and storing

void Reply(CommandCall& call, const Kind& kind) {
  Request request{.form = {kind.weighted, true}};
  if (!ReadRequest(call, 1, request)) return;
  std::vector<Element> elements = kind.compute(call, request);
  std::ranges::sort(elements, std::less<>());
  ElementsReply reply(call.reply, elements.size(), request.with_scores);
  for (const Element& element : elements) reply.Add(element.name, element.score);
}
void ZUnion(CommandCall& call) { Reply(call, kUnion); }
void ZInter(CommandCall& call) { Reply(call, kIntersection); }
void ZDiff(CommandCall& call) { Reply(call, kDifference); }

void Store(CommandCall& call, const Kind& kind) {
  Request request{.form = {kind.weighted, false}};
  if (!ReadRequest(call, 2, request)) return;
  auto result = std::make_unique<SortedSet>();
  const SortedSet::Limits limits = SortedSetLimits(call);
  for (const Element& element : kind.compute(call, request)) {
    result->Put(element.name, element.score, limits);
  }
  StoreSortedSet(call, call.Key(1), std::move(result), kind.event);
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

void ZInterCard(CommandCall& call) {
  Request request;
  ArgReader args(call.args, 1);
  if (!ReadOperands(call, args, request)) return;
  int64_t limit = 0;  // none
  ReadOptions(args, kLimit, limit);
  if (args.failed()) return call.reply.Error(args.error());
  int64_t count = 0;
  KeepDistinct(request.operands);  // without their scores
  ForEachCommon(request, [&](std::string_view, double) { return ++count != limit; });
  call.reply.Integer(count);
}

// --- the table

constexpr CommandSpec kListed[] = {
    {.name = "ZUNION",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = ZUnion,
     .since = "6.2.0",
     .complexity = "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, "
                   "and M being the number of elements in the resulting sorted set.",
     .usage = "numkeys key [key ...] [WEIGHTS weight:integer [weight:integer ...]] [AGGREGATE "
              "aggregate=<SUM | MIN | MAX>] [WITHSCORES]",
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
              "aggregate=<SUM | MIN | MAX>] [WITHSCORES]",
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
              "[AGGREGATE aggregate=<SUM | MIN | MAX>]",
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
              "[AGGREGATE aggregate=<SUM | MIN | MAX>]",
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
constexpr auto kRows = RowsOf(kListed, {.categories = kCatSortedSet, .group = "sorted-set"});
static_assert(RowsAreSound(kRows));

}  // namespace

CommandFamily SortedSetAlgebraFamily() { return {"sorted_set_algebra", kRows}; }

}  // namespace sluice
