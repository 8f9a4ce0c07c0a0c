// DrainQueue: how many units are to go at which tick. What LeakyBucket consists of.
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

  void Add(int64_t due_ms, uint64_t units);  // precondition: due_ms is after the last DrainTo
  uint64_t DrainTo(int64_t now_ms);          // takes out what is due and returns its units
  bool empty() const { return units_.empty(); }
  size_t heap_bytes() const;
  void ForEach(absl::FunctionRef<void(int64_t due_ms, uint64_t units)> visit) const;

 private:
  static constexpr int64_t kTickMin = -(int64_t{1} << 41);
  static constexpr int kTickBits = 49;  // of how far a tick is from that

  // The highest bit in which two ticks differ. Precondition: they do.
  static int HighestBit(int64_t tick, int64_t other);
  std::vector<int64_t>& LevelOf(int64_t due_ms);

  int64_t base_ms_;  // everything is after it
  // By the highest bit in which a tick differs from base_ms_.
  std::array<std::vector<int64_t>, kTickBits> levels_;
  absl::flat_hash_map<int64_t, uint64_t> units_;  // by tick; each stands in one level
};

// Add and DrainTo are O(1) amortized. Add is O(n) when the ring's 32-bit times run out: at most
// once in 24 days.
class DrainQueue {
 public:
  DrainQueue() = default;
  DrainQueue(const DrainQueue& other) { *this = other; }
  DrainQueue& operator=(const DrainQueue& other);

  // Preconditions: due_ms is after now_ms, now_ms not before any time handed in earlier; units
  // >= 1.
  void Add(int64_t now_ms, int64_t due_ms, uint64_t units);
  uint64_t DrainTo(int64_t now_ms);  // what is due at now_ms goes; returns its units
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
  // In order of time within the ring, then in no order.
  void ForEach(absl::FunctionRef<void(int64_t due_ms, uint64_t units)> visit) const;

 private:
  static constexpr int64_t kNothing = INT64_MAX;
  static constexpr size_t kFew = 8;
  struct Record {
    uint32_t due;  // ms after epoch_ms_
    uint32_t units;
  };

  int64_t RingLastMs() const;
  bool AddToRing(int64_t due_ms, uint64_t units);
  bool Rebase(int64_t due_ms);

  RecordQueue<Record> ring_;  // in order of time
  int64_t epoch_ms_ = 0;
  int64_t last_due_ms_ = 0;
  // Before it nothing is due: of the ring's front, whose memory is mostly cold.
  int64_t next_due_ms_ = kNothing;
  std::unique_ptr<ScatteredDrains> scattered_;
};

}  // namespace sluice
