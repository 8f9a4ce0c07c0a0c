// WaitQueue: who waits for which locks, in the order in which they came.
//
// Every lock name has a queue; a request for several locks stands in all of their queues and holds
// nothing meanwhile. A wait may go when each of its locks has room for it and nobody ahead of it in
// any of those queues conflicts with it: two shared requests do not conflict, everything else does.
// So shared requests do not overtake an exclusive one, small permit requests no large one, and a
// request for many locks is not starved by requests for one of them. An owner that holds a lock is
// re-entrant there, and waits for others together with it at the front.
//
// The one exception keeps the rule from making deadlocks itself: a request for free locks whose
// only obstacle is waiters that wait, directly or not, for its own owner goes past them.
//
// Nothing here changes locks or looks at the clock: locks.h does. Costs: adding and removing are
// O(locks asked for); the next in line is found at the front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "storage/locks/lock.h"
#include "storage/locks/lock_name.h"

namespace sluice {

class LockFinder {
 public:
  virtual ~LockFinder() = default;
  virtual const Lock* FindLock(LockNameView name) const = 0;  // null: nobody holds it
};

struct LockRequest {
  std::string owner;
  LockNames names;  // at least one, all different
  LockTerms terms;
  bool several = false;  // kept for the caller: it asked by MACQUIRE
};

struct LockWait {
  uint64_t id = 0;  // never used again
  LockRequest request;
  uint64_t client = 0;  // of the caller; not looked at
  int64_t since_ms = 0;
  int64_t deadline_ms = kNoDeadline;  // kept for the caller: nothing here times out by itself
};

class WaitQueue {
 public:
  using Queue = std::list<LockWait*>;

  WaitQueue(const LockFinder& locks, const SipKey& hash_key);

  enum class Obstacle : uint8_t {
    kNone,
    kQueue,         // only waiters ahead
    kHolders,       // holders, and perhaps waiters
    kLockMode,      // the owner holds one of the locks in another shape
    kOtherPermits,  // one is a semaphore of another m
  };
  // What stands in the way of a request that came now; or of a wait in its place.
  Obstacle ObstacleOf(const LockRequest& request) const;
  Obstacle ObstacleOf(const LockWait& wait) const;

  uint64_t Add(LockRequest request, uint64_t client, int64_t since_ms, int64_t deadline_ms);
  void Remove(uint64_t id);                 // precondition: waits
  const LockWait* Find(uint64_t id) const;  // null when it waits no more

  // The first wait for `name` that may go now; null if none may.
  const LockWait* FirstReady(LockNameView name) const;
  // One of this owner that may go because it holds `name` already.
  const LockWait* FirstReentrant(LockNameView name, std::string_view owner) const;

  const Queue* QueueOf(LockNameView name) const;  // null when nobody waits
  // All waits of an owner; null when it does not wait.
  const std::vector<LockWait*>* WaitsOf(std::string_view owner) const;
  LockNameHash name_hash() const { return queues_.hash_function(); }
  LockNames NamesIn(int db) const;  // that somebody waits for; -1: of all databases
  size_t size() const { return waits_.size(); }
  static bool Conflict(const LockShape& a, const LockShape& b) {
    return a.mode != LockMode::kShared || b.mode != LockMode::kShared;
  }

 private:
  struct Entry {
    LockWait wait;
    std::vector<Queue::iterator> places;  // one a name
  };

  Obstacle ObstacleAt(const LockRequest& request, const LockWait* self) const;
  bool IsObstructed(LockNameView name, const LockShape& shape, const LockWait* self) const;

  const LockFinder& locks_;
  uint64_t last_id_ = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Entry>> waits_;
  LockNameMap<Queue> queues_;                     // none is empty
  LockNameMap<std::vector<LockWait*>> by_owner_;  // under names of no database; none is empty
  // Waits in a queue that are not shared: while there are none, nobody there conflicts with a
  // reader.
  LockNameMap<size_t> exclusive_;
};

}  // namespace sluice
