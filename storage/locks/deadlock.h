// Would a request close a circle of owners that wait for each other? Asked when it has been queued,
// to be taken out again if so: then such a circle never comes to be.
//
// Two steps. First, who could be in the circle at all: owners and the lines of locks are the nodes
// of a graph, and each is visited once. Backwards from the asking owner (who waits for what it
// holds, or behind it), where mostly no owner is, and forwards from its request (who holds or
// waits for what it asks, and so on), a limited number of steps each in turn, with a limit that
// doubles: whichever side ends first costs little more than if it had been tried alone. An owner
// with one wait for one lock that holds nothing others wait for leads nowhere else and is not
// visited.
//
// Then, only if these are several, a reduction of the wait-for graph among them (Coffman, Elphick,
// Shoshani 1971; Holt 1972), which is exact for semaphores too: an owner can finish when all its
// waits can be granted once those that can finish have given everything back. If the asking owner
// cannot, its request closes a circle. So a permit that another may give back is no deadlock.
//
// An example: X holds a and waits for b, Y holds b. Y now asks for a.
//
//   Y asks for a -> held by X -> X waits for b -> held by Y       a circle: Y is refused
//
// With a semaphore of 2 permits as b, one held by Y and one by Z, which waits for nothing: Z can
// finish and give back its permit, X gets it, finishes, and gives back a. So Y may wait.
//
// Holders that merely linger are no obstacle: time frees them. An owner does not wait for itself:
// with its first request for a lock the others of the same shape are re-entrant. Linear in the
// lines of those owners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "storage/locks/lock_store.h"
#include "storage/locks/wait_queue.h"

namespace sluice {

// Made for one question and thrown away. It changes nothing; pointers are valid as no lock or line
// changes while it runs. Worst case: linear in the waits and holders of the owners that it reaches.
class DeadlockSearch {
 public:
  // All must outlive the search. A lease that is over by `over_ms` holds nothing, be it still to be
  // ended.
  DeadlockSearch(const LockFinder& locks, const WaitQueue& queue, const WaitQueue::Queued& asked,
                 int64_t over_ms = INT64_MIN)
      : locks_(locks), queue_(queue), asked_(asked), asker_(asked.owner), over_ms_(over_ms) {}
  // Whether the asking owner could never get what it asks for. Call it once.
  bool ClosesCircle();
  size_t steps() const { return steps_; }  // nodes and edges looked at

 private:
  using Owner = WaitQueue::Owner;
  using Line = WaitQueue::Line;
  using Place = WaitQueue::Place;
  using Queued = WaitQueue::Queued;
  using Rank = WaitQueue::Rank;

  // The owners and lines that one side has reached.
  struct Reach {
    std::vector<const Owner*> owners;
    absl::flat_hash_set<const Owner*> known;
    absl::flat_hash_map<const Line*, Rank> seen;  // up to, or from, this place
    bool meets = false;                           // forwards: the asking owner

    void Add(const Owner* owner) {
      if (known.insert(owner).second) owners.push_back(owner);
    }
  };
  class Reduction;

  bool Backwards(size_t steps_max, Reach& reach);
  bool Forwards(size_t steps_max, Reach& reach);
  void VisitBehind(const Line& line, Rank at, size_t steps_max, Reach& reach);
  void VisitAhead(const Place& place, size_t steps_max, Reach& reach);
  void VisitHolders(const Line& line, size_t steps_max, Reach& reach);
  void Reached(const Owner* owner, Reach& reach) const;
  bool IsObstructedBy(const Reach& behind);
  bool IsObstructedAt(const Place& place, const Reach& behind);
  bool Holds(const LockHolder& holder) const;
  int64_t HeldBy(const Owner& owner, const Line& line) const;
  bool IsGivenTo(const Queued& queued, const Line& line) const;
  bool HasNoneAhead(const Queued& queued, const Place& place) const;
  bool IsStuck(const Reach& candidates);
  bool IsSpent(size_t steps_max) const { return steps_ - began_ > steps_max; }

  const LockFinder& locks_;
  const WaitQueue& queue_;
  const Queued& asked_;
  const Owner* const asker_;
  const int64_t over_ms_;
  std::vector<const Queued*> from_;  // waits of the asking owner that may close a circle
  size_t steps_ = 0;
  size_t began_ = 0;  // steps at the begin of the present try
};

}  // namespace sluice
