// SlotCounts: how many keys of a database each slot of a cluster has, kept up to date as they come
// and go, so that CLUSTER COUNTKEYSINSLOT looks at one number. 64 KB, and the hash of a key's slot
// for each that comes or goes: only a server in a cluster has it.
#pragma once

#include <cassert>
#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/hashing/key_slot.h"

namespace sluice {

class SlotCounts {
 public:
  void Came(std::string_view key) { ++counts_[SlotOfKey(key)]; }
  void Went(std::string_view key) {
    uint32_t& count = counts_[SlotOfKey(key)];
    assert(count > 0);
    --count;
  }
  void AllWent() { counts_.assign(kKeySlots, 0); }
  // Keys past their deadline that are not removed yet included.
  uint32_t Of(KeySlot slot) const { return counts_[slot]; }

  bool operator==(const SlotCounts&) const = default;

 private:
  std::vector<uint32_t> counts_ = std::vector<uint32_t>(kKeySlots, 0);
};

}  // namespace sluice
