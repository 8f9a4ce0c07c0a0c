// A set of elements found by key: a directory of small hash tables ("segments") picked by the top
// bits of the hash (extendible hashing, Fagin 1979). A segment of depth d holds the hashes that
// share its d leading bits and stands in 2^(depth - d) neighbouring places of the directory. One
// that fills up splits in two; two sparse buddies merge; the directory doubles and halves with the
// deepest.
//
// A directory of depth 2, with one segment of depth 1 and two of depth 2:
//
//   place 00 --+--> segment, depth 1: hashes that begin with 0
//   place 01 --+
//   place 10 -----> segment, depth 2: hashes that begin with 10
//   place 11 -----> segment, depth 2: hashes that begin with 11
//
// If the first segment fills up, its two places part: 00 gets one half, 01 the other. If that of 10
// fills up, the directory doubles first: then 100 and 101 get the halves, and 110 and 111 share the
// segment of 11.
//
// So the work of one insert or erase is bounded by one segment (some 20 µs), and whatever walks in
// the order of hashes sees what stays exactly once however the segments change in between.
//
// The directory never grows beyond one place an element (or 64): evenly spread hashes need one in
// 150. Where that does not let a segment split, because many hashes begin alike, it stays whole and
// its table grows: a directory of more places would cost memory and part nothing. Hashes are made
// so that no client can bring that about (key_hash.h), and this bounds what it would cost.
//
// Elements are neither made nor freed here. They are whatever has `std::string_view key() const`:
// SegmentTable holds a database's entries; a type with members of its own (a sorted set's nodes)
// says SegmentTableOf<Node>, and in one .cc `template class SegmentTableOf<Node>;` with
// segment_table_impl.h included. Elements' addresses are even.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "storage/hashing/key_hash.h"
#include "storage/hashing/random.h"
#include "storage/keyspace/entry.h"
#include "storage/keyspace/scan_cache.h"
#include "storage/memory/packed_pointer.h"

namespace sluice {

// A key and its hash, computed once (by the prefetching of a batch) and carried along. Its bytes
// are a view of a request or of an entry, and must outlive it.
struct HashedKey {
  std::string_view bytes;
  uint64_t hash = 0;
};

// What a table of such elements is hashed under.
template <typename Element>
struct HashKeyOf {
  using Type = TableKey;
};
template <>
struct HashKeyOf<Entry> {
  using Type = KeyspaceKey;
};

// The table owns its segments and its directory, and never the elements. Find, Insert, Replace and
// Erase are O(1), but for a split or a merge, which touches one or two segments. Find reads a
// directory place, a group of hash bytes, and mostly one element.
template <typename Element>
class SegmentTableOf {
 public:
  using HashKey = typename HashKeyOf<Element>::Type;
  // Hashes are HashName of the elements' keys under `hash_key`. The bytes of segments and directory
  // are kept in `memory`. Both outlive the table.
  SegmentTableOf(const HashKey& hash_key, size_t& memory)
      : hash_key_(&hash_key), memory_(&memory) {}
  SegmentTableOf(HashKey&& hash_key, size_t& memory) = delete;
  ~SegmentTableOf();
  SegmentTableOf(SegmentTableOf&& other) noexcept;  // leaves it empty
  SegmentTableOf& operator=(SegmentTableOf&&) = delete;

  // --- looking up
  size_t size() const { return size_; }
  // Null: no element has that key. The pointer lives as long as its owner keeps the element.
  Element* Find(HashedKey key) const;
  bool Holds(const Element& element, uint64_t hash) const;  // this very one
  // In steps, between which there should be time and no change: the segment (which a batch leaves
  // out where the directory's segments stay in the cache), its bytes of hashes, the slot of the
  // likely element (null: none has that hash), the element itself.
  void PrefetchSegment(uint64_t hash) const;
  void Prefetch(uint64_t hash) const;
  const PackedPointer* PrefetchSlot(uint64_t hash) const;
  static const Element* PrefetchElement(const PackedPointer& slot);

  // --- changing. Only tables are accounted in `memory`; elements are their owner's to account.
  void Insert(Element& element, uint64_t hash);  // requires: none of that key
  void Replace(const Element& from, Element& to,
               uint64_t hash);                        // requires: held; the same key
  void Erase(const Element& element, uint64_t hash);  // requires: held

  // For a caller that fills it: makes the segments that so many elements are likely to need, so
  // that few are split on the way. Only an empty table takes the hint. ExpectNoMore ends that, and
  // merges what has stayed empty.
  void Expect(size_t elements);
  void ExpectNoMore();

  // In no order that is promised (but see TableKey). `visit` must not change the table.
  void ForEach(absl::FunctionRef<void(Element&)> visit) const;
  // Database::Scan; given in the order of hashes, which the key alone decides. With a `cache`, the
  // next page needs no hashes. One cache knows tables of one keyspace.
  uint64_t Scan(uint64_t cursor, size_t count, absl::FunctionRef<void(const Element&)> visit,
                ScanCache* cache = nullptr) const;
  // Gives whole segments, from the one of hash `position`, until `budget` elements were given or
  // passed; returns the position to go on from, 0 at the end. Each that stays is given at least
  // once.
  uint64_t Walk(uint64_t position, size_t budget, absl::FunctionRef<void(Element&)> visit) const;
  Element* RandomEntry(Random& random) const;  // uniform; null when empty

  // Takes out up to `budget` elements, giving each to `free`; returns how many. A table once
  // drained in part is good for nothing but ForEach and further draining.
  size_t Drain(size_t budget, absl::FunctionRef<void(Element&)> free);

  // Walks everything; the first violated invariant as a sentence, or empty.
  std::string Audit() const;
  size_t table_bytes() const;  // recomputed

 private:
  struct Segment;
  static constexpr int kDepthMax = 28;

  // An element with its hash, which is computed anew from the key: segments keep no hashes.
  struct Ranked {
    uint64_t hash;
    Element* element;
  };
  static bool ByHash(const Ranked& a, const Ranked& b) { return a.hash < b.hash; }

  // In two shifts: a directory of one place would need a single shift by 64, which is undefined.
  size_t PlaceOf(uint64_t hash) const { return (hash >> 1) >> shift_; }
  size_t PlacesOf(const Segment& segment) const;
  uint64_t FirstHashAt(size_t place) const;
  uint64_t EndOf(const Segment& segment, uint64_t hash) const;
  void SetDepth(int depth);
  bool CanGrowDirectory() const;
  static size_t ExcessOf(const Segment& segment);
  Segment* NewSegment(int depth);
  void DeleteSegment(Segment* segment);
  void Put(Segment& segment, Element& element, uint64_t hash);
  static void Emplace(Segment& segment, Element& element, uint64_t hash);
  void Reserve(Segment& segment, size_t count);
  size_t ExpectedIn(size_t first_place, size_t places) const;
  std::vector<Ranked> Rank(const Segment& segment) const;
  void Visit(const Segment& segment, absl::FunctionRef<void(Element&)> visit) const;
  // How much a page took from one segment, and where it stopped there.
  using ScanItem = ScanCache::Item;
  struct Page {
    uint64_t stop;
    size_t given;
  };
  Page GiveSome(const Segment& segment, uint64_t place, uint64_t end, size_t left, size_t slack,
                absl::FunctionRef<void(const Element&)> visit, ScanCache* cache) const;
  static Page GiveKnown(std::span<const ScanItem> known, uint64_t place, uint64_t end, size_t left,
                        size_t slack, absl::FunctionRef<void(const Element&)> visit);
  Element* DrawFrom(const Segment& segment, Random& random) const;
  Element* DrawExcess(size_t n, Random& random) const;
  // `hash` is any that falls into the segment: it says where in the directory the segment stands.
  void Split(Segment* segment, uint64_t hash);
  void GrowDirectory();
  void ShrinkDirectory();
  void Shrink(Segment* segment, uint64_t hash);
  bool MergeWithBuddy(Segment*& segment, uint64_t hash);
  void Rebuild(Segment& segment);

  const HashKey* hash_key_;
  size_t* memory_;
  size_t size_ = 0;
  size_t size_when_grown_ = 0;  // of the table, when the directory last doubled
  size_t excess_ = 0;           // of segments that could not be split: elements beyond the limit
  int depth_ = 0;               // the directory has 2^depth_ places, or none
  int shift_ = 63;              // 63 - depth_
  size_t drained_ = 0;
  size_t expected_ = 0;  // between Expect and ExpectNoMore
  // The places of drained_ above belong to segments that Drain has emptied and deleted.
  std::vector<Segment*> directory_;
  // How many segments each depth has: says how far the directory may shrink.
  std::array<uint32_t, kDepthMax + 1> segments_of_depth_{};
};

using SegmentTable = SegmentTableOf<Entry>;
extern template class SegmentTableOf<Entry>;

}  // namespace sluice
