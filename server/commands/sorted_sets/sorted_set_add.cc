// Putting members in: see sorted_set_add.h.

#include "server/commands/sorted_sets/sorted_set_add.h"

#include <cmath>
#include <optional>

#include "server/commands/shared/option_table.h"
#include "server/commands/sorted_sets/sorted_set_args.h"

namespace sluice {
namespace {

// Words that ZADD and GEOADD share; then those that only a score makes sense of.
constexpr OptionRow<AddOptions> kSortedSetAddOptions[] = {
    {"NX", kRaise<&AddOptions::nx>},
    {"XX", kRaise<&AddOptions::xx>},
    {"CH", kRaise<&AddOptions::changed>},
};
constexpr OptionRow<AddOptions> kSetOptions[] = {
    {"GT", kRaise<&AddOptions::gt>},
    {"LT", kRaise<&AddOptions::lt>},
    {"INCR", kRaise<&AddOptions::increment>},
};

// kNothing: a condition kept the score as it was. kSame: the member has this score already, which
// INCR answers with, while a condition that failed is null.
enum class Outcome : uint8_t { kNothing, kSame, kUpdated, kAdded, kNotANumber };

// `score` is given or, with an increment, what is added; in the end the member's score. GT and LT
// never keep a new member out; only XX does. The sum is checked before them.
Outcome AddOne(SortedSetChange& change, std::string_view name, double& score,
               const AddOptions& options, const SortedSet::Limits& limits) {
  const SortedSet* const set = change.found();
  const std::optional<double> old = set ? set->Score(name) : std::nullopt;
  // NX keeps what is there as it is, XX makes nothing.
  if (old ? options.nx : options.xx) return Outcome::kNothing;
  if (old) {
    if (options.increment) score += *old;
    if (std::isnan(score)) return Outcome::kNotANumber;
    if ((options.lt && score >= *old) || (options.gt && score <= *old)) return Outcome::kNothing;
    // No change: WATCH, events and the log do not see it.
    if (score == *old) return Outcome::kSame;
  }
  change.set().Put(name, score, limits);
  return old ? Outcome::kUpdated : Outcome::kAdded;
}

}  // namespace

// False: the next argument is none of them, and stays.
bool TakeAddOption(ArgReader& args, AddOptions& options, bool all) {
  return TakeOption(args, kSortedSetAddOptions, options) ||
         (all && TakeOption(args, kSetOptions, options));
}

// NaN can come only from INCR, so at most one member is concerned and nothing was changed before
// it. The set is opened at the first change: ZADD with known scores is no change and is not logged.
// The effect is the command as it is; a condition gives the same outcome on the same state.
void AddMembers(CommandCall& call, const AddOptions& options, std::span<double> scores,
                size_t first_name, size_t stride) {
  SortedSetChange change(call, call.Key(1));
  if (change.refused()) return;
  const SortedSet::Limits limits = SortedSetLimits(call);
  int64_t added = 0;
  int64_t updated = 0;
  Outcome outcome = Outcome::kNothing;
  for (size_t i = 0; i < scores.size() && outcome != Outcome::kNotANumber; ++i) {
    outcome = AddOne(change, call.args[first_name + stride * i], scores[i], options, limits);
    added += outcome == Outcome::kAdded;
    updated += outcome == Outcome::kUpdated;
  }
  change.Close(options.increment ? "zincr" : "zadd");
  if (outcome == Outcome::kNotANumber) {
    return call.reply.Error("ERR resulting score is not a number (NaN)");
  }
  if (!options.increment) return call.reply.Integer(added + (options.changed ? updated : 0));
  outcome == Outcome::kNothing ? call.reply.Null() : call.reply.Double(scores[0]);
}

}  // namespace sluice
