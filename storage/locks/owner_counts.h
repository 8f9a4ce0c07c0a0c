// A hint at which owners hold locks: whoever holds nothing cannot be part of a deadlock, and nearly
// every request is of that kind. Counts by hash, so it needs no memory for an owner: "holds
// nothing" is certain, "may hold" is not, and costs a search at worst (a counting Bloom filter, Fan
// et al. 2000). Locks keep it themselves, also when they are destroyed with all their holders, so
// it cannot drift.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "storage/sip_hash.h"

namespace sluice {

class OwnerCounts {
 public:
  explicit OwnerCounts(const SipKey& key) : key_(key) {}

  void Taken(std::string_view owner) {
    if (counts_ == nullptr) counts_ = std::make_unique<uint32_t[]>(kSlots);
    const Slots slots = SlotsOf(owner);
    ++counts_[slots.first];
    ++counts_[slots.second];
  }
  void Freed(std::string_view owner) {
    const Slots slots = SlotsOf(owner);
    assert(counts_ != nullptr && counts_[slots.first] > 0 && counts_[slots.second] > 0);
    --counts_[slots.first];
    --counts_[slots.second];
  }
  bool MayHold(std::string_view owner) const {
    if (counts_ == nullptr) return false;
    const Slots slots = SlotsOf(owner);
    return counts_[slots.first] > 0 && counts_[slots.second] > 0;
  }
  bool empty() const {
    return counts_ == nullptr || std::all_of(counts_.get(), counts_.get() + kSlots,
                                             [](uint32_t count) { return count == 0; });
  }

 private:
  static constexpr size_t kSlots = 8192;  // 32 KB, made with the first lock

  struct Slots {
    size_t first;
    size_t second;
  };
  Slots SlotsOf(std::string_view owner) const {
    const uint64_t hash = SipHash13(owner, key_);
    return {hash % kSlots, (hash >> 32) % kSlots};
  }

  const SipKey key_;
  std::unique_ptr<uint32_t[]> counts_;
};

}  // namespace sluice
