// See large_sorted_set.h.
#include "storage/types/large_sorted_set.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "storage/keyspace/segment_table_impl.h"

namespace sluice {

template class SegmentTableOf<ScoredMember>;

// --- reading

LargeSortedSet::LargeSortedSet(const LargeSortedSet& other) : LargeSortedSet(*other.hash_keys_) {
  // In the order of scores every insert is at the end of the tree, whose leaves fill up.
  for (Place at = other.At(0); !at.at_end(); at.Next()) {
    Insert(at.member().key(), at.member().score());
  }
}

LargeSortedSet::~LargeSortedSet() { FreeSome(SIZE_MAX); }

HashedKey LargeSortedSet::Hash(std::string_view name) const { return {name, HashName(name, key_)}; }

const ScoredMember* LargeSortedSet::Find(std::string_view name) const {
  return index_.Find(Hash(name));
}

RankRange LargeSortedSet::Between(const ScoreRange& range) const {
  if (range.empty()) return {};
  const auto below = [&](double score, const ScoredMember&) { return range.Below(score); };
  const auto not_above = [&](double score, const ScoredMember&) { return !range.Above(score); };
  return {tree_.Find(below).rank, tree_.Find(not_above).rank};
}

// Where scores differ the members are in no order that bounds could cut: then the result is any
// range, as in Redis.
RankRange LargeSortedSet::Between(const LexRange& range) const {
  if (range.empty()) return {};
  const auto below = [&](double, const ScoredMember& member) { return range.Below(member.key()); };
  const auto not_above = [&](double, const ScoredMember& member) {
    return !range.Above(member.key());
  };
  const size_t first = tree_.Find(below).rank;
  return {first, std::max(first, tree_.Find(not_above).rank)};
}

// --- changing

void LargeSortedSet::Insert(HashedKey name, double score) {
  ScoredMember& member = *ScoredMember::Make(name.bytes, score);
  memory_bytes_ += member.bytes();
  index_.Insert(member, name.hash);
  tree_.Insert(member);
}

bool LargeSortedSet::Add(std::span<const NewMember> members) {
  // Each step of a look-up is done for all of them before the next: their cache misses overlap.
  std::array<HashedKey, NewMember::kTogetherMax> names;
  assert(members.size() <= names.size());
  for (size_t i = 0; i < members.size(); ++i) {
    names[i] = Hash(members[i].name);
    index_.PrefetchSegment(names[i].hash);
  }
  const auto fetched = std::span(names).first(members.size());
  for (const HashedKey& name : fetched) index_.Prefetch(name.hash);
  for (const HashedKey& name : fetched) index_.PrefetchSlot(name.hash);
  for (size_t i = 0; i < members.size(); ++i) {
    if (index_.Find(names[i])) return false;
    Insert(names[i], members[i].score);
  }
  return true;
}

void LargeSortedSet::Rescore(const ScoredMember& member, double score) {
  tree_.Rescore(const_cast<ScoredMember&>(member), score);  // ours: only readers see it as const
}

// The tree first: it finds the element by score and name, which are gone with the member.
void LargeSortedSet::Erase(const ScoredMember& member) {
  tree_.Erase(member);
  index_.Erase(member, Hash(member.key()).hash);
  Free(const_cast<ScoredMember&>(member));
}

void LargeSortedSet::Free(ScoredMember& member) {
  memory_bytes_ -= member.bytes();
  ScoredMember::Free(&member);
}

size_t LargeSortedSet::FreeSome(size_t budget) {
  const size_t freed = index_.Drain(budget, [this](ScoredMember& member) { Free(member); });
  // The tree's leaves point at freed members, and are not looked into.
  return freed < budget ? freed + tree_.FreeLeaves(budget - freed) : freed;
}

std::string LargeSortedSet::Audit() const {
  if (std::string fault = index_.Audit(); !fault.empty()) return fault;
  if (std::string fault = tree_.Audit(); !fault.empty()) return fault;
  if (tree_.size() != index_.size()) return "order and index of a sorted set differ";
  size_t bytes = index_.table_bytes();
  for (Place at = At(0); !at.at_end(); at.Next()) {
    if (Find(at.member().key()) != &at.member()) return "an element that its name does not find";
    bytes += at.member().bytes();
  }
  return bytes == memory_bytes_ ? std::string() : "memory of a sorted set differs";
}

}  // namespace sluice
