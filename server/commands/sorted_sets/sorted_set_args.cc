// See sorted_set_args.h.
#include "server/commands/sorted_sets/sorted_set_args.h"

#include "protocol/text/number_text.h"
#include "server/commands/shared/index_range.h"

namespace sluice {
namespace {

// As C's strtod reads: "inf", "+inf" and hexadecimal are numbers, NaN is none.
bool ParseScoreBound(std::string_view text, double& score, bool& open) {
  open = text.starts_with('(');
  if (open) text.remove_prefix(1);
  const std::optional<double> parsed = ParseStrtod(text);
  score = parsed.value_or(0);
  return parsed.has_value();
}

// A bound without its bracket is an error, except the two ends of everything.
std::optional<LexBound> ParseLexBound(std::string_view text) {
  if (text == "-") return LexBound{LexBound::Kind::kLowest, false, {}};
  if (text == "+") return LexBound{LexBound::Kind::kHighest, false, {}};
  if (text.starts_with('[')) return LexBound{LexBound::Kind::kText, false, text.substr(1)};
  if (text.starts_with('(')) return LexBound{LexBound::Kind::kText, true, text.substr(1)};
  return std::nullopt;
}

}  // namespace

// Null when either is no number. A range that contains nothing is sound.
std::optional<ScoreRange> ParseScoreRange(std::string_view min, std::string_view max) {
  ScoreRange range;
  const bool sound = ParseScoreBound(min, range.min, range.min_open) &&
                     ParseScoreBound(max, range.max, range.max_open);
  return sound ? std::optional(range) : std::nullopt;
}

// "[a", "(a", "-" or "+".
std::optional<LexRange> ParseLexRange(std::string_view min, std::string_view max) {
  const std::optional<LexBound> low = ParseLexBound(min);
  const std::optional<LexBound> high = ParseLexBound(max);
  if (!low || !high) return std::nullopt;
  return LexRange{*low, *high};
}

// Negative numbers count from the end, and what lies outside is cut off.
RankRange RanksFrom(int64_t start, int64_t stop, size_t size) {
  const IndexRange range = RangeOf(start, stop, size);
  return {range.first, range.end};
}

// Up to here a set is kept, and shown, as a listpack. CONFIG SET does not touch sets that are
// there.
SortedSet::Limits SortedSetLimits(const CommandCall& call) {
  const Settings& settings = call.settings;
  return {static_cast<size_t>(settings.zset_max_listpack_entries),
          static_cast<size_t>(settings.zset_max_listpack_value), &call.keyspace.hash_keys()};
}

SortedSetChange::SortedSetChange(CommandCall& call, HashedKey key)
    : call_(call), key_(key), found_(LookUpTyped<SortedSet>(call, key)) {}

const SortedSet* SortedSetChange::found() const {
  if (opened_.entry) return &*opened_;
  return found_ ? &*found_ : nullptr;
}

// From here on found() is the opened set, so a handler may go on asking it.
SortedSet& SortedSetChange::set() {
  if (!opened_.entry) {
    opened_ = found_ ? OpenFound(call_, key_, found_) : CreateTyped<SortedSet>(call_, key_);
  }
  return *opened_;
}

void SortedSetChange::Close(std::string_view event) {
  if (opened_.entry) CloseTyped(call_, opened_, kNotifySortedSet, event);
}

// O(1) beyond what was computed: the set itself is moved in.
void StoreSortedSet(CommandCall& call, HashedKey key, std::unique_ptr<SortedSet> made,
                    std::string_view event) {
  const auto size = static_cast<int64_t>(made->size());
  StoreTyped(call, key, std::move(made), kNotifySortedSet, event);
  call.reply.Integer(size);
}

// The array's header, which has to be known before the first element.
ElementsReply::ElementsReply(ReplySink& reply, size_t count, bool with_scores)
    : reply_(reply), with_scores_(with_scores), paired_(with_scores && reply.version() == 3) {
  reply_.Array(with_scores && !paired_ ? 2 * count : count);
}

// True, as visitors of ForEach go on. RESP3 has pairs, RESP2 one flat array.
bool ElementsReply::Add(std::string_view name, double score) {
  if (paired_) reply_.Array(2);
  reply_.Bulk(name);
  if (with_scores_) reply_.Double(score);
  return true;
}

}  // namespace sluice
