// Shared by the families of sorted-set commands: reading ranges, answering with elements.
//
// A sorted set is never empty between two commands: taking the last member removes the key.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "server/commands/shared/lookup.h"
#include "server/dispatch/command.h"
#include "storage/types/sorted_set.h"

namespace sluice {

// Redis's words for ranges that cannot be read.
inline constexpr std::string_view kScoreRangeFault = "ERR min or max is not a float";
inline constexpr std::string_view kLexRangeFault = "ERR min or max not valid string range item";

// "1.5", "(1.5", "-inf"; null when one of them is no bound.
std::optional<ScoreRange> ParseScoreRange(std::string_view min, std::string_view max);
// "-", "+", "[text", "(text". The range is valid as long as the texts are.
std::optional<LexRange> ParseLexRange(std::string_view min, std::string_view max);
// Ranks as ZRANGE counts them: negative ones from the end, both included.
RankRange RanksFrom(int64_t start, int64_t stop, size_t size);

// The limits below which sorted sets are compact, as configured.
SortedSet::Limits SortedSetLimits(const CommandCall& call);

// A sorted set that may be changed. The key counts as changed (watchers, effects) only from the
// first call of set() on, which also makes it if it is missing. No other key may be changed between
// that and Close.
class SortedSetChange {
 public:
  // Marks the access and counts no hit; answers WRONGTYPE when the key holds something else.
  SortedSetChange(CommandCall& call, HashedKey key);

  bool refused() const { return found_.refused; }
  const SortedSet* found() const;  // null when missing
  SortedSet& set();
  // Deletes an empty set and notifies, if set() was called. May be called once.
  void Close(std::string_view event);

 private:
  CommandCall& call_;
  const HashedKey key_;
  Typed<SortedSet> found_;
  Opened<SortedSet> opened_;
};

// Puts what a command has made at `key`, whatever was there, and answers with its size; nothing
// made deletes the key.
void StoreSortedSet(CommandCall& call, HashedKey key, std::unique_ptr<SortedSet> made,
                    std::string_view event);

// An array of elements. With scores RESP2 has them flat, RESP3 as pairs.
class ElementsReply {
 public:
  ElementsReply(ReplySink& reply, size_t count, bool with_scores);
  bool Add(std::string_view name, double score);  // true, for SortedSet::Visit

 private:
  ReplySink& reply_;
  const bool with_scores_;
  const bool paired_;
};

}  // namespace sluice
