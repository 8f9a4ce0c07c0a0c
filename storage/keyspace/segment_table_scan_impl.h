// Walks through a SegmentTable: visits, SCAN, draining, and the audit. Where an order is promised
// it is that of hashes, which the key alone decides; that of the tables inside depends on
// addresses. A key that orders visits has them follow the hashes as well. How SCAN's cursors and
// pages are made is told in scan_order.h.
#pragma once

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "storage/keyspace/scan_order.h"
#include "storage/keyspace/segment_table.h"
#include "storage/keyspace/segment_table_segment_impl.h"

namespace sluice {
namespace segment {

// Segments that one call of Scan looks into, at least: bounds the work where they are nearly empty.
inline constexpr size_t kScanSegments = 16;

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
                                       absl::FunctionRef<void(const Element&)> visit,
                                       ScanCache* cache) const {
  if (size_ == 0) return 0;
  const size_t wanted = std::clamp<size_t>(count, 1, size_);
  const size_t slack = PageSlack(wanted);
  // One that wants all gets all, however sparse the segments are: random choices rely on it.
  size_t segments_left = count >= size_ ? SIZE_MAX : kScanSegments + wanted / kMergeBelow;
  size_t left = wanted;
  uint64_t place = PlaceOfCursor(cursor);
  while (true) {
    const Segment& segment = *directory_[PlaceOf(place)];
    const uint64_t end = EndOf(segment, place);
    const auto known = cache ? cache->Find(&segment, segment.stamp) : std::span<const ScanItem>();
    const Page page = known.empty() ? GiveSome(segment, place, end, left, slack, visit, cache)
                                    : GiveKnown(known, place, end, left, slack, visit);
    place = page.stop;
    left -= std::min(left, page.given);
    if (place == 0 || left == 0 || --segments_left == 0) return ReverseBits(place);
  }
}

// Gives from a segment whose hashes have to be made. If the page stops inside, the next one is
// likely to follow.
template <typename Element>
auto SegmentTableOf<Element>::GiveSome(const Segment& segment, uint64_t place, uint64_t end,
                                       size_t left, size_t slack,
                                       absl::FunctionRef<void(const Element&)> visit,
                                       ScanCache* cache) const -> Page {
  std::vector<Ranked> ranked = Rank(segment);
  const auto begin = std::partition(ranked.begin(), ranked.end(),
                                    [place](const Ranked& item) { return item.hash < place; });
  const uint64_t stop = StopAmong(std::span(begin, ranked.end()), left, slack, end);
  const auto given = std::partition(begin, ranked.end(), [stop](const Ranked& item) {
    return item.hash <= stop - 1;  // 0 is the end of all
  });
  std::sort(begin, given, ByHash);
  if (cache && stop != end) segment.stamp = cache->Keep(&segment, std::span(std::as_const(ranked)));
  for (auto it = begin; it != given; ++it) visit(*it->element);
  return {stop, static_cast<size_t>(given - begin)};
}

// The same of one whose elements are known in order.
template <typename Element>
auto SegmentTableOf<Element>::GiveKnown(std::span<const ScanItem> known, uint64_t place,
                                        uint64_t end, size_t left, size_t slack,
                                        absl::FunctionRef<void(const Element&)> visit) -> Page {
  const auto begin = std::ranges::lower_bound(known, place, {}, &ScanItem::hash);
  const std::span<const ScanItem> rest(begin, known.end());
  const uint64_t stop =
      rest.size() <= left + slack ? end : StopBetween(rest[left - 1].hash, rest[left + slack].hash);
  size_t given = 0;
  for (; given < rest.size() && rest[given].hash <= stop - 1; ++given)
    visit(*static_cast<const Element*>(rest[given].element));
  return {stop, given};
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
