// Sorted sets and sets as operands: unions, intersections and differences of them, with scores that
// are weighted and aggregated. A set's members count as having the score 1. No arguments, no
// replies.
//
// The sets are only looked at, and must stay as they are during the operation. Results own their
// names.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/hashing/key_hash.h"
#include "storage/types/set.h"
#include "storage/types/sorted_set.h"

namespace sluice {

// How scores of a member that is in several operands become one.
// kCount: how many have it, each with its weight.
enum class Aggregate : uint8_t { kSum, kMin, kMax, kCount };

// One input: a sorted set, a set, or nothing, which counts as empty.
struct SetOperand {
  const SortedSet* sorted = nullptr;
  const Set* plain = nullptr;
  double weight = 1;
  bool counts = false;  // every score is 1

  size_t size() const;
  // Without the weight. Null: the member is not in it. O(1) in a hash table.
  std::optional<double> Score(std::string_view name) const;
  void ForEach(SortedSet::Visit visit) const;

  // The value itself, by which two operands of one key are known to be the same.
  const void* source() const { return plain ? static_cast<const void*>(plain) : sorted; }
  // An infinite score with weight 0 counts as 0.
  double Weighted(double score) const {
    const double value = weight * score;
    return std::isnan(value) ? 0 : value;
  }
};

// The operands of one command; at least one.
struct SetOperands {
  std::vector<SetOperand> list;
  Aggregate aggregate = Aggregate::kSum;
};

// An element of a result. The order is that of sorted sets: scores, then bytes of the names.
struct ScoredName {
  double score;
  std::string name;
  bool operator<(const ScoredName& other) const {
    return score != other.score ? score < other.score : name < other.name;
  }
};

// In no order. The operands are sorted, or thinned out, on the way.
std::vector<ScoredName> UnionOf(SetOperands& operands, HashKeys& hash_keys);
std::vector<ScoredName> IntersectionOf(SetOperands& operands, HashKeys& hash_keys);
// The members of the first that are in no other.
std::vector<ScoredName> DifferenceOf(SetOperands& operands, HashKeys& hash_keys);
// How many members all have in common, counted up to `most`; 0: all.
int64_t CountCommon(SetOperands& operands, int64_t most);

}  // namespace sluice
