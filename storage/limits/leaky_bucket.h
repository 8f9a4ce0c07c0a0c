// LeakyBucket: a key's value of type `leakybucket`, as the Redis module redis-leaky-bucket keeps
// its counters. A count adds units and takes them away again, each by itself, some time later:
//
//   bucket.Count(now, LeakyBucket::DueMs(now, seconds));
//   entry deadline <- Deadline::Steady(bucket.last_due_ms())       when the last unit is gone
//
// It limits nothing: the caller that counts decides what is too much. Times are engine ms. The last
// unit's tick is the key's deadline, so an empty bucket is a missing key; of keys with other
// deadlines (EXPIRE) the earlier one holds. To a count or a look what is due is gone, exact to the
// tick; drains and their memory are drain_queue.h.
//
// Its packed form is the TickRun of its drains: a bucket of a few has no object at all, and
// LBUCKET.COUNT works on the run.
#pragma once

#include <memory>

#include "storage/keyspace/value.h"
#include "storage/limits/drain_queue.h"
#include "storage/limits/tick_run.h"
#include "storage/time/clock.h"

namespace sluice {

// Costs: Count and Level are O(1) amortized a unit that drains. Memory is 8 bytes a tick with units
// that are pending, see drain_queue.h.
class LeakyBucket final : public Value {
 public:
  // When a unit counted now, for that many seconds, is to drain: the next tick for 0 (in its own it
  // would never have counted), the wheel's last (8,919 years) for what is beyond. Requires: seconds
  // >= 0.
  static int64_t DueMs(const Now& now, int64_t seconds);

  LeakyBucket() = default;
  // Requires: the run is not empty.
  explicit LeakyBucket(const TickRun& run);
  // Null: the bytes are no bucket's.
  static std::unique_ptr<LeakyBucket> Unpack(std::string_view packed);

  // Requires: units >= 1. Saturates at 2^64 - 1 units; what is due already is gone at once.
  void Count(const Now& now, int64_t due_ms, uint64_t units = 1);
  // The units that have not drained yet. A look is not a change: no memory is freed, and the drains
  // that have passed are still there for ForEachDrain.
  uint64_t Level(const Now& now) const;
  int64_t last_due_ms() const { return drains_.last_due_ms(); }  // requires: counted once
  // So few drains that it is worth a look whether they fit into the entry again.
  bool IsFew() const { return drains_.IsFew(); }
  // All that is pending at that time, be it before the last look, for snapshots: Count it again
  // with the same ticks.
  void ForEachDrain(const Now& now,
                    absl::FunctionRef<void(int64_t due_ms, uint64_t units)> visit) const;
  // The same in pieces.
  DrainWalk WalkDrains(const Now& now) const { return {drains_, now.ms()}; }

  void Prefetch() const override { drains_.Prefetch(); }
  ValueType type() const override { return ValueType::kLeakyBucket; }
  std::string_view Encoding() const override { return "drains"; }
  size_t MemoryBytes() const override { return accounted_bytes_; }
  std::unique_ptr<Value> Clone() const override;
  size_t Pack(char* out, size_t room) const override;
  size_t Elements() const override { return 1 + drains_.Elements(); }
  size_t FreeSome(size_t budget) override;
  int64_t EndsAtMs(const Now& now) const override {
    return Level(now) == 0 ? now.ms() : last_due_ms();
  }
  std::string Audit() const override;

 private:
  mutable DrainQueue drains_;
  mutable uint64_t level_ = 0;
  size_t accounted_bytes_ = sizeof(LeakyBucket);
};

}  // namespace sluice
