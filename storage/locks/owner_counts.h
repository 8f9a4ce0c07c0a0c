// How many locks each owner holds. Locks keep it themselves, also when they are destroyed with all
// their holders, so it cannot drift; whoever holds nothing cannot be part of a deadlock, and nearly
// every request is of that kind.
#pragma once

#include <cassert>
#include <cstddef>
#include <string>
#include <string_view>

#include "storage/locks/lock_name.h"

namespace sluice {

class OwnerCounts {
 public:
  explicit OwnerCounts(uint64_t seed) : counts_(0, LockNameHash{seed}) {}

  void Taken(std::string_view owner) { ++counts_[LockName({0, owner})]; }
  void Freed(std::string_view owner) {
    const auto found = counts_.find(LockNameView{0, owner});
    assert(found != counts_.end());
    if (--found->second == 0) counts_.erase(found);
  }
  bool HoldsAny(std::string_view owner) const { return counts_.contains(LockNameView{0, owner}); }
  size_t size() const { return counts_.size(); }

 private:
  LockNameMap<size_t> counts_;  // names of no database
};

}  // namespace sluice
