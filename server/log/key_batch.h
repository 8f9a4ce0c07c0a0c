// KeyBatch: keys that were read from a file, on their way into the keyspace. Where a key belongs is
// most often not in the processor's cache; so some are gathered, their places are fetched all
// together, and then they are put there in the file's order.
//
// The file's order is kept, so a key that is there twice is found when the second one is put.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "storage/keyspace/keyspace.h"
#include "storage/rdb/rdb_file_reader.h"

namespace sluice {

class KeyBatch {
 public:
  explicit KeyBatch(Keyspace& keyspace) : keyspace_(keyspace) {}

  bool full() const { return size_ == kKeys || text_bytes_ >= kTextBytes; }
  // Where the next key is read, and is until Add. Requires: !full().
  RdbFileKey& Place() {
    slots_[size_].key.Clear();
    return slots_[size_].key;
  }
  // What stands there belongs to the batch.
  void Add() {
    Slot& slot = slots_[size_++];
    text_bytes_ += slot.key.value.text.size();
    slot.name = keyspace_.Hash(slot.key.name);
    Of(slot).PrefetchSegment(slot.name);
  }
  // Empties it, calling put(database, key, file_key) for each until that answers false.
  template <typename Put>
  void PutAll(Put put) {
    std::array<const PackedPointer*, kKeys> likely;
    for (size_t i = 0; i < size_; ++i) Of(slots_[i]).Prefetch(slots_[i].name);
    for (size_t i = 0; i < size_; ++i) likely[i] = Of(slots_[i]).PrefetchSlot(slots_[i].name);
    for (size_t i = 0; i < size_; ++i) {
      if (likely[i]) Database::PrefetchEntry(*likely[i]);
    }
    const size_t size = std::exchange(size_, 0);
    text_bytes_ = 0;
    for (size_t i = 0; i < size; ++i) {
      if (!put(Of(slots_[i]), slots_[i].name, slots_[i].key)) return;
      slots_[i].key.Clear();  // a large text goes at once
    }
  }

 private:
  static constexpr size_t kKeys = 32;
  static constexpr size_t kTextBytes = 64 * 1024;  // few keys, where they are large
  struct Slot {
    RdbFileKey key;
    HashedKey name;  // of `key`, which therefore stays where it is
  };
  Database& Of(const Slot& slot) { return keyspace_.db(static_cast<int>(slot.key.db)); }

  Keyspace& keyspace_;
  std::array<Slot, kKeys> slots_;
  size_t size_ = 0;
  size_t text_bytes_ = 0;  // of the values
};

}  // namespace sluice
