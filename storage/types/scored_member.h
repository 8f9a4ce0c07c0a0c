// ScoredMember: an element of a large sorted set, one allocation: its score and its name. The order
// (RankedTree) and the index by name (SegmentTableOf) both point to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "storage/memory/block_size.h"

namespace sluice {

// Its owner is LargeSortedSet. The name never changes; the score changes only through the tree.
class ScoredMember {
 public:
  static ScoredMember* Make(std::string_view name, double score) {
    void* const block = std::malloc(BlockBytes(name.size()));
    if (block == nullptr) std::abort();  // as `new` without exceptions would
    auto* const member = new (block) ScoredMember(score, static_cast<uint32_t>(name.size()));
    if (!name.empty()) std::memcpy(member->name(), name.data(), name.size());
    return member;
  }
  static void Free(ScoredMember* member) { std::free(member); }

  std::string_view key() const { return {const_cast<ScoredMember*>(this)->name(), length_}; }
  double score() const { return score_; }
  size_t bytes() const { return BlockBytes(length_); }

  // By score, then by name.
  bool operator<(const ScoredMember& other) const {
    return score_ != other.score_ ? score_ < other.score_ : key() < other.key();
  }

 private:
  friend class RankedTree;  // which keeps it at the place of its score

  ScoredMember(double score, uint32_t length) : score_(score), length_(length) {}
  // As much as malloc makes of it anyhow; never less than the object.
  static size_t BlockBytes(size_t length) {
    return BlockSize(std::max(sizeof(ScoredMember), kNameOffset + length));
  }
  char* name() { return reinterpret_cast<char*>(this) + kNameOffset; }

  static constexpr size_t kNameOffset = sizeof(double) + sizeof(uint32_t);
  double score_;
  uint32_t length_;  // the name stands behind it
};

}  // namespace sluice
