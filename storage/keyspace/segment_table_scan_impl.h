// What walks a SegmentTable: visits, SCAN, draining, and the audit. Where an order is promised it
// is that of hashes, which the key alone decides; that of the tables inside depends on addresses.
// A key that orders visits has them follow the hashes as well.
//
// SCAN's cursor is a place in the order of hashes: all before it have been given, all from it on
// are still to come, whatever is split, merged or swapped meanwhile. It is written with its bits
// reversed, so that a place which few leading bits describe is a small number, as in Redis. A call
// stops at the place with the fewest bits that suits its COUNT, so the cursors of a table of n
// elements are below 4n, or twice the directory's places where elements have been deleted; only
// hashes that begin alike, beyond all chance, make them longer.
//
// An example: four segments of depth 2 with 300 elements each, and COUNT 200. Each call gives a
// whole segment, as that is less than twice its COUNT:
//
//   SCAN 0    from place 0000...   stops at 0100...   answers 2, which is 01 reversed
//   SCAN 2    from place 0100...   stops at 1000...   answers 1
//   SCAN 1    from place 1000...   stops at 1100...   answers 3
//   SCAN 3    from place 1100...   comes to the end   answers 0
//
// What does a cursor tell? Where some names stand in the order: leading bits of their hashes. Any
// cursor may be sent, so with some calls a client can learn the first 40 bits of each. Those are
// outputs of SipHash under a key: they say nothing of the key, nothing of the hash of any other
// name, and nothing of the 24 bits that follow, of which the lowest 16 decide where a segment's
// table keeps the element. To gather names that begin alike a client has to try names, 2^20 of them
// for each that shares 20 bits; what it gets for that the directory's bound keeps small.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>

#include "storage/keyspace/segment_table.h"
#include "storage/keyspace/segment_table_segment_impl.h"

namespace sluice {
namespace segment {

// Segments that one call of Scan looks into, at least: bounds the work where they are nearly empty.
inline constexpr size_t kScanSegments = 16;

// Cursors are below 2^40: enough for 2^38 elements. Further bits of one that a client sends are not
// looked at, as Redis looks at no more than its table needs.
inline constexpr int kCursorBits = 40;
// So many elements more than twice its COUNT a call gives, if that keeps cursors short. Chance puts
// no more than a dozen where this is asked.
inline constexpr size_t kScanCrowd = 64;

// Swaps neighbouring bits, pairs and halves of bytes, then the bytes.
constexpr uint64_t ReverseBits(uint64_t bits) {
  constexpr uint64_t kMasks[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f};
  for (int i = 0; i < 3; ++i) {
    const int step = 1 << i;
    bits = ((bits >> step) & kMasks[i]) | ((bits & kMasks[i]) << step);
  }
  return __builtin_bswap64(bits);
}

// Of any number a client may send: bits beyond kCursorBits are cut off, the rest names a place.
constexpr uint64_t PlaceOfCursor(uint64_t cursor) {
  return ReverseBits(cursor & ((uint64_t{1} << kCursorBits) - 1));
}

// How many leading bits describe a place. The end of all, behind the last hash, is 0 as well.
constexpr int BitsOf(uint64_t place) { return place == 0 ? 0 : 64 - std::countr_zero(place); }

// The next place behind `low` with so many bits.
constexpr uint64_t NextPlace(uint64_t low, int bits) {
  return ((low >> (64 - bits)) + 1) << (64 - bits);
}

// The place with the fewest bits that is behind `low` and not behind `high`; if they are equal, the
// next one.
constexpr uint64_t ShortestPlace(uint64_t low, uint64_t high) {
  if (low == high) return low + 1;
  return high & ~uint64_t{0} << (63 - std::countl_zero(low ^ high));
}

// Where a call stops inside a segment: behind the hash `low` and not behind `high`, if a place of
// so many bits lies between them; else at the next one of so many, unless that is behind `crowd`:
// then at a longer one.
constexpr uint64_t StopPlace(uint64_t low, uint64_t high, uint64_t crowd, int bits) {
  const uint64_t place = ShortestPlace(low, high);
  if (BitsOf(place) <= bits) return place;
  const uint64_t next = NextPlace(low, bits);
  if (next - 1 <= crowd) return next;
  const uint64_t longer = ShortestPlace(low, crowd);
  return BitsOf(longer) <= kCursorBits ? longer : NextPlace(low, kCursorBits);
}

}  // namespace segment

using namespace segment;

// Repeatable runs pay for a sort of each segment; others ask for all elements first and take them
// as absl has them.
template <typename Element>
void SegmentTableOf<Element>::Visit(const Segment& segment,
                                    absl::FunctionRef<void(Element&)> visit) const {
  if (hash_key_->orders_visits) [[unlikely]] {
    std::vector<Ranked> ranked = Rank(segment);
    std::sort(ranked.begin(), ranked.end(), ByHash);
    for (const Ranked& item : ranked) visit(*item.element);
    return;
  }
  PrefetchElements(segment.slots);
  for (const PackedPointer slot : segment.slots) visit(*slot.As<Element>());
}

template <typename Element>
void SegmentTableOf<Element>::ForEach(absl::FunctionRef<void(Element&)> visit) const {
  for (size_t place = drained_; place < directory_.size();) {
    const Segment& segment = *directory_[place];
    Visit(segment, visit);
    place += PlacesOf(segment);
  }
}

// The first segment may have been given in part: what lies before the cursor's place is left out. A
// call ends when it has given its COUNT, has seen its share of segments, or comes to the end of
// all.
template <typename Element>
uint64_t SegmentTableOf<Element>::Scan(uint64_t cursor, size_t count,
                                       absl::FunctionRef<void(const Element&)> visit) const {
  if (size_ == 0) return 0;
  const size_t wanted = std::clamp<size_t>(count, 1, size_);
  size_t segments_left = kScanSegments + wanted / kMergeBelow;
  size_t left = wanted;
  uint64_t place = PlaceOfCursor(cursor);
  while (true) {
    const Segment& segment = *directory_[PlaceOf(place)];
    const uint64_t end = EndOf(segment, place);
    std::vector<Ranked> ranked = Rank(segment);
    std::erase_if(ranked, [place](const Ranked& item) { return item.hash < place; });
    const uint64_t stop = StopIn(segment, ranked, left, wanted, end);
    const auto given = std::partition(ranked.begin(), ranked.end(), [stop](const Ranked& item) {
      return item.hash <= stop - 1;  // 0 is the end of all
    });
    std::sort(ranked.begin(), given, ByHash);
    for (auto it = ranked.begin(); it != given; ++it) visit(*it->element);

    place = stop;
    left -= std::min<size_t>(left, given - ranked.begin());
    if (place == 0 || left == 0 || --segments_left == 0) return ReverseBits(place);
  }
}

// Where a call stops that has still `left` of `wanted` elements to give, of a segment up to `end`:
// at its end, or so that it gives between `wanted` and twice that in all. Puts `ranked` in part in
// order.
// Selection, not sorting: three nth_element over ever smaller parts are O(n).
template <typename Element>
uint64_t SegmentTableOf<Element>::StopIn(const Segment& segment, std::vector<Ranked>& ranked,
                                         size_t left, size_t wanted, uint64_t end) const {
  const auto nth = [&ranked](size_t n, size_t below) {
    std::nth_element(ranked.begin(), ranked.begin() + n, ranked.begin() + below, ByHash);
    return ranked[n].hash;
  };
  if (ranked.size() <= left + wanted) return end;
  const size_t crowded = left + wanted + kScanCrowd;
  const bool may_crowd = crowded < ranked.size();
  const uint64_t crowd = may_crowd ? nth(crowded, ranked.size()) : UINT64_MAX;
  const uint64_t high = nth(left + wanted, may_crowd ? crowded : ranked.size());
  const uint64_t low = nth(left - 1, left + wanted);
  const int bits = std::max(static_cast<int>(std::bit_width(size_)), segment.depth) + 1;
  return StopPlace(low, high, crowd, std::min(bits, kCursorBits));
}

// Unlike Scan it never stops inside a segment, so a position is the first hash of some segment
// then. If that has merged since, the whole merged segment is given: some elements come twice.
template <typename Element>
uint64_t SegmentTableOf<Element>::Walk(uint64_t position, size_t budget,
                                       absl::FunctionRef<void(Element&)> visit) const {
  if (size_ == 0) return 0;
  size_t given = 0;
  size_t place = PlaceOf(position);
  do {
    const Segment& segment = *directory_[place];
    Visit(segment, visit);
    given += segment.slots.size() + 1;  // an empty one costs something as well
    place = (place & ~(PlacesOf(segment) - 1)) + PlacesOf(segment);
    if (place == directory_.size()) return 0;
  } while (given < budget);
  return FirstHashAt(place);
}

// The slot goes before its element is freed, so the table never holds a dangling pointer.
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
