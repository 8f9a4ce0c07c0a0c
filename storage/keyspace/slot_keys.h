// SlotKeys: the keys of a database by the slots of a cluster, kept up to date as they come and go,
// so that CLUSTER COUNTKEYSINSLOT looks at one number, and GETKEYSINSLOT walks over no key of
// another slot. Only a server in a cluster has it.
//
// A slot has its entries in a plain list while they are few, in no order: one more is put at its
// end, and one that goes is looked for. Sixteen million keys, evenly spread, are few in each slot.
// By a hash tag a slot may have all of them: many are in a SegmentTable, under the hashes that the
// database's table has.
//
//   slot 3300    list              {b}1, {b}2, {b}list
//   slot 15495   SegmentTable      {a}1, {a}2, ... {a}5000
//
// So what a key that comes or goes costs is bounded by kFewMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "storage/hashing/key_slot.h"
#include "storage/keyspace/segment_table.h"
#include "storage/memory/packed_pointer.h"

namespace sluice {

// It looks at entries in Insert, Replace and Erase alone: what Drain still has may be freed.
class SlotKeys {
 public:
  // To look for one among so many takes less than 1 µs, to spread them 100 µs.
  static constexpr size_t kFewMax = 1024;

  // As SegmentTable's: both outlive it. Its own bytes are kept in `memory`.
  SlotKeys(const KeyspaceKey& hash_key, size_t& memory) : hash_key_(&hash_key), memory_(&memory) {}
  SlotKeys(KeyspaceKey&& hash_key, size_t& memory) = delete;
  SlotKeys(const SlotKeys&) = delete;
  ~SlotKeys() { Drain(SIZE_MAX); }

  void Insert(Entry& entry, uint64_t hash);
  void Replace(const Entry& from, Entry& to, uint64_t hash);
  void Erase(const Entry& entry, uint64_t hash);
  // Keys past their deadline that are not removed yet included.
  size_t CountOf(KeySlot slot) const { return slots_[slot] ? slots_[slot]->size() : 0; }
  // Gives `count` keys of a slot, or all. O(count), and a segment.
  void Walk(KeySlot slot, size_t count, absl::FunctionRef<void(const Entry&)> visit) const;

  // Lets go of up to `budget` entries and slots; returns of how many: less, if that was all. After
  // that it is good for nothing but Drain.
  size_t Drain(size_t budget);
  // Recounted over all slots.
  size_t size() const;
  size_t bytes() const;
  std::string Audit() const;

 private:
  struct Keys {
    std::vector<PackedPointer> few;
    std::unique_ptr<SegmentTable> many;  // null: they are in `few`
    size_t size() const { return many ? many->size() : few.size(); }
  };

  Keys& KeysOf(KeySlot slot);
  static std::vector<PackedPointer>::iterator Find(Keys& keys, const Entry& entry);
  void Spread(Keys& keys);  // from the list into a table
  void Gather(Keys& keys);  // and back
  void EraseAmongFew(Keys& keys, const Entry& entry);
  void Delete(std::unique_ptr<Keys>& keys);
  static size_t BytesOf(const Keys& keys);  // without those of its table's segments

  const KeyspaceKey* hash_key_;
  size_t* memory_;
  size_t drained_ = 0;                      // slots that Drain is done with
  std::vector<std::unique_ptr<Keys>> slots_{// null: it has no keys
                                            std::vector<std::unique_ptr<Keys>>(kKeySlots)};
};

}  // namespace sluice
