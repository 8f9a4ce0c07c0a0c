// VainWaits: how many requests have waited for each lock in vain in the last hour, for LOCK.INFO:
// which lock is the trouble, when its waits end without it.
//
//   waits.Count(name, now);
//   waits.LastHour(name, now)   // to the minute
//
// A lock has a count for each minute of an hour in which there was one. It is bounded: of
// kVainLocksMax locks, those stay whose waits ended last; each is known by a hash of its name under
// a secret key, as names may be long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "storage/locks/lock_name.h"
#include "storage/time/clock.h"

namespace sluice {

inline constexpr size_t kVainLocksMax = 4096;

class VainWaits {
 public:
  explicit VainWaits(const SipKey& key) : hash_(key) {}

  void Count(LockNameView name, const Now& now);
  int64_t LastHour(LockNameView name, const Now& now) const;
  size_t size() const { return places_.size(); }  // locks

 private:
  struct Minute {
    int64_t number;  // of engine time
    int64_t waits;
  };
  struct OfLock {
    uint64_t name;               // its hash
    std::deque<Minute> minutes;  // the last hour's at most, oldest first
  };
  using Order = std::list<OfLock>;  // whose waits ended last stand last

  const LockNameHash hash_;
  Order order_;
  absl::flat_hash_map<uint64_t, Order::iterator> places_;
};

}  // namespace sluice
