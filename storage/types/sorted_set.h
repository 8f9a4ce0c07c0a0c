// SortedSet: members with scores, in the order of scores and then of names. Compact while small
// ("listpack"), an ordered tree with an index ("skiplist") once it holds more members or longer
// ones than it was allowed at some insertion; it never goes back, as in Redis.
//
//   SortedSet set;
//   set.Put("member", 1.5, limits);
//   set.ForEach(set.Between(ScoreRange{1, 2}), Direction::kUp, [&](auto name, double score) {...});
//
// Every part of a set is a range of ranks: find one, then count it, walk over it or take it out.
// Scores are never NaN.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/keyspace/value.h"
#include "storage/types/score_range.h"
#include "storage/types/small_sorted_set.h"

namespace sluice {

class HashKeys;
class LargeSortedSet;
class ScanCache;

class SortedSet final : public Value {
 public:
  static constexpr ValueType kType = ValueType::kSortedSet;
  // How far a set stays small, and where a large one has the key of its hashes from.
  struct Limits {
    size_t members_max = 128;
    size_t name_bytes_max = 64;
    HashKeys* hash_keys = nullptr;
  };
  enum class Direction : bool { kUp, kDown };
  // Names are valid during the call. False: no more.
  using Visit = absl::FunctionRef<bool(std::string_view name, double score)>;
  struct Found {
    size_t rank;  // the lowest element has 0
    double score;
  };

  SortedSet();
  SortedSet(const SortedSet& other);
  SortedSet& operator=(const SortedSet&) = delete;
  ~SortedSet() override;

  ValueType type() const override { return kType; }
  std::string_view Encoding() const override { return large_ ? "skiplist" : "listpack"; }
  size_t MemoryBytes() const override;
  std::unique_ptr<Value> Clone() const override { return std::make_unique<SortedSet>(*this); }
  size_t Elements() const override { return large_ ? size() : 1; }
  size_t FreeSome(size_t budget) override;

  // --- reading: O(log n) by name or by bound, and O(1) more for each element that is visited.
  size_t size() const;
  bool empty() const { return size() == 0; }
  RankRange All() const { return {0, size()}; }
  std::optional<double> Score(std::string_view name) const;
  std::optional<Found> Find(std::string_view name) const;  // O(log n)
  RankRange Between(const ScoreRange& range) const;
  RankRange Between(const LexRange& range) const;  // of sets whose scores are all equal
  // Requires: the range lies inside the set.
  void ForEach(RankRange range, Direction direction, Visit visit) const;
  // Cursors as Database::Scan; of a small set the whole in one call, whatever the cursor.
  uint64_t Scan(uint64_t cursor, size_t count,
                absl::FunctionRef<void(std::string_view name, double score)> visit,
                ScanCache* cache = nullptr) const;

  // --- changing: O(log n) an element; of a small set O(its bytes).
  // Adds the member or gives it another score; true if it was added.
  bool Put(std::string_view name, double score, const Limits& limits);
  // Adds them in their order, whose look-ups overlap: NewMember::kTogetherMax at most. False where
  // one is there already, or comes twice; those before it have been added.
  bool Add(std::span<const NewMember> members, const Limits& limits);
  // Makes the set of them all, with scores as they are: -0 is one, which Put makes 0 of as long as
  // the set is small (as Redis). False where two have the same name. Requires: the set is empty.
  // O(n log n), and their order is lost.
  bool Load(std::span<NewMember> members, const Limits& limits);
  bool Erase(std::string_view name);  // false when it is not there. No name of the set's own
  void Erase(RankRange range);        // requires: inside the set

  std::string Audit() const override;  // the first violated invariant as a sentence, or empty

 private:
  void Enlarge(HashKeys& hash_keys);

  SmallSortedSet small_;                   // empty when there is large_
  std::unique_ptr<LargeSortedSet> large_;  // null while small
};

}  // namespace sluice
