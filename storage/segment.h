// What a segment of a SegmentTable is made of: an absl flat hash set of packed entry pointers, and
// the probes that look into it with a hash known already. Only the table's own files include this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "storage/key_hash.h"
#include "storage/packed_pointer.h"
#include "storage/segment_table.h"

namespace sluice {
namespace segment {

// absl's tables have 2^n - 1 slots, of which 7 in 8 may be used: 448 of 511.
constexpr size_t kCapacityMax = 511;
constexpr size_t kSplitAt = 447;
// Buddies merge below a quarter of that together: far from where the result would split again.
constexpr size_t kMergeBelow = 112;

// What can be looked for in a segment besides a HashedKey: a known entry, any entry that looks like
// the hash (it is prefetched, not compared), and nothing at all (a new entry, known to be absent).
struct ThisEntry {
  uint64_t hash;
  const Entry* entry;
};
struct LikelyEntry {
  uint64_t hash;
};
struct NewEntry {
  uint64_t hash;
};

struct SlotHash {
  using is_transparent = void;
  uint64_t seed = 0;
  size_t operator()(PackedPointer slot) const { return HashKey(slot.As<Entry>()->key(), seed); }
  template <typename Probe>
  size_t operator()(const Probe& probe) const {
    return probe.hash;
  }
};

struct SlotEqual {
  using is_transparent = void;
  bool operator()(PackedPointer slot, const HashedKey& key) const {
    return slot.As<Entry>()->key() == key.bytes;
  }
  bool operator()(PackedPointer slot, const ThisEntry& probe) const {
    return slot.As<Entry>() == probe.entry;
  }
  bool operator()(PackedPointer slot, const LikelyEntry&) const {
    __builtin_prefetch(slot.As<Entry>());
    return true;
  }
  bool operator()(PackedPointer, const NewEntry&) const { return false; }
  bool operator()(PackedPointer a, PackedPointer b) const { return a == b; }
};

using Slots = absl::flat_hash_set<PackedPointer, SlotHash, SlotEqual>;

inline size_t UsableSlots(size_t capacity) { return capacity - capacity / 8; }

inline void PrefetchEntries(const Slots& slots) {
  for (const PackedPointer slot : slots) __builtin_prefetch(slot.As<Entry>());
}

// What absl allocates: a byte a slot, a sentinel, 15 cloned bytes, the slots.
inline size_t SlotsBytes(size_t capacity) {
  return capacity == 0 ? 0 : ((capacity + 16 + 1) & ~size_t{1}) + capacity * sizeof(PackedPointer);
}

}  // namespace segment

struct SegmentTable::Segment {
  Segment(uint64_t seed, int depth) : slots(0, segment::SlotHash{seed}), depth(depth) {}
  segment::Slots slots;
  int depth;
};

}  // namespace sluice
