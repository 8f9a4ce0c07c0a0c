// A sorted set of many members or long ones: a RankedTree for the order and a table of small
// segments for finding members by name, both pointing to the same elements. No change moves more
// than one segment and a few nodes, however many members there are.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/hashing/key_hash.h"
#include "storage/keyspace/segment_table.h"
#include "storage/types/ranked_tree.h"
#include "storage/types/score_range.h"
#include "storage/types/scored_member.h"

namespace sluice {

extern template class SegmentTableOf<ScoredMember>;

// It owns its members. Find is O(1), all that has to do with order O(log n).
class LargeSortedSet {
 public:
  using Place = RankedTree::Place;

  // `hash_keys` outlives the set, which takes a key of its own from it; so does a copy.
  explicit LargeSortedSet(HashKeys& hash_keys)
      : hash_keys_(&hash_keys), key_(hash_keys.Next()), index_(key_, memory_bytes_) {}
  LargeSortedSet(const LargeSortedSet& other);  // a copy of every element
  LargeSortedSet& operator=(const LargeSortedSet&) = delete;
  ~LargeSortedSet();

  size_t size() const { return index_.size(); }
  // Elements and table, this object not included.
  size_t heap_bytes() const { return memory_bytes_ + tree_.heap_bytes(); }

  const ScoredMember* Find(std::string_view name) const;
  size_t RankOf(const ScoredMember& member) const { return tree_.RankOf(member); }
  RankRange Between(const ScoreRange& range) const;
  RankRange Between(const LexRange& range) const;
  Place At(size_t rank) const { return tree_.At(rank); }
  uint64_t Scan(uint64_t cursor, size_t count, absl::FunctionRef<void(const ScoredMember&)> visit,
                ScanCache* cache) const {
    return index_.Scan(cursor, count, visit, cache);
  }

  void Insert(std::string_view name, double score) { Insert(Hash(name), score); }  // not there yet
  // SortedSet::Add.
  bool Add(std::span<const NewMember> members);
  void Rescore(const ScoredMember& member, double score);
  void Erase(const ScoredMember& member);
  // Frees up to `budget` pieces; returns how many, 0 when nothing is left. Afterwards it may only
  // be freed further.
  size_t FreeSome(size_t budget);

  std::string Audit() const;  // the first violated invariant as a sentence, or empty

 private:
  void Insert(HashedKey name, double score);
  HashedKey Hash(std::string_view name) const;
  void Free(ScoredMember& member);

  HashKeys* hash_keys_;
  const TableKey key_;
  size_t memory_bytes_ = 0;
  SegmentTableOf<ScoredMember> index_;
  RankedTree tree_;
};

}  // namespace sluice
