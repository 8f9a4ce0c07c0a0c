// Would a request close a circle of owners that wait for each other? Asked before it is queued, so
// that such a circle never comes to be.
//
// A reduction of the wait-for graph (Coffman, Elphick, Shoshani 1971; Holt 1972), which is exact
// for semaphores too: an owner can finish when all its waits can be granted once those that can
// finish have given everything back. Who can never finish is in a circle or behind one. If the
// asking owner cannot, and could if it were out of the way itself, it is its request that closes
// the circle. So a permit that somebody else may give back is no deadlock. Holders that merely
// linger are no obstacle: time frees them.
//
// Only owners that can be reached from the request are looked at, and kDeadlockStepsMax bounds the
// work: a longer search finds no circle (waits and leases end by themselves).
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string_view>
#include <vector>

#include "storage/locks/wait_queue.h"

namespace sluice {

inline constexpr size_t kDeadlockStepsMax = 10'000;  // some 3 ms

class DeadlockSearch {
 public:
  // For a request that would be queued now, at the end. All must outlive the search.
  DeadlockSearch(const LockFinder& locks, const WaitQueue& queue, const LockRequest& request);
  bool ClosesCircle();

 private:
  struct Owner;
  struct Wait {
    const LockRequest* request;
    Owner* owner;
  };
  struct Owner {
    std::vector<Wait*> waits;
    bool finished = false;
  };
  struct Line {  // the queue of one lock
    std::vector<Wait*> waits;
    size_t first = 0;  // all before it belong to finished owners
  };

  void Reach(const LockName& name);
  void ReachOwner(std::string_view owner);
  void AddWait(const LockRequest& request);
  void DrawLines();
  void FinishAll();
  bool CanFinish(const Owner& owner);
  bool CanBeGranted(const Wait& wait);
  bool HoldersAllow(const Lock& lock, const LockRequest& request);
  bool LineAllows(Line& line, const Wait& wait);
  const Owner* Unfinished(std::string_view owner) const;  // null if it can finish

  const LockFinder& locks_;
  const WaitQueue& queue_;
  const LockRequest& asked_;
  size_t steps_ = 0;
  std::list<Wait> waits_;                       // addresses stay
  std::vector<Owner*> in_order_;                // as first reached
  LockNameMap<std::unique_ptr<Owner>> owners_;  // under names of no database
  LockNameMap<Line> lines_;
  LockNames to_reach_;
};

}  // namespace sluice
