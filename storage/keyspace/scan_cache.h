// ScanCache: the hashes of the segments that SCAN and its kin have just been in, in order. A page
// of ten out of a segment of 300 elements would else hash all 300 of them, page after page.
//
// The hashes of a segment hold as long as the segment's stamp is the one that the cache gave:
// whatever changes a segment sets its stamp to 0, and no stamp is given twice. One a keyspace; it
// knows some few segments, for walks at the same time, and costs at most 30 KB.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

class ScanCache {
 public:
  static constexpr size_t kElementsMax = 448;  // of one segment: more are not kept

  struct Item {
    uint64_t hash;
    void* element;
  };

  // In the order of hashes; empty: not known. Valid until the next call.
  std::span<const Item> Find(const void* segment, uint32_t stamp) {
    if (stamp == 0) return {};
    for (Known& known : known_) {
      if (known.segment != segment || known.stamp != stamp) continue;
      if (!known.is_sorted) {
        std::sort(known.items.begin(), known.items.end(),
                  [](const Item& a, const Item& b) { return a.hash < b.hash; });
        known.is_sorted = true;
      }
      return known.items;
    }
    return {};
  }

  // The segment has these elements, in any order. Returns the stamp that it is to have. They are
  // put in order when they are asked for, which not every page is followed by.
  template <typename Ranked>
  uint32_t Keep(const void* segment, std::span<const Ranked> ranked) {
    if (ranked.size() > kElementsMax) return 0;
    Known& known = known_[next_++ % known_.size()];
    last_stamp_ += last_stamp_ == UINT32_MAX ? 2 : 1;  // never 0
    known = {segment, last_stamp_, false, std::move(known.items)};
    known.items.clear();
    for (const Ranked& item : ranked) known.items.push_back({item.hash, item.element});
    return last_stamp_;
  }

 private:
  struct Known {
    const void* segment = nullptr;
    uint32_t stamp = 0;
    bool is_sorted = false;
    std::vector<Item> items;
  };

  std::array<Known, 4> known_;
  size_t next_ = 0;
  uint32_t last_stamp_ = 0;
};

}  // namespace sluice
