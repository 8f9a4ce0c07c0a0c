// RankedTree: the order of a large sorted set. A B+ tree of members by score and then by name that
// knows of every subtree how many elements it holds, so that the element of a rank and the rank of
// an element are found on one way down.
//
// Leaves hold scores side by side with pointers to the members: a search reads names only where
// scores are equal. A million elements stand below three or four levels of inner nodes, where a
// balanced binary tree (the ranked index of Boost.MultiIndex, measured here at three times the time
// and 30 bytes more an element) or a skip list meets twenty cache lines.
//
// Each inner node says of every child its lowest element and its size:
//
//   root    [ a(1) 3 | d(4) 2 ]
//             |        +-------------> [ d 4 | e 5 ]
//             +-> [ a 1 | b 1 | c 2 ] <-> (leaves are linked)
//
// The rank of e: the sizes of children to its left, 3, and its place in the leaf, 1: 4.
//
// Invariants: no node but an empty tree's root is empty; what an inner node says of a child (its
// lowest element, its size) is true; small neighbours are merged when something is taken out, so
// that two together always fill most of one node. Members are neither made nor freed here.
#pragma once

#include <absl/functional/function_ref.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/types/scored_member.h"

namespace sluice {

// Insert, Erase, Rescore, At and RankOf are O(log n); a step of a Place is O(1).
class RankedTree {
  struct Node;
  struct Leaf;
  struct Inner;

 public:
  // Where an element stands; valid until the next change.
  class Place {
   public:
    bool at_end() const { return leaf_ == nullptr; }
    const ScoredMember& member() const;  // requires: !at_end()
    void Next();                         // from the last element to the end
    void Previous();                     // from the first element to the end
    // Asks for the member that stands so many places up, in this leaf or the next.
    void Prefetch(size_t ahead) const;  // requires: !at_end()

   private:
    friend class RankedTree;
    const Leaf* leaf_ = nullptr;
    size_t index_ = 0;
  };
  struct Found {
    Place place;
    size_t rank = 0;  // of the place; the tree's size at the end
  };

  RankedTree() = default;
  RankedTree(const RankedTree&) = delete;
  RankedTree& operator=(const RankedTree&) = delete;
  ~RankedTree();

  size_t size() const { return size_; }
  size_t heap_bytes() const { return leaves_ * kLeafBytes + inners_ * kInnerBytes; }

  // The first element that is not before what is looked for. `before(score, member)` holds for
  // some first elements and for no later one.
  template <typename Before>
  Found Find(const Before& before) const;
  Place At(size_t rank) const;                      // the end when there are not so many
  size_t RankOf(const ScoredMember& member) const;  // requires: it is in the tree

  void Insert(ScoredMember& member);                 // requires: none of that name and score
  void Erase(const ScoredMember& member);            // requires: it is in the tree
  void Rescore(ScoredMember& member, double score);  // requires: it is in the tree

  // Frees up to `budget` leaves without a look at their elements; returns how many. A tree once
  // taken apart can only be taken apart further.
  size_t FreeLeaves(size_t budget);

  std::string Audit() const;  // the first violated invariant as a sentence, or empty

 private:
  static constexpr size_t kLeafMax = 62;   // 1016 bytes
  static constexpr size_t kInnerMax = 31;  // 1000 bytes
  static constexpr size_t kLevelsMax = 16;
  static const size_t kLeafBytes;
  static const size_t kInnerBytes;

  // The inner nodes from the root to above a leaf, and which child was taken in each.
  struct Step {
    Inner* inner;
    size_t child;
  };
  struct Path {
    std::array<Step, kLevelsMax> steps;
    size_t length = 0;
  };

  // The leaf in which the member stands or belongs, and the way there.
  Leaf* Descend(const ScoredMember& member, Path& path) const;
  // Splits, merges and removals mend these on the way up. LowChanged: the lowest element below step
  // `level` of the path is another one.
  void LowChanged(const Path& path, size_t level, double score, ScoredMember* member);
  void InsertChild(const Path& path, size_t level, Node* child, double score, ScoredMember* low,
                   size_t size);
  void SplitRoot(Node* left, size_t left_size, Node* right, double score, ScoredMember* low,
                 size_t right_size);
  void RemoveChild(const Path& path, size_t level, size_t child);
  void MergeLeaf(const Path& path);
  void MergeInner(const Path& path, size_t level);
  Leaf* NewLeaf();
  Inner* NewInner();
  void Free(Leaf* leaf);
  void Free(Inner* inner);
  void FreeAll(Node* node, size_t levels);
  std::string AuditNode(const Node* node, size_t levels, size_t& size) const;

  Node* root_ = nullptr;
  size_t levels_ = 0;  // of inner nodes above the leaves
  size_t size_ = 0;
  size_t leaves_ = 0;
  size_t inners_ = 0;
};

// --- inline: what searches need

struct RankedTree::Node {
  size_t count = 0;  // elements of a leaf, children of an inner node
};

struct RankedTree::Leaf : Node {
  Leaf* previous = nullptr;
  Leaf* next = nullptr;
  double scores[kLeafMax];
  ScoredMember* members[kLeafMax];
};

// Knows each child's lowest element, and how many it holds.
struct RankedTree::Inner : Node {
  double scores[kInnerMax];
  ScoredMember* members[kInnerMax];
  Node* children[kInnerMax];
  size_t sizes[kInnerMax];
};

namespace ranked_tree {

// How many of these elements stand before what is looked for.
template <typename Before>
size_t CountBefore(const double* scores, ScoredMember* const* members, size_t count,
                   const Before& before) {
  size_t first = 0;
  while (count > 0) {
    const size_t half = count / 2;
    if (before(scores[first + half], *members[first + half])) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

}  // namespace ranked_tree

template <typename Before>
RankedTree::Found RankedTree::Find(const Before& before) const {
  Found found;
  if (root_ == nullptr) return found;
  const Node* node = root_;
  for (size_t level = levels_; level > 0; --level) {
    const auto* const inner = static_cast<const Inner*>(node);
    const size_t lower =
        ranked_tree::CountBefore(inner->scores, inner->members, inner->count, before);
    const size_t child = lower == 0 ? 0 : lower - 1;
    for (size_t i = 0; i < child; ++i) found.rank += inner->sizes[i];
    node = inner->children[child];
  }
  const auto* const leaf = static_cast<const Leaf*>(node);
  const size_t lower = ranked_tree::CountBefore(leaf->scores, leaf->members, leaf->count, before);
  found.rank += lower;
  found.place.leaf_ = lower < leaf->count ? leaf : leaf->next;
  found.place.index_ = lower < leaf->count ? lower : 0;
  return found;
}

inline const ScoredMember& RankedTree::Place::member() const { return *leaf_->members[index_]; }

inline void RankedTree::Place::Next() {
  if (++index_ < leaf_->count) return;
  leaf_ = leaf_->next;
  index_ = 0;
}

inline void RankedTree::Place::Prefetch(size_t ahead) const {
  const Leaf* leaf = leaf_;
  size_t index = index_ + ahead;
  if (index >= leaf->count) {
    index -= leaf->count;
    leaf = leaf->next;
  }
  if (leaf != nullptr && index < leaf->count) __builtin_prefetch(leaf->members[index]);
}

inline void RankedTree::Place::Previous() {
  if (index_-- > 0) return;
  leaf_ = leaf_->previous;
  index_ = leaf_ == nullptr ? 0 : leaf_->count - 1;
}

}  // namespace sluice
