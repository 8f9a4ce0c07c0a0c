// See segment_table.h. Invariants: every directory place points to a segment; a segment of depth d
// fills an aligned run of 2^(depth_ - d) places; its entries' hashes begin with its d bits; it has
// at most kSplitAt entries in a table of at most kCapacityMax (unless kDepthMax is reached).
#include "storage/segment_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "storage/key_hash.h"

namespace sluice {
namespace {

// absl's tables have 2^n - 1 slots, of which 7 in 8 may be used: 448 of 511.
constexpr size_t kCapacityMax = 511;
constexpr size_t kSplitAt = 447;
// Buddies merge below a quarter of that together: far from where the result would split again.
constexpr size_t kMergeBelow = 112;
// A table that is this empty is built anew: only where no buddy can be merged with.
constexpr size_t kSparse = 10;
constexpr size_t kSmallCapacity = 63;
// Segments that one call of Scan looks into, at least: bounds the work where they are nearly empty.
constexpr size_t kScanSegments = 16;

constexpr int kCursorBits = 48;
constexpr int kCursorShift = 64 - kCursorBits;

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

// What absl allocates: a byte a slot, a sentinel, 15 cloned bytes, the slots.
size_t SlotsBytes(size_t capacity) {
  return capacity == 0 ? 0 : ((capacity + 16 + 1) & ~size_t{1}) + capacity * sizeof(PackedPointer);
}

}  // namespace

struct SegmentTable::Segment {
  Segment(uint64_t seed, int depth) : slots(0, SlotHash{seed}), depth(depth) {}
  Slots slots;
  int depth;
};

SegmentTable::~SegmentTable() {
  for (size_t place = drained_; place < directory_.size();) {
    Segment* segment = directory_[place];
    place += PlacesOf(*segment);
    DeleteSegment(segment);
  }
  *memory_ -= directory_.size() * sizeof(Segment*);
}

SegmentTable::SegmentTable(SegmentTable&& other) noexcept
    : seed_(other.seed_),
      memory_(other.memory_),
      size_(std::exchange(other.size_, 0)),
      depth_(std::exchange(other.depth_, 0)),
      shift_(std::exchange(other.shift_, 63)),
      drained_(std::exchange(other.drained_, 0)),
      directory_(std::exchange(other.directory_, {})),
      segments_of_depth_(std::exchange(other.segments_of_depth_, {})) {}

// --- looking up

Entry* SegmentTable::Find(HashedKey key) const {
  if (directory_.empty()) return nullptr;
  const Slots& slots = directory_[PlaceOf(key.hash)]->slots;
  const auto it = slots.find(key, key.hash);
  return it == slots.end() ? nullptr : it->As<Entry>();
}

bool SegmentTable::Holds(const Entry& entry, uint64_t hash) const {
  if (directory_.empty()) return false;
  return directory_[PlaceOf(hash)]->slots.contains(ThisEntry{hash, &entry});
}

void SegmentTable::Prefetch(uint64_t hash) const {
  if (directory_.empty()) return;
  directory_[PlaceOf(hash)]->slots.prefetch(LikelyEntry{hash});
}

void SegmentTable::PrefetchEntry(uint64_t hash) const {
  if (directory_.empty()) return;
  // The comparison has the prefetch as its effect; the address keeps it from being optimised away.
  const Slots& slots = directory_[PlaceOf(hash)]->slots;
  const auto it = slots.find(LikelyEntry{hash}, hash);
  if (it != slots.end()) __builtin_prefetch(it->As<Entry>());
}

// --- changing

void SegmentTable::Insert(Entry& entry, uint64_t hash) {
  if (directory_.empty()) {
    directory_.assign(1, NewSegment(0));
    *memory_ += sizeof(Segment*);
  }
  Segment* segment = directory_[PlaceOf(hash)];
  Put(*segment, entry, hash);
  ++size_;
  // A table full of tombstones may grow beyond the limit with fewer entries: it splits as well. The
  // halves of a split may be uneven: more than one can be necessary.
  while ((segment->slots.size() > kSplitAt || segment->slots.capacity() > kCapacityMax) &&
         segment->depth < kDepthMax) {
    Split(segment, hash);
    segment = directory_[PlaceOf(hash)];
  }
}

void SegmentTable::Replace(const Entry& from, Entry& to, uint64_t hash) {
  Slots& slots = directory_[PlaceOf(hash)]->slots;
  const auto it = slots.find(ThisEntry{hash, &from}, hash);
  assert(it != slots.end());
  // Hash and equality go by the key, and that is the same.
  const_cast<PackedPointer&>(*it).Set(&to, 0);
}

void SegmentTable::Erase(const Entry& entry, uint64_t hash) {
  Segment* segment = directory_[PlaceOf(hash)];
  const auto it = segment->slots.find(ThisEntry{hash, &entry}, hash);
  assert(it != segment->slots.end());
  segment->slots.erase(it);
  --size_;
  if (segment->slots.size() < kMergeBelow / 2) Shrink(segment, hash);
}

// --- segments

size_t SegmentTable::PlacesOf(const Segment& segment) const {
  return size_t{1} << (depth_ - segment.depth);
}

uint64_t SegmentTable::FirstHashAt(size_t place) const {
  return (static_cast<uint64_t>(place) << shift_) << 1;
}

void SegmentTable::SetDepth(int depth) {
  depth_ = depth;
  shift_ = 63 - depth;
}

SegmentTable::Segment* SegmentTable::NewSegment(int depth) {
  ++segments_of_depth_[depth];
  *memory_ += sizeof(Segment);
  return new Segment(seed_, depth);
}

void SegmentTable::DeleteSegment(Segment* segment) {
  --segments_of_depth_[segment->depth];
  *memory_ -= sizeof(Segment) + SlotsBytes(segment->slots.capacity());
  delete segment;
}

void SegmentTable::Put(Segment& segment, Entry& entry, uint64_t hash) {
  const size_t capacity = segment.slots.capacity();
  segment.slots.lazy_emplace(NewEntry{hash},
                             [&entry](const Slots::constructor& construct) { construct(&entry); });
  if (segment.slots.capacity() != capacity)
    *memory_ += SlotsBytes(segment.slots.capacity()) - SlotsBytes(capacity);
}

void SegmentTable::Reserve(Segment& segment, size_t count) {
  *memory_ -= SlotsBytes(segment.slots.capacity());
  segment.slots.reserve(count);
  *memory_ += SlotsBytes(segment.slots.capacity());
}

// The entries with their hashes, which means touching every one: all are asked for before the first
// is needed, so that a cold segment costs 10 µs instead of 40.
std::vector<SegmentTable::Ranked> SegmentTable::Rank(const Segment& segment) const {
  std::vector<Ranked> ranked;
  ranked.reserve(segment.slots.size());
  for (const PackedPointer slot : segment.slots) {
    __builtin_prefetch(slot.As<Entry>());
    ranked.push_back({0, slot.As<Entry>()});
  }
  for (Ranked& item : ranked) item.hash = HashKey(item.entry->key(), seed_);
  return ranked;
}

// Both halves are built anew: erasing from the old table would leave tombstones in it.
void SegmentTable::Split(Segment* segment, uint64_t hash) {
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
  Reserve(*low, ranked.size() - highs);
  Reserve(*high, highs);
  for (const Ranked& item : ranked)
    Put((item.hash & bit) != 0 ? *high : *low, *item.entry, item.hash);

  for (size_t i = 0; i < places; ++i) directory_[first + i] = i < places / 2 ? low : high;
  DeleteSegment(segment);
}

void SegmentTable::GrowDirectory() {
  std::vector<Segment*> doubled(directory_.size() * 2);
  for (size_t i = 0; i < doubled.size(); ++i) doubled[i] = directory_[i / 2];
  *memory_ += directory_.size() * sizeof(Segment*);
  directory_ = std::move(doubled);
  SetDepth(depth_ + 1);
}

void SegmentTable::ShrinkDirectory() {
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

void SegmentTable::Shrink(Segment* segment, uint64_t hash) {
  bool merged = false;
  while (MergeWithBuddy(segment, hash)) merged = true;
  if (merged) return ShrinkDirectory();
  const size_t capacity = segment->slots.capacity();
  if (capacity > kSmallCapacity && segment->slots.size() < capacity / kSparse) Rebuild(*segment);
}

// On success `segment` is the merged one.
bool SegmentTable::MergeWithBuddy(Segment*& segment, uint64_t hash) {
  if (segment->depth == 0) return false;
  const size_t places = PlacesOf(*segment);
  const size_t first = PlaceOf(hash) & ~(places - 1);
  Segment* buddy = directory_[first ^ places];
  const size_t count = segment->slots.size() + buddy->slots.size();
  if (buddy->depth != segment->depth || count >= kMergeBelow) return false;

  Segment* merged = NewSegment(segment->depth - 1);
  Reserve(*merged, count);
  for (Segment* half : {segment, buddy}) {
    for (const Ranked& item : Rank(*half)) Put(*merged, *item.entry, item.hash);
    DeleteSegment(half);
  }
  const size_t merged_first = first & ~places;
  for (size_t i = 0; i < 2 * places; ++i) directory_[merged_first + i] = merged;
  segment = merged;
  return true;
}

void SegmentTable::Rebuild(Segment& segment) {
  const std::vector<Ranked> ranked = Rank(segment);
  *memory_ -= SlotsBytes(segment.slots.capacity());
  segment.slots = Slots(0, SlotHash{seed_});
  Reserve(segment, ranked.size());
  for (const Ranked& item : ranked) Put(segment, *item.entry, item.hash);
}

// --- walking

void SegmentTable::ForEach(absl::FunctionRef<void(Entry&)> visit) const {
  for (size_t place = drained_; place < directory_.size();) {
    const Segment& segment = *directory_[place];
    for (const PackedPointer slot : segment.slots) __builtin_prefetch(slot.As<Entry>());
    for (const PackedPointer slot : segment.slots) visit(*slot.As<Entry>());
    place += PlacesOf(segment);
  }
}

uint64_t SegmentTable::Scan(uint64_t cursor, size_t count,
                            absl::FunctionRef<void(const Entry&)> visit) const {
  if (size_ == 0 || (cursor >> kCursorBits) != 0) return 0;
  const auto by_hash = [](const Ranked& a, const Ranked& b) { return a.hash < b.hash; };
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
      std::nth_element(ranked.begin(), ranked.begin() + wanted - 1, ranked.end(), by_hash);
      cursor = (ranked[wanted - 1].hash >> kCursorShift) + 1;
      end = std::partition(ranked.begin() + wanted, ranked.end(), [cursor](const Ranked& item) {
        return (item.hash >> kCursorShift) < cursor;
      });
    }
    // Table order depends on addresses; this one on the seed alone.
    std::sort(ranked.begin(), end, by_hash);
    for (auto it = ranked.begin(); it != end; ++it) visit(*it->entry);
    if (!whole) return cursor >> kCursorBits == 0 ? cursor : 0;

    place = (place & ~(PlacesOf(segment) - 1)) + PlacesOf(segment);
    if (place == directory_.size()) return 0;
    cursor = FirstHashAt(place) >> kCursorShift;
    wanted -= ranked.size();
    if (wanted == 0 || --segments_left == 0) return cursor;
  }
}

uint64_t SegmentTable::Walk(uint64_t position, size_t budget,
                            absl::FunctionRef<void(Entry&)> visit) const {
  if (size_ == 0) return 0;
  size_t given = 0;
  size_t place = PlaceOf(position);
  do {
    const Segment& segment = *directory_[place];
    for (const PackedPointer slot : segment.slots) __builtin_prefetch(slot.As<Entry>());
    for (const PackedPointer slot : segment.slots) visit(*slot.As<Entry>());
    given += segment.slots.size() + 1;  // an empty one costs something as well
    place = (place & ~(PlacesOf(segment) - 1)) + PlacesOf(segment);
    if (place == directory_.size()) return 0;
  } while (given < budget);
  return FirstHashAt(place);
}

// Rejection sampling: a place at random finds a segment with the probability of its width, which is
// corrected by accepting it with that of its fill. Mostly two or three tries; a table that is
// mostly empty segments is counted through instead. The n-th entry is that by hash, for
// repeatability.
Entry* SegmentTable::RandomEntry(Random& random) const {
  if (size_ == 0) return nullptr;
  const auto nth = [this](const Segment& segment, size_t n) {
    std::vector<Ranked> ranked = Rank(segment);
    std::nth_element(ranked.begin(), ranked.begin() + n, ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.hash < b.hash; });
    return ranked[n].entry;
  };
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const Segment& segment = *directory_[random() & (directory_.size() - 1)];
    const size_t ticket = random() % (PlacesOf(segment) * (kSplitAt + 1));
    if (ticket < segment.slots.size()) return nth(segment, ticket);
  }
  size_t ticket = random() % size_;
  for (size_t place = 0;; place += PlacesOf(*directory_[place])) {
    const Segment& segment = *directory_[place];
    if (ticket < segment.slots.size()) return nth(segment, ticket);
    ticket -= segment.slots.size();
  }
}

size_t SegmentTable::Drain(size_t budget, absl::FunctionRef<void(Entry&)> free) {
  size_t drained = 0;
  while (drained < budget && size_ > 0) {
    Segment* segment = directory_[drained_];
    auto it = segment->slots.begin();
    for (; it != segment->slots.end() && drained < budget; ++drained, --size_) {
      Entry& entry = *it->As<Entry>();
      segment->slots.erase(it++);
      free(entry);
    }
    if (it != segment->slots.end()) break;
    drained_ += PlacesOf(*segment);
    DeleteSegment(segment);
  }
  return drained;
}

// --- audit

size_t SegmentTable::table_bytes() const {
  size_t bytes = directory_.size() * sizeof(Segment*);
  for (size_t place = drained_; place < directory_.size(); place += PlacesOf(*directory_[place]))
    bytes += sizeof(Segment) + SlotsBytes(directory_[place]->slots.capacity());
  return bytes;
}

std::string SegmentTable::Audit() const {
  if (directory_.empty()) return size_ == 0 ? "" : "a table without a directory has a size";
  if (directory_.size() != size_t{1} << depth_) return "the directory's size is not its depth's";
  size_t count = 0;
  std::array<uint32_t, kDepthMax + 1> of_depth{};
  for (size_t place = 0; place < directory_.size();) {
    const Segment& segment = *directory_[place];
    if (segment.depth > depth_) return "a segment is deeper than the directory";
    const size_t places = PlacesOf(segment);
    if (place % places != 0) return "a segment's places are not aligned";
    for (size_t i = 0; i < places; ++i)
      if (directory_[place + i] != &segment) return "a segment's places are not contiguous";
    if (segment.depth < kDepthMax &&
        (segment.slots.size() > kSplitAt || segment.slots.capacity() > kCapacityMax))
      return "a segment has outgrown its limit";
    for (const Ranked& item : Rank(segment)) {
      if (PlaceOf(item.hash) / places != place / places) return "an entry lies in a wrong segment";
      if (Find({item.entry->key(), item.hash}) != item.entry) return "an entry is not found";
    }
    ++of_depth[segment.depth];
    count += segment.slots.size();
    place += places;
  }
  if (of_depth != segments_of_depth_) return "the segments of a depth are miscounted";
  if (depth_ > 0 && of_depth[depth_] == 0) return "the directory is deeper than any segment";
  return count == size_ ? "" : "a table's size is wrong";
}

}  // namespace sluice
