// What walks a SegmentTable: visits, SCAN, random choice, draining, and the audit. Where an order
// is promised it is that of hashes, which the key alone decides; that of the tables inside depends
// on addresses.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cassert>

#include "storage/segment.h"
#include "storage/segment_table.h"

namespace sluice {
namespace segment {

// Segments that one call of Scan looks into, at least: bounds the work where they are nearly empty.
inline constexpr size_t kScanSegments = 16;

inline constexpr int kCursorBits = 48;
inline constexpr int kCursorShift = 64 - kCursorBits;

}  // namespace segment

using namespace segment;

template <typename Element>
void SegmentTableOf<Element>::ForEach(absl::FunctionRef<void(Element&)> visit) const {
  for (size_t place = drained_; place < directory_.size();) {
    const Segment& segment = *directory_[place];
    PrefetchElements(segment.slots);
    for (const PackedPointer slot : segment.slots) visit(*slot.As<Element>());
    place += PlacesOf(segment);
  }
}

template <typename Element>
uint64_t SegmentTableOf<Element>::Scan(uint64_t cursor, size_t count,
                                       absl::FunctionRef<void(const Element&)> visit) const {
  if (size_ == 0 || (cursor >> kCursorBits) != 0) return 0;
  size_t wanted = std::max<size_t>(count, 1);
  size_t segments_left = kScanSegments + count / kMergeBelow;
  size_t place = PlaceOf(cursor << kCursorShift);
  while (true) {
    const Segment& segment = *directory_[place];
    std::vector<Ranked> ranked = Rank(segment);
    std::erase_if(ranked,
                  [cursor](const Ranked& item) { return (item.hash >> kCursorShift) < cursor; });
    auto end = ranked.end();
    const bool whole = ranked.size() <= wanted;
    if (!whole) {
      std::nth_element(ranked.begin(), ranked.begin() + wanted - 1, ranked.end(), ByHash);
      cursor = (ranked[wanted - 1].hash >> kCursorShift) + 1;
      end = std::partition(ranked.begin() + wanted, ranked.end(), [cursor](const Ranked& item) {
        return (item.hash >> kCursorShift) < cursor;
      });
    }
    // Table order depends on addresses; this one on the key alone.
    std::sort(ranked.begin(), end, ByHash);
    for (auto it = ranked.begin(); it != end; ++it) visit(*it->element);
    if (!whole) return cursor >> kCursorBits == 0 ? cursor : 0;

    place = (place & ~(PlacesOf(segment) - 1)) + PlacesOf(segment);
    if (place == directory_.size()) return 0;
    cursor = FirstHashAt(place) >> kCursorShift;
    wanted -= ranked.size();
    if (wanted == 0 || --segments_left == 0) return cursor;
  }
}

template <typename Element>
uint64_t SegmentTableOf<Element>::Walk(uint64_t position, size_t budget,
                                       absl::FunctionRef<void(Element&)> visit) const {
  if (size_ == 0) return 0;
  size_t given = 0;
  size_t place = PlaceOf(position);
  do {
    const Segment& segment = *directory_[place];
    PrefetchElements(segment.slots);
    for (const PackedPointer slot : segment.slots) visit(*slot.As<Element>());
    given += segment.slots.size() + 1;  // an empty one costs something as well
    place = (place & ~(PlacesOf(segment) - 1)) + PlacesOf(segment);
    if (place == directory_.size()) return 0;
  } while (given < budget);
  return FirstHashAt(place);
}

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
    if (ticket >= regular) return NthExcess(ticket - regular);
    const size_t place = ticket / kSegmentMax;
    const Segment& segment = *directory_[place];
    const size_t n = (place & (PlacesOf(segment) - 1)) * kSegmentMax + ticket % kSegmentMax;
    if (n < std::min(segment.slots.size(), kSegmentMax)) return Nth(segment, n);
  }
  size_t ticket = random() % size_;
  for (size_t place = 0;; place += PlacesOf(*directory_[place])) {
    const Segment& segment = *directory_[place];
    if (ticket < segment.slots.size()) return Nth(segment, ticket);
    ticket -= segment.slots.size();
  }
}

// In an order that does not depend on addresses, for repeatability. Where n is chance any order
// does, and XXH3 takes a quarter of the time of the table's hash.
template <typename Element>
Element* SegmentTableOf<Element>::Nth(const Segment& segment, size_t n) {
  PrefetchElements(segment.slots);
  std::vector<Ranked> ranked;
  ranked.reserve(segment.slots.size());
  for (const PackedPointer slot : segment.slots) {
    const std::string_view key = slot.As<Element>()->key();
    ranked.push_back({XXH3_64bits(key.data(), key.size()), slot.As<Element>()});
  }
  std::nth_element(ranked.begin(), ranked.begin() + n, ranked.end(), ByHash);
  return ranked[n].element;
}

// The n-th of those that excess_ counts.
template <typename Element>
Element* SegmentTableOf<Element>::NthExcess(size_t n) const {
  for (size_t place = 0;; place += PlacesOf(*directory_[place])) {
    const Segment& segment = *directory_[place];
    const size_t excess = ExcessOf(segment);
    if (n < excess) return Nth(segment, kSegmentMax + n);
    n -= excess;
  }
}

template <typename Element>
size_t SegmentTableOf<Element>::Drain(size_t budget, absl::FunctionRef<void(Element&)> free) {
  size_t drained = 0;
  while (drained < budget && size_ > 0) {
    Segment* segment = directory_[drained_];
    auto it = segment->slots.begin();
    for (; it != segment->slots.end() && drained < budget; ++drained, --size_) {
      Element& element = *it->template As<Element>();
      segment->slots.erase(it++);
      free(element);
    }
    if (it != segment->slots.end()) break;
    drained_ += PlacesOf(*segment);
    DeleteSegment(segment);
  }
  return drained;
}

// --- audit

template <typename Element>
size_t SegmentTableOf<Element>::table_bytes() const {
  size_t bytes = directory_.size() * sizeof(Segment*);
  for (size_t place = drained_; place < directory_.size(); place += PlacesOf(*directory_[place]))
    bytes += sizeof(Segment) + SlotsBytes(directory_[place]->slots.capacity());
  return bytes;
}

template <typename Element>
std::string SegmentTableOf<Element>::Audit() const {
  if (directory_.empty()) return size_ == 0 ? "" : "a table without a directory has a size";
  if (directory_.size() != size_t{1} << depth_) return "the directory's size is not its depth's";
  if (directory_.size() > std::max(kPlacesFree, size_when_grown_))
    return "the directory has more places than there were elements";
  size_t count = 0, excess = 0;
  std::array<uint32_t, kDepthMax + 1> of_depth{};
  for (size_t place = 0; place < directory_.size();) {
    const Segment& segment = *directory_[place];
    if (segment.depth > depth_) return "a segment is deeper than the directory";
    const size_t places = PlacesOf(segment);
    if (place % places != 0) return "a segment's places are not aligned";
    for (size_t i = 0; i < places; ++i)
      if (directory_[place + i] != &segment) return "a segment's places are not contiguous";
    excess += ExcessOf(segment);
    for (const Ranked& item : Rank(segment)) {
      if (PlaceOf(item.hash) / places != place / places)
        return "an element lies in a wrong segment";
      if (Find({item.element->key(), item.hash}) != item.element) return "an element is not found";
    }
    ++of_depth[segment.depth];
    count += segment.slots.size();
    place += places;
  }
  if (of_depth != segments_of_depth_) return "the segments of a depth are miscounted";
  if (depth_ > 0 && of_depth[depth_] == 0) return "the directory is deeper than any segment";
  if (excess != excess_) return "what is beyond the limit of segments is miscounted";
  return count == size_ ? "" : "a table's size is wrong";
}

}  // namespace sluice
