// A segment of a SegmentTable: an absl flat hash set of packed pointers, and the probes that look
// into it with a hash known already. Only the table's own files include this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "protocol/text/same_bytes.h"
#include "storage/hashing/key_hash.h"
#include "storage/keyspace/segment_table.h"
#include "storage/memory/block_size.h"
#include "storage/memory/packed_pointer.h"

namespace sluice {
namespace segment {

// absl's tables have 2^n - 1 slots, of which 7 in 8 may be used: 448 of 511.
inline constexpr size_t kCapacityMax = 511;
inline constexpr size_t kSplitAt = 447;
inline constexpr size_t kSegmentMax = kSplitAt + 1;  // while an insert decides about splitting
// So many places a directory may have however few elements there are: half a KB.
inline constexpr size_t kPlacesFree = 64;
// A segment that is made for so many elements gets more than it can hold once in some hundred
// times.
inline constexpr size_t kExpectedMax = 400;
// Buddies merge below a quarter of that together: far from where the result would split again.
inline constexpr size_t kMergeBelow = 112;

// Probes that look in a segment for something else than a HashedKey: a known element, any that
// looks like the hash (its slot is not looked at), nothing at all (a new one, known to be absent),
// and nothing while all that look like the hash on the way are gathered. Each carries its hash,
// which SlotHash only hands on.
struct ThisOne {
  uint64_t hash;
  const void* element;
};
struct LikelyOne {
  uint64_t hash;
};
struct NewOne {
  uint64_t hash;
};
using Gathered = absl::InlinedVector<const PackedPointer*, 32>;  // their slots, not looked at yet
struct AllLike {
  uint64_t hash;
  Gathered* into;  // some may come twice
};

// absl calls this with a slot when a table grows, and must find the hash anew; a probe brings it.
template <typename Element>
struct SlotHash {
  using is_transparent = void;
  const typename HashKeyOf<Element>::Type* key;
  size_t operator()(PackedPointer slot) const { return HashName(slot.As<Element>()->key(), *key); }
  template <typename Probe>
  size_t operator()(const Probe& probe) const {
    return probe.hash;
  }
};

// Called for slots whose seven bits agree with the probe's. Only a HashedKey makes it look at an
// element.
template <typename Element>
struct SlotEqual {
  using is_transparent = void;
  bool operator()(PackedPointer slot, const HashedKey& key) const {
    return SameBytes(slot.As<Element>()->key(), key.bytes);
  }
  bool operator()(PackedPointer slot, const ThisOne& probe) const {
    return slot.As<Element>() == probe.element;
  }
  bool operator()(PackedPointer, const LikelyOne&) const { return true; }
  bool operator()(PackedPointer, const NewOne&) const { return false; }
  bool operator()(const PackedPointer& slot, const AllLike& probe) const {
    // Never equal, so absl goes on to the end of the probe sequence: that is the gathering.
    probe.into->push_back(&slot);
    return false;
  }
  bool operator()(PackedPointer a, PackedPointer b) const { return a == b; }
};

template <typename Element>
using Slots = absl::flat_hash_set<PackedPointer, SlotHash<Element>, SlotEqual<Element>>;

// From the start of an element to what may lie on its second cache line, and is needed as well.
inline constexpr size_t kPrefetchedBytes = 56;

inline size_t UsableSlots(size_t capacity) { return capacity - capacity / 8; }

// A half of a split segment has 224 elements, more or less, which just fill a table. It would grow
// with the next insert or soon, and hash and touch all of them once more: a third of what an insert
// costs in tables beside its own hash.
inline size_t RoomAfterSplit(size_t elements) { return elements + elements / 8; }

template <typename Element>
void PrefetchElements(const Slots<Element>& slots) {
  for (const PackedPointer slot : slots) __builtin_prefetch(slot.As<Element>());
}

// The bytes that absl allocates: one a slot, a sentinel, 15 cloned ones, the slots.
inline size_t SlotsBytes(size_t capacity) {
  if (capacity == 0) return 0;
  return BlockSize(((capacity + 16 + 1) & ~size_t{1}) + capacity * sizeof(PackedPointer));
}

}  // namespace segment

// An empty segment has no table yet: absl makes one with the first element, or Reserve does.
template <typename Element>
struct SegmentTableOf<Element>::Segment {
  Segment(const HashKey& key, int depth)
      : slots(0, segment::SlotHash<Element>{&key}), depth(depth) {}
  segment::Slots<Element> slots;
  int depth;
  // ScanCache's of what the slots hold now; 0: it knows nothing of them.
  mutable uint32_t stamp = 0;
};

}  // namespace sluice
