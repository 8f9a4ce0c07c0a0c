// The body of segment_table.h: what instantiates the table includes this. Invariants: every
// directory place points to a segment; a segment of depth d fills an aligned run of 2^(depth_ - d)
// places; its entries' hashes begin with its d bits; after an insert it has at most kSplitAt
// entries in a table of at most kCapacityMax, unless it is as deep as a directory that may not
// grow.
#pragma once

#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/hashing/key_hash.h"
#include "storage/keyspace/segment_table.h"
#include "storage/keyspace/segment_table_draw_impl.h"
#include "storage/keyspace/segment_table_scan_impl.h"
#include "storage/keyspace/segment_table_segment_impl.h"

namespace sluice {
namespace segment {

// A table that is this empty is built anew: only where no buddy can be merged with.
inline constexpr size_t kSparse = 10;
// A table of at most so many slots (458 bytes) stays as it is.
inline constexpr size_t kSmallCapacity = 63;

}  // namespace segment

using namespace segment;

template <typename Element>
SegmentTableOf<Element>::~SegmentTableOf() {
  for (size_t place = drained_; place < directory_.size();) {
    Segment* segment = directory_[place];
    place += PlacesOf(*segment);
    DeleteSegment(segment);
  }
  *memory_ -= directory_.size() * sizeof(Segment*);
}

// The other has no directory and no bytes to account afterwards, as one that was just made.
template <typename Element>
SegmentTableOf<Element>::SegmentTableOf(SegmentTableOf&& other) noexcept
    : hash_key_(other.hash_key_),
      memory_(other.memory_),
      size_(std::exchange(other.size_, 0)),
      size_when_grown_(std::exchange(other.size_when_grown_, 0)),
      excess_(std::exchange(other.excess_, 0)),
      depth_(std::exchange(other.depth_, 0)),
      shift_(std::exchange(other.shift_, 63)),
      drained_(std::exchange(other.drained_, 0)),
      expected_(std::exchange(other.expected_, 0)),
      directory_(std::exchange(other.directory_, {})),
      segments_of_depth_(std::exchange(other.segments_of_depth_, {})) {}

// --- looking up

template <typename Element>
Element* SegmentTableOf<Element>::Find(HashedKey key) const {
  if (directory_.empty()) return nullptr;
  const Slots<Element>& slots = directory_[PlaceOf(key.hash)]->slots;
  const auto it = slots.find(key, key.hash);
  return it == slots.end() ? nullptr : it->template As<Element>();
}

template <typename Element>
bool SegmentTableOf<Element>::Holds(const Element& element, uint64_t hash) const {
  if (directory_.empty()) return false;
  return directory_[PlaceOf(hash)]->slots.contains(ThisOne{hash, &element});
}

template <typename Element>
void SegmentTableOf<Element>::PrefetchSegment(uint64_t hash) const {
  if (!directory_.empty()) __builtin_prefetch(directory_[PlaceOf(hash)]);
}

template <typename Element>
void SegmentTableOf<Element>::Prefetch(uint64_t hash) const {
  if (directory_.empty()) return;
  directory_[PlaceOf(hash)]->slots.prefetch(LikelyOne{hash});
}

// The likely element is found without a look at any: absl keeps seven bits of each hash beside the
// slots, and LikelyOne takes the first slot whose bits agree. A wrong guess costs a needless
// prefetch.
template <typename Element>
const PackedPointer* SegmentTableOf<Element>::PrefetchSlot(uint64_t hash) const {
  if (directory_.empty()) return nullptr;
  const Slots<Element>& slots = directory_[PlaceOf(hash)]->slots;
  const auto it = slots.find(LikelyOne{hash}, hash);
  if (it == slots.end()) return nullptr;
  const PackedPointer* const slot = &*it;
  __builtin_prefetch(slot);
  return slot;
}

template <typename Element>
const Element* SegmentTableOf<Element>::PrefetchElement(const PackedPointer& slot) {
  const auto* const element = slot.As<Element>();
  __builtin_prefetch(element);
  __builtin_prefetch(reinterpret_cast<const char*>(element) + kPrefetchedBytes);
  return element;
}

// --- changing

template <typename Element>
void SegmentTableOf<Element>::Insert(Element& element, uint64_t hash) {
  if (directory_.empty()) {
    directory_.assign(1, NewSegment(0));
    *memory_ += sizeof(Segment*);
  }
  Segment* segment = directory_[PlaceOf(hash)];
  // About to grow, which hashes every element: asks for all of them first (half the time when
  // cold).
  if (segment->slots.size() == UsableSlots(segment->slots.capacity()))
    PrefetchElements(segment->slots);
  Put(*segment, element, hash);
  ++size_;
  // A table full of tombstones may grow beyond the limit with fewer entries: it splits as well. The
  // halves of a split may be uneven: more than one can be necessary. A segment that could not be
  // split before is now, if the table has got larger meanwhile. Each split makes the segment
  // deeper, and CanGrowDirectory bounds the depth: so this ends.
  while ((segment->slots.size() > kSplitAt || segment->slots.capacity() > kCapacityMax) &&
         (segment->depth < depth_ || CanGrowDirectory())) {
    Split(segment, hash);
    segment = directory_[PlaceOf(hash)];
  }
}

template <typename Element>
void SegmentTableOf<Element>::Replace(const Element& from, Element& to, uint64_t hash) {
  Segment& segment = *directory_[PlaceOf(hash)];
  segment.stamp = 0;
  Slots<Element>& slots = segment.slots;
  const auto it = slots.find(ThisOne{hash, &from}, hash);
  assert(it != slots.end());
  // Hash and equality go by the key, and that is the same.
  const_cast<PackedPointer&>(*it).Set(&to, 0);
}

template <typename Element>
void SegmentTableOf<Element>::Erase(const Element& element, uint64_t hash) {
  Segment* segment = directory_[PlaceOf(hash)];
  const auto it = segment->slots.find(ThisOne{hash, &element}, hash);
  assert(it != segment->slots.end());
  segment->slots.erase(it);
  segment->stamp = 0;
  if (segment->slots.size() > kSplitAt) [[unlikely]]
    --excess_;
  --size_;
  // One of two buddies that could merge is below half of the bound: the others need not look.
  if (segment->slots.size() < kMergeBelow / 2) Shrink(segment, hash);
}

// --- filling

// How many of all that are expected fall into these places. Hashes are spread unevenly.
template <typename Element>
size_t SegmentTableOf<Element>::ExpectedIn(size_t first_place, size_t places) const {
  const auto all = static_cast<double>(directory_.size());
  const double part = PartBelow(static_cast<double>(first_place + places) / all) -
                      PartBelow(static_cast<double>(first_place) / all);
  return static_cast<size_t>(static_cast<double>(expected_) * part);
}

// The directory is as deep as its densest place needs it, at the upper end. Two places that need
// one segment together get one. The tables of the segments are made for their first elements.
template <typename Element>
void SegmentTableOf<Element>::Expect(size_t elements) {
  if (!directory_.empty() || elements <= kExpectedMax) return;
  expected_ = elements;
  int depth = 1;
  for (directory_.resize(2); depth < kDepthMax; directory_.resize(size_t{1} << ++depth)) {
    if (ExpectedIn(directory_.size() - 1, 1) <= kExpectedMax) break;
  }
  SetDepth(depth);
  *memory_ += directory_.size() * sizeof(Segment*);
  size_when_grown_ = elements;
  for (size_t place = 0; place < directory_.size(); place += 2) {
    const bool one = ExpectedIn(place, 2) <= kExpectedMax;
    directory_[place] = NewSegment(one ? depth - 1 : depth);
    directory_[place + 1] = one ? directory_[place] : NewSegment(depth);
  }
}

// Buddies stand beside each other, so one pass finds all that can be merged.
template <typename Element>
void SegmentTableOf<Element>::ExpectNoMore() {
  if (std::exchange(expected_, 0) == 0) return;
  for (size_t place = 0; place < directory_.size();) {
    Segment* segment = directory_[place];
    while (MergeWithBuddy(segment, FirstHashAt(place))) {
    }
    const size_t places = PlacesOf(*segment);
    place = (place & ~(places - 1)) + places;
  }
  ShrinkDirectory();
}

// --- segments

// A segment that is d bits less deep than the directory stands in 2^d places of it.
template <typename Element>
size_t SegmentTableOf<Element>::PlacesOf(const Segment& segment) const {
  return size_t{1} << (depth_ - segment.depth);
}

// The inverse of PlaceOf, in two shifts as well.
template <typename Element>
uint64_t SegmentTableOf<Element>::FirstHashAt(size_t place) const {
  return (static_cast<uint64_t>(place) << shift_) << 1;
}

// Where the segment that this hash falls into ends: the first hash behind it, 0 behind the last.
template <typename Element>
uint64_t SegmentTableOf<Element>::EndOf(const Segment& segment, uint64_t hash) const {
  const size_t places = PlacesOf(segment);
  const size_t next = (PlaceOf(hash) & ~(places - 1)) + places;
  return next == directory_.size() ? 0 : FirstHashAt(next);
}

template <typename Element>
void SegmentTableOf<Element>::SetDepth(int depth) {
  depth_ = depth;
  shift_ = 63 - depth;
}

template <typename Element>
bool SegmentTableOf<Element>::CanGrowDirectory() const {
  return depth_ < kDepthMax && 2 * directory_.size() <= std::max(kPlacesFree, size_);
}

// More than a segment has that could be split.
template <typename Element>
size_t SegmentTableOf<Element>::ExcessOf(const Segment& segment) {
  return segment.slots.size() - std::min(segment.slots.size(), kSegmentMax);
}

template <typename Element>
typename SegmentTableOf<Element>::Segment* SegmentTableOf<Element>::NewSegment(int depth) {
  ++segments_of_depth_[depth];
  *memory_ += sizeof(Segment);
  return new Segment(*hash_key_, depth);
}

template <typename Element>
void SegmentTableOf<Element>::DeleteSegment(Segment* segment) {
  --segments_of_depth_[segment->depth];
  excess_ -= ExcessOf(*segment);
  *memory_ -= sizeof(Segment) + SlotsBytes(segment->slots.capacity());
  delete segment;
}

// The way into a segment. The caller knows that the element is absent, so no key is compared;
// excess_ and `memory` follow.
template <typename Element>
void SegmentTableOf<Element>::Put(Segment& segment, Element& element, uint64_t hash) {
  if (expected_ > 0 && segment.slots.capacity() == 0) {
    const size_t places = PlacesOf(segment);
    Reserve(segment, RoomAfterSplit(ExpectedIn(PlaceOf(hash) & ~(places - 1), places)));
  }
  segment.stamp = 0;
  const size_t capacity = segment.slots.capacity();
  Emplace(segment, element, hash);
  if (segment.slots.size() > kSegmentMax) [[unlikely]]
    ++excess_;
  if (segment.slots.capacity() != capacity)
    *memory_ += SlotsBytes(segment.slots.capacity()) - SlotsBytes(capacity);
}

// Put without its book-keeping.
template <typename Element>
void SegmentTableOf<Element>::Emplace(Segment& segment, Element& element, uint64_t hash) {
  segment.slots.lazy_emplace(
      NewOne{hash},
      [&element](const typename Slots<Element>::constructor& construct) { construct(&element); });
}

// Makes the table once for all that is about to be put in, and accounts it.
template <typename Element>
void SegmentTableOf<Element>::Reserve(Segment& segment, size_t count) {
  *memory_ -= SlotsBytes(segment.slots.capacity());
  segment.slots.reserve(count);
  *memory_ += SlotsBytes(segment.slots.capacity());
}

// The entries with their hashes, which means touching every one: all are asked for before the first
// is needed, so that a cold segment costs 10 µs instead of 40.
template <typename Element>
std::vector<typename SegmentTableOf<Element>::Ranked> SegmentTableOf<Element>::Rank(
    const Segment& segment) const {
  std::vector<Ranked> ranked(segment.slots.size());
  Ranked* out = ranked.data();
  for (const PackedPointer slot : segment.slots) {
    __builtin_prefetch(slot.As<Element>());
    (out++)->element = slot.As<Element>();
  }
  for (Ranked& item : ranked) item.hash = HashName(item.element->key(), *hash_key_);
  return ranked;
}

// Both halves are built anew: erasing from the old table would leave tombstones in it.
template <typename Element>
void SegmentTableOf<Element>::Split(Segment* segment, uint64_t hash) {
  // First: it changes which places are this segment's.
  if (segment->depth == depth_) GrowDirectory();
  const int depth = segment->depth + 1;
  const size_t places = PlacesOf(*segment);
  const size_t first = PlaceOf(hash) & ~(places - 1);
  const uint64_t bit = uint64_t{1} << (64 - depth);

  const std::vector<Ranked> ranked = Rank(*segment);
  const size_t highs = std::count_if(ranked.begin(), ranked.end(),
                                     [bit](const Ranked& item) { return (item.hash & bit) != 0; });
  Segment* low = NewSegment(depth);
  Segment* high = NewSegment(depth);
  Reserve(*low, RoomAfterSplit(ranked.size() - highs));
  Reserve(*high, RoomAfterSplit(highs));
  for (const Ranked& item : ranked)
    Emplace((item.hash & bit) != 0 ? *high : *low, *item.element, item.hash);
  excess_ += ExcessOf(*low) + ExcessOf(*high);

  // The run of places is aligned, so its lower half has the new bit clear.
  for (size_t i = 0; i < places; ++i) directory_[first + i] = i < places / 2 ? low : high;
  DeleteSegment(segment);
}

// Every place becomes two neighbours that point to the same segment. This is the one step whose
// cost grows with the table: 8 bytes for each of some 150 elements.
template <typename Element>
void SegmentTableOf<Element>::GrowDirectory() {
  std::vector<Segment*> doubled(directory_.size() * 2);
  for (size_t i = 0; i < doubled.size(); ++i) doubled[i] = directory_[i / 2];
  *memory_ += directory_.size() * sizeof(Segment*);
  directory_ = std::move(doubled);
  SetDepth(depth_ + 1);
  size_when_grown_ = size_;
}

// To the depth of the deepest segment, which may be several halvings at once. The first place of
// each run tells what the whole run points to.
template <typename Element>
void SegmentTableOf<Element>::ShrinkDirectory() {
  int deepest = depth_;
  while (deepest > 0 && segments_of_depth_[deepest] == 0) --deepest;
  if (deepest == depth_) return;
  const size_t step = size_t{1} << (depth_ - deepest);
  std::vector<Segment*> shrunk(directory_.size() / step);
  for (size_t i = 0; i < shrunk.size(); ++i) shrunk[i] = directory_[i * step];
  *memory_ -= (directory_.size() - shrunk.size()) * sizeof(Segment*);
  directory_ = std::move(shrunk);
  SetDepth(deepest);
}

// A merged segment may have a buddy as sparse as itself, so merging goes on while it can. Where no
// buddy fits, a table that is nearly empty is built anew in a smaller block.
template <typename Element>
void SegmentTableOf<Element>::Shrink(Segment* segment, uint64_t hash) {
  bool merged = false;
  while (MergeWithBuddy(segment, hash)) merged = true;
  if (merged) return ShrinkDirectory();
  const size_t capacity = segment->slots.capacity();
  if (capacity > kSmallCapacity && segment->slots.size() < capacity / kSparse) Rebuild(*segment);
}

// On success `segment` is the merged one. The buddy of a segment differs from it in the last of its
// bits alone: it stands at the place with that bit turned. A buddy that has been split further is
// deeper, and not merged with.
template <typename Element>
bool SegmentTableOf<Element>::MergeWithBuddy(Segment*& segment, uint64_t hash) {
  if (segment->depth == 0) return false;
  const size_t places = PlacesOf(*segment);
  const size_t first = PlaceOf(hash) & ~(places - 1);
  Segment* buddy = directory_[first ^ places];
  const size_t count = segment->slots.size() + buddy->slots.size();
  if (buddy->depth != segment->depth || count >= kMergeBelow) return false;

  Segment* merged = NewSegment(segment->depth - 1);
  Reserve(*merged, count);
  for (Segment* half : {segment, buddy}) {
    for (const Ranked& item : Rank(*half)) Put(*merged, *item.element, item.hash);
    DeleteSegment(half);
  }
  const size_t merged_first = first & ~places;
  for (size_t i = 0; i < 2 * places; ++i) directory_[merged_first + i] = merged;
  segment = merged;
  return true;
}

// absl's tables never shrink by themselves; this also clears the tombstones of erased slots.
template <typename Element>
void SegmentTableOf<Element>::Rebuild(Segment& segment) {
  const std::vector<Ranked> ranked = Rank(segment);
  *memory_ -= SlotsBytes(segment.slots.capacity());
  segment.slots = Slots<Element>(0, SlotHash<Element>{hash_key_});
  Reserve(segment, ranked.size());
  for (const Ranked& item : ranked) Put(segment, *item.element, item.hash);
}

}  // namespace sluice
