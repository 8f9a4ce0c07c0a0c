// DrainQueue: how many units are to go at which tick. LeakyBucket is one, and a level.
//
// Two parts. While drains come in order of time, as they do when every unit of a counter stays
// equally long, they stand in a ring: 8 bytes a tick, written and left in order, so that a count
// and the drain of what is due cost a few ns however many wait. A drain that is due before the last
// of the ring goes to ScatteredDrains, made when first needed: a radix heap (Ahuja, Mehlhorn, Orlin
// and Tarjan 1990) of ticks with a hash map of their counts. There a drain costs O(1) too: a tick
// is moved at most once a bit, always to a lower one. Units due at the same tick share a record.
//
// A counter whose units live 10 s, at 100 s, with 3 units counted at 92, 95 and 95 s; then one that
// lives 4 s, which is due before the last of the ring:
//
//   ring        (102 s, 1) (105 s, 2)
//   scattered   (104 s, 1)
//
// Ticks are engine ms from -2^41 to 2^48: they are negative while a log is played, whose time is
// held back. Nothing fires by itself: each call says what time it is, so an answer is exact to the
// tick however late a turn comes. The wheel carries one timer a counter, its key's deadline,
// instead of one a drain: ten million pending drains take 80 MB, and none of them is touched until
// its counter is.
//
// A look leaves all where it is: what is due has passed, and goes with the next change. So looks do
// not disturb a walk through the drains in pieces (DrainWalk).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "storage/limits/record_queue.h"
#include "storage/limits/tick_run.h"

namespace sluice {

// A radix heap: a priority queue for keys that never go below the last one taken out. Add is O(1);
// DrainTo moves a tick down at most 49 times in its life, and mostly a few.
class ScatteredDrains {
 public:
  explicit ScatteredDrains(int64_t now_ms) : base_ms_(now_ms) {}

  using Units = absl::flat_hash_map<int64_t, uint64_t>;  // by tick

  // Requires: due_ms is after any time handed in earlier.
  void Add(int64_t due_ms, uint64_t units);
  // The units that have come to be due; they stay until DropPassed.
  uint64_t PassTo(int64_t now_ms) { return Pass(now_ms, true); }
  uint64_t DrainTo(int64_t now_ms);  // takes out what is due and returns its units
  void DropPassed();
  bool empty() const { return units_.empty(); }
  size_t heap_bytes() const;
  const Units& units() const { return units_; }  // in no order, with what has passed

 private:
  static constexpr int64_t kTickMin = -(int64_t{1} << 41);
  static constexpr int kTickBits = 49;  // of how far a tick is from that

  // The highest bit in which two ticks differ. Requires: they do.
  static int HighestBit(int64_t tick, int64_t other);
  std::vector<int64_t>& LevelOf(int64_t due_ms);
  uint64_t Pass(int64_t now_ms, bool keeps);

  int64_t base_ms_;  // everything is after it
  // By the highest bit in which a tick differs from base_ms_.
  std::array<std::vector<int64_t>, kTickBits> levels_;
  Units units_;                  // each tick stands in one level, or in passed_
  std::vector<int64_t> passed_;  // in no order
};

// Add and DrainTo are O(1) amortized. Add is O(n) when the ring's 32-bit times run out: at most
// once in 24 days.
class DrainQueue {
 public:
  DrainQueue() = default;
  DrainQueue(const DrainQueue& other) { *this = other; }
  DrainQueue& operator=(const DrainQueue& other);

  // Requires: due_ms is after now_ms, now_ms not before any time handed in earlier; units >= 1.
  void Add(int64_t now_ms, int64_t due_ms, uint64_t units);
  uint64_t DrainTo(int64_t now_ms);  // what is due at now_ms goes; returns its units
  uint64_t PassTo(int64_t now_ms);   // a look: the same, but what has passed stays until DrainTo
  int64_t passed_ms() const { return passed_ms_; }      // up to here nothing counts
  int64_t last_due_ms() const { return last_due_ms_; }  // no meaning when empty
  bool empty() const { return ring_.empty() && (scattered_ == nullptr || scattered_->empty()); }
  size_t records() const;
  bool IsFew() const { return ring_.size() <= kFew && scattered_ == nullptr; }
  void Prefetch() const { ring_.PrefetchBack(); }
  size_t heap_bytes() const;
  // As Value has them; what is scattered is freed by the destructor.
  size_t Elements() const { return ring_.chunks(); }
  size_t FreeSome(size_t budget) { return ring_.FreeSome(budget); }
  // False where they are too many, too much or scattered.
  bool CopyTo(TickRun& run) const;
  // Visits drains that are due after that: in order of time within the ring, then in no order. A
  // unit that has drained is gone, whatever the time.
  void ForEach(int64_t after_ms,
               absl::FunctionRef<void(int64_t due_ms, uint64_t units)> visit) const;

 private:
  friend class DrainWalk;
  static constexpr int64_t kNothing = INT64_MAX;
  static constexpr size_t kFew = 8;
  struct Record {
    uint32_t due;  // ms after epoch_ms_
    uint32_t units;
  };

  int64_t RingDueMs(size_t index) const { return epoch_ms_ + ring_[index].due; }
  int64_t RingLastMs() const;
  bool AddToRing(int64_t due_ms, uint64_t units);
  bool Rebase(int64_t due_ms);
  void DropPassed();

  RecordQueue<Record> ring_;  // in order of time
  int64_t epoch_ms_ = 0;
  int64_t last_due_ms_ = 0;
  // Before it nothing is due: of the ring's front, whose memory is mostly cold.
  int64_t next_due_ms_ = kNothing;
  int64_t passed_ms_ = INT64_MIN;
  size_t passed_ = 0;        // of the ring's front, by looks
  bool any_passed_ = false;  // there, or scattered
  std::unique_ptr<ScatteredDrains> scattered_;
};

// A walk over all that is due after some moment, in pieces. The queue must not be changed until it
// is over; looks are none.
class DrainWalk {
 public:
  using Visit = absl::FunctionRef<void(int64_t due_ms, uint64_t units)>;

  DrainWalk(const DrainQueue& queue, int64_t after_ms);  // the queue outlives it
  // Both look at up to `count` records and tell whether there are more. First what is in order of
  // time, then the rest.
  bool InOrder(size_t count, Visit visit);
  bool Scattered(size_t count, Visit visit);

 private:
  const DrainQueue& queue_;
  const int64_t after_ms_;
  size_t in_ring_;
  ScatteredDrains::Units::const_iterator scattered_;
};

}  // namespace sluice
