// SlotKeys: the keys of a database by the slots of a cluster, kept up to date as they come and go,
// so that CLUSTER COUNTKEYSINSLOT looks at one number, and GETKEYSINSLOT walks over no key of
// another slot. Only a server in a cluster has it.
//
// Each slot that has keys has a SegmentTable of its own, with the entries that the database's table
// has, under the same hashes. So a key that comes or goes costs one segment more at most, however
// unevenly keys are spread: a slot may have one of them, or, by a hash tag, all.
//
//   slot 3300   -> {b}1, {b}2, {b}list
//   slot 15495  -> a
//
// It costs 19 bytes a key where slots have 61 of them each (a million), and some 350 bytes a slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "storage/hashing/key_slot.h"
#include "storage/keyspace/segment_table.h"

namespace sluice {

// It never looks at an entry but to find its slot, and in Insert, Replace and Erase: what Drain
// still has may be freed. All but Walk and Drain are O(1), as SegmentTable's are.
class SlotKeys {
 public:
  // As SegmentTable's: both outlive it. Its own bytes are kept in `memory`.
  SlotKeys(const KeyspaceKey& hash_key, size_t& memory) : hash_key_(&hash_key), memory_(&memory) {}
  SlotKeys(KeyspaceKey&& hash_key, size_t& memory) = delete;
  SlotKeys(const SlotKeys&) = delete;
  ~SlotKeys() { Drain(SIZE_MAX); }

  void Insert(Entry& entry, uint64_t hash);
  void Replace(const Entry& from, Entry& to, uint64_t hash);
  void Erase(const Entry& entry, uint64_t hash);
  // Keys past their deadline that are not removed yet included.
  size_t CountOf(KeySlot slot) const { return tables_[slot] ? tables_[slot]->size() : 0; }
  // Gives `count` keys of a slot, or all. O(count), and a segment.
  void Walk(KeySlot slot, size_t count, absl::FunctionRef<void(const Entry&)> visit) const;

  // Lets go of up to `budget` entries and tables; returns of how many: less, if that was all. After
  // that it is good for nothing but Drain.
  size_t Drain(size_t budget);
  // Recounted over all slots.
  size_t size() const;
  size_t bytes() const;
  std::string Audit() const;

 private:
  SegmentTable& TableOf(KeySlot slot);

  const KeyspaceKey* hash_key_;
  size_t* memory_;
  size_t drained_ = 0;  // slots that Drain is done with
  std::vector<std::unique_ptr<SegmentTable>> tables_{
      // null: none yet, or no more
      std::vector<std::unique_ptr<SegmentTable>>(kKeySlots)};
};

}  // namespace sluice
