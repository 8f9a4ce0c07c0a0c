// Histogram: counts of non-negative numbers in log-linear buckets (32 per power of two: within 3
// %), after HdrHistogram's idea. Memory is taken where something is recorded: for each power of two
// that came, 256 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

class Histogram {
 public:
  // O(1). Negative values count as 0: a clock may step between two readings. `times`: as if it came
  // so often.
  void Record(int64_t value, uint64_t times = 1);
  // A value that at least `percent` (0..100] of the recorded ones do not exceed: the upper bound of
  // the first bucket for which that holds, so at most 3 % too large, and never above the largest
  // value. 0 if empty. O(buckets).
  int64_t Percentile(double percent) const;
  // The same of what was recorded since `before` was copied from this one; of all, where it was
  // Reset since.
  int64_t PercentileSince(const Histogram& before, double percent) const;
  Histogram Copy() const;
  int64_t max() const { return max_; }
  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  // How many values were at most `value`; all of its bucket are counted. O(buckets).
  uint64_t CountAtMost(int64_t value) const;
  // Gives the memory back too.
  void Reset();

 private:
  // A power of two is a group of 32 buckets; the smallest values are a group, too.
  static constexpr int kSubBits = 5;
  using Group = std::array<uint64_t, 1 << kSubBits>;
  // Buckets are numbered from the smallest values on. The first 32 values have a bucket each; from
  // there on each power of two is cut into 32 equal parts, so the leading six bits choose the
  // bucket.
  static int BucketOf(uint64_t value);
  static int64_t UpperBound(int bucket);
  uint64_t CountIn(int bucket) const;
  // Record of the first value of a group. It ends with that call, which then keeps nothing over it.
  void RecordFirst(size_t number, int64_t value, uint64_t times);
  // Calls `visit(bucket, count)` for the buckets of groups that are there, from the smallest on,
  // until it answers false.
  template <typename Visit>
  void Walk(Visit visit) const;

  std::vector<std::unique_ptr<Group>> groups_;  // up to the highest that came
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  int64_t max_ = 0;
};

}  // namespace sluice
