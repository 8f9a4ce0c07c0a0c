// Several sets into one: intersection, union and difference, answered or stored. Missing keys are
// empty sets.
//
// All of it runs in one piece, into a set of its own, and so the result may go to one of the
// sources. Results are built as SADD would, so that OBJECT ENCODING tells what Redis tells. The
// STORE forms overwrite a target of any type, end its time to live, and delete it for an empty
// result. They are their own effect.
//
//   command                  empty result           event of the target
//   SINTER SUNION SDIFF      an empty array
//   SINTERSTORE and kin      the target is deleted  sinterstore sunionstore sdiffstore, or del
//   SINTERCARD and kin       0

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/sets/set_access.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

using Sets = std::vector<const Set*>;  // null: a missing key

// The sets of the keys `first` .. `first + count`; null after WRONGTYPE has been answered. Each key
// is checked, even behind a missing one: WRONGTYPE wins over an empty intersection. Looking one key
// up frees no other's value.
std::optional<Sets> FindSets(CommandCall& call, size_t first, size_t count) {
  Sets sets;
  for (size_t i = first; i < first + count; ++i) {
    const auto set = FindTyped<Set>(call, call.Key(i));  // counts, also where it is for storing
    if (set.refused) return std::nullopt;
    sets.push_back(set ? &*set : nullptr);
  }
  return sets;
}

// --- the operations. A set that is named again is looked at once.

// The same sets, each at its first place.
Sets Distinct(const Sets& sets) {
  Sets distinct;
  absl::flat_hash_set<const Set*> known;
  for (const Set* const set : sets) {
    if (known.insert(set).second) distinct.push_back(set);
  }
  return distinct;
}

// The smallest set is walked and the others are asked, the next smallest first, because it is the
// most likely to say no: O(smallest * sets). `visit` returns false to stop.
template <typename Visit>
void Intersect(const Sets& sets, const Visit& visit) {
  Sets distinct = Distinct(sets);
  // One empty set, and nothing is common to all.
  if (std::ranges::find(distinct, nullptr) != distinct.end()) return;
  std::ranges::stable_sort(distinct, {}, &Set::size);
  bool going = true;
  distinct.front()->ForEach([&](std::string_view member) {
    if (!going) return;
    const bool in_all = std::all_of(distinct.begin() + 1, distinct.end(),
                                    [member](const Set* set) { return set->Has(member); });
    if (in_all) going = visit(member);
  });
}

// A set that grows, and the limits that decide its form.
struct Building {
  Set& into;
  Set::Limits limits;
  void Add(std::string_view member) const { into.Add(member, limits); }
};

void IntersectInto(const Sets& sets, const Building& result) {
  Intersect(sets, [&result](std::string_view member) {
    result.Add(member);
    return true;
  });
}

// O(all members).
void UniteInto(const Sets& sets, const Building& result) {
  for (const Set* const set : Distinct(sets)) {
    if (set) set->ForEach([&result](std::string_view member) { result.Add(member); });
  }
}

// Whether it costs less to look each member of the first set up in the others than to take the
// members of the others out of a copy of it. As Redis estimates it, sets named again included: the
// encoding of what is stored tells which way was gone.
bool LookUpIsCheaper(const Sets& sets) {
  uint64_t look_ups = 0;
  uint64_t removals = 0;
  for (const Set* const set : sets) {
    if (!set) continue;
    look_ups += sets.front()->size();
    removals += set->size();
  }
  return look_ups / 2 <= removals;  // few members are looked up everywhere
}

// The largest first: most members are found there.
void SubtractByLookUp(const Set& from, Sets others, const Building& result) {
  std::ranges::stable_sort(others, std::ranges::greater(), &Set::size);
  from.ForEach([&](std::string_view member) {
    const bool elsewhere =
        std::ranges::any_of(others, [member](const Set* set) { return set->Has(member); });
    if (!elsewhere) result.Add(member);
  });
}

// O(members of all), and it ends as soon as nothing is left.
void SubtractByRemoval(const Set& from, const Sets& others, const Building& result) {
  from.ForEach([&result](std::string_view member) { result.Add(member); });
  for (const Set* const set : others) {
    if (result.into.empty()) return;
    set->ForEach([&result](std::string_view member) { result.into.Remove(member); });
  }
}

// A missing first set, or the first one named again, makes the result empty without a look at the
// rest.
void SubtractInto(const Sets& sets, const Building& result) {
  const Set* const from = sets.front();
  // A set without itself is empty.
  if (!from || std::find(sets.begin() + 1, sets.end(), from) != sets.end()) return;
  Sets others = Distinct(sets);
  others.erase(others.begin());
  std::erase(others, nullptr);
  LookUpIsCheaper(sets) ? SubtractByLookUp(*from, std::move(others), result)
                        : SubtractByRemoval(*from, others, result);
}

using Operation = void (*)(const Sets& sets, const Building& result);

// Requires: at least one set is named; the arity of the rows sees to it.
std::unique_ptr<Set> Combine(CommandCall& call, const Sets& sets, Operation operation) {
  auto result = std::make_unique<Set>();
  operation(sets, {*result, SetLimits(call)});
  return result;
}

// --- answers

// In no order, as a RESP3 set; RESP2 gets an array.
void Answer(CommandCall& call, Operation operation) {
  const auto sets = FindSets(call, 1, call.args.size() - 1);
  if (!sets) return;
  const std::unique_ptr<Set> result = Combine(call, *sets, operation);
  call.reply.Set(result->size());
  result->ForEach([&call](std::string_view member) { call.reply.Bulk(member); });
}

// After `SADD a 1 2 3`, `SADD b 2 3`:
//   SINTER a b        → ["2", "3"]
//   SINTER a nothing  → []
// After `SET k v`:
//   SINTER nothing k  → -WRONGTYPE ...  every key's type is looked at
void SInter(CommandCall& call) { Answer(call, IntersectInto); }
void SUnion(CommandCall& call) { Answer(call, UniteInto); }
void SDiff(CommandCall& call) { Answer(call, SubtractInto); }

// The sources are looked at before the target, whose type does not matter.
void Store(CommandCall& call, Operation operation, std::string_view event) {
  const auto sets = FindSets(call, 2, call.args.size() - 2);
  if (!sets) return;
  std::unique_ptr<Set> result = Combine(call, *sets, operation);
  const HashedKey key = call.Key(1);
  const auto size = static_cast<int64_t>(result->size());
  StoreTyped(call, key, std::move(result), kNotifySet, event);
  call.reply.Integer(size);
}

// After `SADD a 1`, `SADD t x`:
//   SINTERSTORE t a nothing  → 0
//   EXISTS t                 → 0
void SInterStore(CommandCall& call) { Store(call, IntersectInto, "sinterstore"); }
void SUnionStore(CommandCall& call) { Store(call, UniteInto, "sunionstore"); }
void SDiffStore(CommandCall& call) { Store(call, SubtractInto, "sdiffstore"); }

// --- SINTERCARD, SUNIONCARD, SDIFFCARD

struct CardArgs {
  size_t keys = 0;
  size_t limit = std::numeric_limits<size_t>::max();
  bool approx = false;
  const bool may_approx;
};

// numkeys key ... [LIMIT limit], and [APPROX] of SUNIONCARD.
constexpr OptionRow<CardArgs> kCardOptions[] = {
    {"LIMIT",
     [](ArgReader& args, CardArgs& result) {
       const std::optional<int64_t> number = ParseInt64(args.Bytes());
       if (!number || *number < 0) return args.Fail("ERR LIMIT can't be negative");
       result.limit =
           *number > 0 ? static_cast<size_t>(*number) : std::numeric_limits<size_t>::max();
     },
     1},
    {"APPROX", kRaise<&CardArgs::approx>, 0, [](const CardArgs& args) { return args.may_approx; }},
};

// numkeys, then the options, then keys. Null: the error has been answered.
std::optional<Sets> ReadCard(CommandCall& call, CardArgs& result) {
  const auto refuse = [&call](std::string_view text) {
    call.reply.Error(text);
    return std::nullopt;
  };
  const std::optional<int64_t> count = ParseInt64(call.args[1]);
  if (!count || *count < 1) return refuse("ERR numkeys should be greater than 0");
  if (static_cast<uint64_t>(*count) > call.args.size() - 2)
    return refuse("ERR Number of keys can't be greater than number of args");
  result.keys = static_cast<size_t>(*count);
  ArgReader args(call.args, 2 + result.keys);
  ReadOptions(args, kCardOptions, result);
  if (args.failed()) return refuse(args.error());
  return FindSets(call, 2, result.keys);
}

// With LIMIT the walk stops as soon as so many are found; 0 is no limit. After `SADD a 1 2 3`:
//   SINTERCARD 2 a a LIMIT 2  → 2  it stops there
//   SINTERCARD 2 a a LIMIT 0  → 3  no limit
//   SINTERCARD 0 a            → -ERR numkeys should be greater than 0
//   SINTERCARD 2 a            → -ERR Number of keys can't be greater than number of args
//   SINTERCARD 1 a LIMIT -1   → -ERR LIMIT can't be negative
void SInterCard(CommandCall& call) {
  CardArgs args{.may_approx = false};
  const std::optional<Sets> sets = ReadCard(call, args);
  if (!sets) return;
  size_t count = 0;
  Intersect(*sets, [&](std::string_view) { return ++count < args.limit; });
  call.reply.Integer(static_cast<int64_t>(count));
}

// Counts members that no set before has, and so keeps nothing: O(members x sets). After
// `SADD a 1 2 3`, `SADD b 3 4`:
//   SUNIONCARD 2 a b          → 4
//   SUNIONCARD 2 a b LIMIT 2  → 2
void SUnionCard(CommandCall& call) {
  CardArgs args{.may_approx = true};
  const std::optional<Sets> sets = ReadCard(call, args);
  if (!sets) return;
  Sets distinct = Distinct(*sets);
  std::erase(distinct, nullptr);
  std::ranges::stable_sort(distinct, std::ranges::greater(), &Set::size);
  size_t count = 0;
  for (size_t i = 0; i < distinct.size() && count < args.limit; ++i) {
    if (i == 0) {
      count = distinct[0]->size();
      continue;
    }
    const std::span before(distinct.data(), i);
    distinct[i]->ForEach([&](std::string_view member) {
      if (count >= args.limit) return;
      count += std::ranges::none_of(before, [member](const Set* set) { return set->Has(member); });
    });
  }
  call.reply.Integer(static_cast<int64_t>(std::min(count, args.limit)));
}

// After `SADD a 1 2 3`, `SADD b 3 4`:
//   SDIFFCARD 2 a b          → 2
//   SDIFFCARD 2 a b LIMIT 1  → 1
void SDiffCard(CommandCall& call) {
  CardArgs args{.may_approx = false};
  const std::optional<Sets> sets = ReadCard(call, args);
  if (!sets) return;
  const Set* const from = sets->front();
  Sets others(sets->begin() + 1, sets->end());
  std::erase(others, nullptr);
  std::ranges::stable_sort(others, std::ranges::greater(), &Set::size);
  size_t count = 0;
  if (from) {
    from->ForEach([&](std::string_view member) {
      if (count == args.limit) return;
      count += std::ranges::none_of(others, [member](const Set* set) { return set->Has(member); });
    });
  }
  call.reply.Integer(static_cast<int64_t>(count));
}

// --- the table

constexpr KeySpecs kAll = KeyRange(1, -1, 1, kKeyRo | kKeyAccess);
constexpr KeySpecs kSources = KeyRange(2, -1, 1, kKeyRo | kKeyAccess);
constexpr std::string_view kInterCost =
    "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.";
constexpr std::string_view kUnionCost =
    "O(N) where N is the total number of elements in all given sets.";

constexpr std::string_view kCardCost =
    "O(N*M) worst case where N is the number of members walked over and M is the number of sets.";

// That SINTERSTORE's target is RW and those of its kin are OW is Redis's table, quirk included.
constexpr CommandRow kSetAlgebraListed[] = {
    {.name = "SDIFF",
     .arity = -2,
     .flags = kReadOnly,
     .keys = kAll,
     .run = SDiff,
     .since = "1.0.0",
     .complexity = kUnionCost,
     .usage = "key [key ...]",
     .summary = "What is in the first set and in none of the others.",
     .tips = "nondeterministic_output_order"},
    {.name = "SDIFFCARD",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = SDiffCard,
     .since = "8.10.0",
     .complexity = kCardCost,
     .usage = "numkeys key [key ...] [LIMIT limit:integer]",
     .summary = "How many members a difference of sets has."},
    {.name = "SDIFFSTORE",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate) + kSources,
     .run = SDiffStore,
     .since = "1.0.0",
     .complexity = kUnionCost,
     .usage = "destination:key key [key ...]",
     .summary = "Store a difference of sets; how many members it has."},
    {.name = "SINTER",
     .arity = -2,
     .flags = kReadOnly,
     .keys = kAll,
     .run = SInter,
     .since = "1.0.0",
     .complexity = kInterCost,
     .usage = "key [key ...]",
     .summary = "What is in all of several sets.",
     .tips = "nondeterministic_output_order"},
    {.name = "SINTERCARD",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = SInterCard,
     .since = "7.0.0",
     .complexity = kInterCost,
     .usage = "numkeys key [key ...] [LIMIT limit:integer]",
     .summary = "How many members an intersection of sets has."},
    {.name = "SINTERSTORE",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate) + kSources,
     .run = SInterStore,
     .since = "1.0.0",
     .complexity = kInterCost,
     .usage = "destination:key key [key ...]",
     .summary = "Store an intersection of sets; how many members it has."},
    {.name = "SUNION",
     .arity = -2,
     .flags = kReadOnly,
     .keys = kAll,
     .run = SUnion,
     .since = "1.0.0",
     .complexity = kUnionCost,
     .usage = "key [key ...]",
     .summary = "What is in any of several sets.",
     .tips = "nondeterministic_output_order"},
    {.name = "SUNIONCARD",
     .arity = -3,
     .flags = kReadOnly | kMovableKeys,
     .keys = KeysCounted(1, kKeyRo | kKeyAccess),
     .run = SUnionCard,
     .since = "8.10.0",
     .complexity = kCardCost,
     .usage = "numkeys key [key ...] [APPROX] [LIMIT limit:integer]",
     .summary = "How many members a union of sets has."},
    {.name = "SUNIONSTORE",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate) + kSources,
     .run = SUnionStore,
     .since = "1.0.0",
     .complexity = kUnionCost,
     .usage = "destination:key key [key ...]",
     .summary = "Store a union of sets; how many members it has."},
};
constexpr auto kSetAlgebraRows = RowsOf(kSetAlgebraListed, {.categories = kCatSet, .group = "set"});

}  // namespace

CommandFamily SetAlgebraFamily() { return {"set_algebra", kSpecsOf<kSetAlgebraRows>}; }

}  // namespace sluice
