// Histogram: counts of non-negative numbers in log-linear buckets (32 per power of two: within 3
// %), after HdrHistogram's idea. Memory is taken on the first Record.
#pragma once

#include <cstdint>
#include <memory>

namespace sluice {

class Histogram {
 public:
  // `times`: as if it came so often.
  void Record(int64_t value, uint64_t times = 1);
  // A value that at least `percent` (0..100] of the recorded ones do not exceed: the upper bound of
  // the first bucket for which that holds, so at most 3 % too large. 0 if empty.
  int64_t Percentile(double percent) const;
  int64_t max() const { return max_; }
  uint64_t count() const { return count_; }
  // How many values were at most `value` (to bucket precision).
  uint64_t CountAtMost(int64_t value) const;
  // Gives the memory back too.
  void Reset();

 private:
  // 32 parts a power of two, 1888 buckets, 15 kB once something was recorded.
  static constexpr int kSubBits = 5;
  static constexpr int kBuckets = (64 - kSubBits) << kSubBits;
  // Buckets are numbered from the smallest values on.
  static int BucketOf(uint64_t value);
  static int64_t UpperBound(int bucket);

  std::unique_ptr<uint64_t[]> buckets_;
  uint64_t count_ = 0;
  int64_t max_ = 0;
};

}  // namespace sluice
