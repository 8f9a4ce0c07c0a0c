// See ranked_tree.h. A change goes down once and notes its way (Path); counts and lowest elements
// are mended along it, and splits and merges go back up by it.
#include "storage/types/ranked_tree.h"

#include <absl/base/macros.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// For memory that moves inside a node or to its neighbour.
template <typename T>
void OpenGap(T* items, size_t count, size_t at) {
  std::copy_backward(items + at, items + count, items + count + 1);
}

template <typename T>
void CloseGap(T* items, size_t count, size_t at) {
  std::copy(items + at + 1, items + count, items + at);
}

// Small enough to be merged, and what two may hold together to become one: far from where the
// result would split again.
constexpr size_t MergeBelow(size_t max) { return max / 4; }
constexpr size_t MergedMax(size_t max) { return max / 4 * 3; }

// Looks for an element itself.
struct BeforeMember {
  const ScoredMember& wanted;
  bool operator()(double score, const ScoredMember& member) const {
    return score != wanted.score() ? score < wanted.score() : member.key() < wanted.key();
  }
};

// The child in which the element belongs: the last one whose lowest element is not above it.
template <typename Inner>
size_t ChildFor(const Inner& inner, const ScoredMember& wanted) {
  const auto not_above = [&](double score, const ScoredMember& low) {
    return score != wanted.score() ? score < wanted.score() : low.key() <= wanted.key();
  };
  const size_t lower =
      ranked_tree::CountBefore(inner.scores, inner.members, inner.count, not_above);
  return lower == 0 ? 0 : lower - 1;
}

}  // namespace

const size_t RankedTree::kLeafBytes = sizeof(Leaf);
const size_t RankedTree::kInnerBytes = sizeof(Inner);

RankedTree::~RankedTree() {
  if (root_ != nullptr) FreeAll(root_, levels_);
}

RankedTree::Leaf* RankedTree::NewLeaf() {
  static_assert(sizeof(Leaf) <= 1024 && sizeof(Inner) <= 1024);
  ++leaves_;
  return new Leaf;
}

RankedTree::Inner* RankedTree::NewInner() {
  ++inners_;
  return new Inner;
}

void RankedTree::Free(Leaf* leaf) {
  if (leaf->previous != nullptr) leaf->previous->next = leaf->next;
  if (leaf->next != nullptr) leaf->next->previous = leaf->previous;
  --leaves_;
  delete leaf;
}

void RankedTree::Free(Inner* inner) {
  --inners_;
  delete inner;
}

void RankedTree::FreeAll(Node* node, size_t levels) {
  if (levels == 0) return Free(static_cast<Leaf*>(node));
  auto* const inner = static_cast<Inner*>(node);
  for (size_t i = 0; i < inner->count; ++i) FreeAll(inner->children[i], levels - 1);
  Free(inner);
}

// --- searching

// Down by sizes: each child that lies whole before the rank is subtracted.
RankedTree::Place RankedTree::At(size_t rank) const {
  Place place;
  if (rank >= size_) return place;
  const Node* node = root_;
  for (size_t level = levels_; level > 0; --level) {
    const auto* const inner = static_cast<const Inner*>(node);
    size_t child = 0;
    for (; rank >= inner->sizes[child]; ++child) rank -= inner->sizes[child];
    node = inner->children[child];
  }
  place.leaf_ = static_cast<const Leaf*>(node);
  place.index_ = rank;
  return place;
}

size_t RankedTree::RankOf(const ScoredMember& member) const {
  return Find(BeforeMember{member}).rank;
}

RankedTree::Leaf* RankedTree::Descend(const ScoredMember& member, Path& path) const {
  ABSL_HARDENING_ASSERT(levels_ <= kLevelsMax);
  Node* node = root_;
  for (path.length = 0; path.length < levels_; ++path.length) {
    auto* const inner = static_cast<Inner*>(node);
    const size_t child = ChildFor(*inner, member);
    path.steps[path.length] = {inner, child};
    node = inner->children[child];
  }
  return static_cast<Leaf*>(node);
}

// --- putting in

// Sizes are raised on the way down. A full leaf splits in halves (at the end of all a new one is
// begun), and a split may go up to the root. A new lowest element is told to the nodes above as
// long as their first child is concerned.
void RankedTree::Insert(ScoredMember& member) {
  ++size_;
  if (root_ == nullptr) root_ = NewLeaf();
  Path path;
  Leaf* leaf = Descend(member, path);
  for (size_t i = 0; i < path.length; ++i) ++path.steps[i].inner->sizes[path.steps[i].child];
  size_t at =
      ranked_tree::CountBefore(leaf->scores, leaf->members, leaf->count, BeforeMember{member});
  Leaf* right = nullptr;
  Leaf* const left = leaf;
  if (leaf->count == kLeafMax) {
    right = NewLeaf();
    right->previous = leaf;
    right->next = std::exchange(leaf->next, right);
    if (right->next != nullptr) right->next->previous = right;
    // A tree that grows at its end (scores that are times) fills its leaves.
    const size_t kept = right->next == nullptr && at == kLeafMax ? kLeafMax : kLeafMax / 2;
    right->count = kLeafMax - kept;
    std::copy(leaf->scores + kept, leaf->scores + kLeafMax, right->scores);
    std::copy(leaf->members + kept, leaf->members + kLeafMax, right->members);
    leaf->count = kept;
    if (at > kept || right->count == 0) {
      leaf = right;
      at -= kept;
    }
  }
  OpenGap(leaf->scores, leaf->count, at);
  OpenGap(leaf->members, leaf->count, at);
  leaf->scores[at] = member.score();
  leaf->members[at] = &member;
  ++leaf->count;
  if (at == 0 && leaf == left) LowChanged(path, path.length, member.score(), &member);
  if (right == nullptr) return;
  if (path.length == 0) {
    return SplitRoot(left, left->count, right, right->scores[0], right->members[0], right->count);
  }
  InsertChild(path, path.length - 1, right, right->scores[0], right->members[0], right->count);
}

void RankedTree::LowChanged(const Path& path, size_t level, double score, ScoredMember* member) {
  while (level > 0) {
    const auto [inner, child] = path.steps[--level];
    inner->scores[child] = score;
    inner->members[child] = member;
    if (child > 0) return;
  }
}

// A new child behind the one that the path took on this level, from which its `size` elements came.
void RankedTree::InsertChild(const Path& path, size_t level, Node* child, double score,
                             ScoredMember* low, size_t size) {
  Inner* inner = path.steps[level].inner;
  size_t at = path.steps[level].child + 1;
  inner->sizes[at - 1] -= size;
  Inner* right = nullptr;
  Inner* const left = inner;
  if (inner->count == kInnerMax) {
    right = NewInner();
    const size_t kept = at == kInnerMax ? kInnerMax - 1 : kInnerMax / 2;
    right->count = kInnerMax - kept;
    std::copy(inner->scores + kept, inner->scores + kInnerMax, right->scores);
    std::copy(inner->members + kept, inner->members + kInnerMax, right->members);
    std::copy(inner->children + kept, inner->children + kInnerMax, right->children);
    std::copy(inner->sizes + kept, inner->sizes + kInnerMax, right->sizes);
    inner->count = kept;
    if (at > kept) {
      inner = right;
      at -= kept;
    }
  }
  OpenGap(inner->scores, inner->count, at);
  OpenGap(inner->members, inner->count, at);
  OpenGap(inner->children, inner->count, at);
  OpenGap(inner->sizes, inner->count, at);
  inner->scores[at] = score;
  inner->members[at] = low;
  inner->children[at] = child;
  inner->sizes[at] = size;
  ++inner->count;
  if (right == nullptr) return;
  size_t right_size = 0;
  for (size_t i = 0; i < right->count; ++i) right_size += right->sizes[i];
  if (level == 0) {
    return SplitRoot(left, size_ - right_size, right, right->scores[0], right->members[0],
                     right_size);
  }
  InsertChild(path, level - 1, right, right->scores[0], right->members[0], right_size);
}

// The tree grows at its root alone, so all leaves are equally deep.
void RankedTree::SplitRoot(Node* left, size_t left_size, Node* right, double score,
                           ScoredMember* low, size_t right_size) {
  Inner* const root = NewInner();
  root->count = 2;
  if (levels_ == 0) {
    root->scores[0] = static_cast<Leaf*>(left)->scores[0];
    root->members[0] = static_cast<Leaf*>(left)->members[0];
  } else {
    root->scores[0] = static_cast<Inner*>(left)->scores[0];
    root->members[0] = static_cast<Inner*>(left)->members[0];
  }
  root->children[0] = left;
  root->sizes[0] = left_size;
  root->scores[1] = score;
  root->members[1] = low;
  root->children[1] = right;
  root->sizes[1] = right_size;
  root_ = root;
  ++levels_;
}

// --- taking out

// Sizes are lowered on the way down. An empty leaf goes; a small one joins a neighbour if both fit
// well into one.
void RankedTree::Erase(const ScoredMember& member) {
  ABSL_HARDENING_ASSERT(size_ > 0);
  Path path;
  Leaf* const leaf = Descend(member, path);
  const size_t at =
      ranked_tree::CountBefore(leaf->scores, leaf->members, leaf->count, BeforeMember{member});
  ABSL_HARDENING_ASSERT(at < leaf->count && leaf->members[at] == &member);
  for (size_t i = 0; i < path.length; ++i) --path.steps[i].inner->sizes[path.steps[i].child];
  --size_;
  CloseGap(leaf->scores, leaf->count, at);
  CloseGap(leaf->members, leaf->count, at);
  if (--leaf->count == 0) {
    Free(leaf);
    if (path.length > 0)
      return RemoveChild(path, path.length - 1, path.steps[path.length - 1].child);
    root_ = nullptr;
    return;
  }
  if (at == 0) LowChanged(path, path.length, leaf->scores[0], leaf->members[0]);
  if (leaf->count < MergeBelow(kLeafMax) && path.length > 0) MergeLeaf(path);
}

// The child itself is freed already.
void RankedTree::RemoveChild(const Path& path, size_t level, size_t child) {
  Inner* const inner = path.steps[level].inner;
  CloseGap(inner->scores, inner->count, child);
  CloseGap(inner->members, inner->count, child);
  CloseGap(inner->children, inner->count, child);
  CloseGap(inner->sizes, inner->count, child);
  if (--inner->count == 0) {
    Free(inner);
    if (level > 0) return RemoveChild(path, level - 1, path.steps[level - 1].child);
    root_ = nullptr;
    levels_ = 0;
    return;
  }
  if (child == 0) LowChanged(path, level, inner->scores[0], inner->members[0]);
  if (level > 0) {
    if (inner->count < MergeBelow(kInnerMax)) MergeInner(path, level);
    return;
  }
  while (levels_ > 0 && root_->count == 1) {
    auto* const root = static_cast<Inner*>(root_);
    root_ = root->children[0];
    --levels_;
    Free(root);
  }
}

// With the neighbour before it, or for a first child with the one behind: both have one parent.
void RankedTree::MergeLeaf(const Path& path) {
  const auto [parent, child] = path.steps[path.length - 1];
  if (parent->count < 2) return;
  const size_t left_child = child == 0 ? 0 : child - 1;
  auto* const left = static_cast<Leaf*>(parent->children[left_child]);
  auto* const right = static_cast<Leaf*>(parent->children[left_child + 1]);
  if (left->count + right->count > MergedMax(kLeafMax)) return;
  std::copy(right->scores, right->scores + right->count, left->scores + left->count);
  std::copy(right->members, right->members + right->count, left->members + left->count);
  left->count += right->count;
  parent->sizes[left_child] += parent->sizes[left_child + 1];
  Free(right);
  RemoveChild(path, path.length - 1, left_child + 1);
}

// The inner node of step `level` is small.
void RankedTree::MergeInner(const Path& path, size_t level) {
  const auto [parent, child] = path.steps[level - 1];
  if (parent->count < 2) return;
  const size_t left_child = child == 0 ? 0 : child - 1;
  auto* const left = static_cast<Inner*>(parent->children[left_child]);
  auto* const right = static_cast<Inner*>(parent->children[left_child + 1]);
  if (left->count + right->count > MergedMax(kInnerMax)) return;
  std::copy(right->scores, right->scores + right->count, left->scores + left->count);
  std::copy(right->members, right->members + right->count, left->members + left->count);
  std::copy(right->children, right->children + right->count, left->children + left->count);
  std::copy(right->sizes, right->sizes + right->count, left->sizes + left->count);
  left->count += right->count;
  parent->sizes[left_child] += parent->sizes[left_child + 1];
  Free(right);
  RemoveChild(path, level - 1, left_child + 1);
}

// Many a ZINCRBY moves a member by less than the way to its neighbour.
void RankedTree::Rescore(ScoredMember& member, double score) {
  Path path;
  Leaf* const leaf = Descend(member, path);
  const size_t at =
      ranked_tree::CountBefore(leaf->scores, leaf->members, leaf->count, BeforeMember{member});
  ABSL_HARDENING_ASSERT(at < leaf->count && leaf->members[at] == &member);
  // Between two elements of its leaf it may well stay where it is.
  if (at > 0 && at + 1 < leaf->count && leaf->scores[at - 1] < score &&
      score < leaf->scores[at + 1]) {
    leaf->scores[at] = score;
    member.score_ = score;
    return;
  }
  Erase(member);
  member.score_ = score;
  Insert(member);
}

size_t RankedTree::FreeLeaves(size_t budget) {
  size_t freed = 0;
  // Always the last leaf; inner nodes go when their last child has gone.
  for (; freed < budget && root_ != nullptr; ++freed) {
    Path path;
    Node* node = root_;
    for (path.length = 0; path.length < levels_; ++path.length) {
      auto* const inner = static_cast<Inner*>(node);
      path.steps[path.length] = {inner, inner->count - 1};
      node = inner->children[inner->count - 1];
    }
    Free(static_cast<Leaf*>(node));
    size_t level = path.length;
    while (level > 0 && --path.steps[level - 1].inner->count == 0) {
      Free(path.steps[--level].inner);
    }
    if (level == 0) root_ = nullptr;
  }
  return freed;
}

// --- auditing

std::string RankedTree::AuditNode(const Node* node, size_t levels, size_t& size) const {
  if (node->count == 0) return "an empty node in a ranked tree";
  if (levels == 0) {
    const auto* const leaf = static_cast<const Leaf*>(node);
    for (size_t i = 0; i < leaf->count; ++i) {
      if (leaf->scores[i] != leaf->members[i]->score()) return "a leaf with another score";
      if (i > 0 && !(*leaf->members[i - 1] < *leaf->members[i])) return "a leaf out of order";
    }
    if (leaf->next != nullptr && !(*leaf->members[leaf->count - 1] < *leaf->next->members[0])) {
      return "leaves out of order";
    }
    size += leaf->count;
    return {};
  }
  const auto* const inner = static_cast<const Inner*>(node);
  for (size_t i = 0; i < inner->count; ++i) {
    const Node* const child = inner->children[i];
    const ScoredMember* const low = levels == 1 ? static_cast<const Leaf*>(child)->members[0]
                                                : static_cast<const Inner*>(child)->members[0];
    if (inner->members[i] != low || inner->scores[i] != low->score())
      return "a wrong lowest element";
    size_t child_size = 0;
    std::string fault = AuditNode(child, levels - 1, child_size);
    if (!fault.empty()) return fault;
    if (child_size != inner->sizes[i]) return "a wrong size of a subtree";
    size += child_size;
  }
  return {};
}

std::string RankedTree::Audit() const {
  size_t size = 0;
  if (root_ != nullptr) {
    std::string fault = AuditNode(root_, levels_, size);
    if (!fault.empty()) return fault;
  }
  return size == size_ ? std::string() : "a ranked tree with another size";
}

}  // namespace sluice
