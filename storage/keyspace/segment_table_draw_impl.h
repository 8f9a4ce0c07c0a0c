// Choosing an element of a SegmentTable at random, in constant time and so that the key and
// the generator alone decide which (what a table's order depends on are addresses). absl keeps the
// lowest 7 bits of a hash beside each slot: the elements that share them, some three in a full
// segment, are found without a look at any element, and only those few are put into an order.
#pragma once

#include <algorithm>

#include "storage/keyspace/segment_table.h"
#include "storage/keyspace/segment_table_segment_impl.h"

namespace sluice {
namespace segment {

inline constexpr int kLikenessBits = 7;  // absl's H2
inline constexpr size_t kLikenesses = size_t{1} << kLikenessBits;
// So few are all put into an order.
inline constexpr size_t kRankedAtOnce = 16;

// The elements whose hashes have these lowest bits. absl looks at a group of slots around the one
// that a hash leads to: hashes a group's width apart lead through all of them.
template <typename Element>
void GatherLike(const Slots<Element>& slots, uint64_t likeness, Gathered& gathered) {
  constexpr size_t kGroup = absl::container_internal::Group::kWidth;
  gathered.clear();
  for (size_t slot = 0; slot <= slots.capacity(); slot += kGroup) {
    const uint64_t hash = slot << kLikenessBits | likeness;
    slots.contains(AllLike{hash, &gathered});
  }
  // A full group leads to the next one, which is met again.
  if (gathered.size() < 2) return;
  std::sort(gathered.begin(), gathered.end());
  gathered.erase(std::unique(gathered.begin(), gathered.end()), gathered.end());
}

}  // namespace segment

using namespace segment;

// Rejection sampling: every place has kSegmentMax tickets, of which a segment's elements take one
// each. Elements beyond that (of segments that could not be split) have tickets of their own.
// Mostly two or three tries; a table that is mostly empty segments is counted through instead.
template <typename Element>
Element* SegmentTableOf<Element>::RandomEntry(Random& random) const {
  if (size_ == 0) return nullptr;
  const size_t regular = directory_.size() * kSegmentMax;
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const size_t ticket = random() % (regular + excess_);
    if (ticket >= regular) return DrawExcess(ticket - regular, random);
    const size_t place = ticket / kSegmentMax;
    const Segment& segment = *directory_[place];
    // Which of the segment's own tickets it is: a shallow segment has those of all its places.
    const size_t n = (place & (PlacesOf(segment) - 1)) * kSegmentMax + ticket % kSegmentMax;
    if (n < std::min(segment.slots.size(), kSegmentMax)) return DrawFrom(segment, random);
  }
  // So many misses mean that segments are nearly empty: one walk over the directory is cheaper.
  size_t ticket = random() % size_;
  for (size_t place = 0;; place += PlacesOf(*directory_[place])) {
    const Segment& segment = *directory_[place];
    if (ticket < segment.slots.size()) return DrawFrom(segment, random);
    ticket -= segment.slots.size();
  }
}

// The segment to which the n-th of those that excess_ counts belongs gives any of its elements:
// with its regular tickets that makes as many chances as it has elements.
template <typename Element>
Element* SegmentTableOf<Element>::DrawExcess(size_t n, Random& random) const {
  for (size_t place = 0;; place += PlacesOf(*directory_[place])) {
    const Segment& segment = *directory_[place];
    const size_t excess = ExcessOf(segment);
    if (n < excess) return DrawFrom(segment, random);
    n -= excess;
  }
}

// The same once more: a likeness at random, accepted as often as elements have it. One element
// in 25 shares its own with more than `most`: it comes a fifth less often than others, and a draw
// takes two tries instead of four. The n-th element is that by hash.
template <typename Element>
Element* SegmentTableOf<Element>::DrawFrom(const Segment& segment, Random& random) const {
  const size_t size = segment.slots.size();
  const auto nth = [](auto& ranked, size_t n) {
    std::nth_element(ranked.begin(), ranked.begin() + n, ranked.end(), ByHash);
    return ranked[n].element;
  };
  if (size <= kRankedAtOnce) {
    std::vector<Ranked> ranked = Rank(segment);
    return nth(ranked, random() % size);
  }
  constexpr size_t kLineBytes = 64;
  for (size_t slot = 0; slot <= segment.slots.capacity(); slot += kLineBytes) {
    segment.slots.prefetch(LikelyOne{slot << kLikenessBits});
  }
  const size_t most = 3 + 3 * size / (2 * kLikenesses);
  Gathered gathered;
  while (true) {
    const uint64_t chance = random();
    GatherLike<Element>(segment.slots, chance % kLikenesses, gathered);
    const size_t ticket = (chance >> 32) % std::max(most, gathered.size());
    if (ticket >= gathered.size()) continue;
    if (gathered.size() == 1) return gathered.front()->As<Element>();
    absl::InlinedVector<Ranked, 32> ranked;
    for (const PackedPointer* const slot : gathered) {
      ranked.push_back({0, slot->As<Element>()});
      __builtin_prefetch(ranked.back().element);
    }
    for (Ranked& item : ranked) item.hash = HashName(item.element->key(), *hash_key_);
    return nth(ranked, ticket);
  }
}

}  // namespace sluice
