// See histogram.h.
#include "server/observe/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/base/attributes.h"

namespace sluice {

int Histogram::BucketOf(uint64_t value) {
  constexpr uint64_t kLinear = uint64_t{1} << kSubBits;
  if (value < kLinear) return static_cast<int>(value);
  const int shift = 63 - std::countl_zero(value) - kSubBits;
  return ((shift + 1) << kSubBits) + static_cast<int>((value >> shift) & (kLinear - 1));
}

// The largest value of the bucket.
int64_t Histogram::UpperBound(int bucket) {
  constexpr int kLinear = 1 << kSubBits;
  if (bucket < kLinear) return bucket;
  const int shift = (bucket >> kSubBits) - 1;
  const uint64_t base = static_cast<uint64_t>(kLinear + (bucket & (kLinear - 1)));
  return static_cast<int64_t>(((base + 1) << shift) - 1);
}

ABSL_ATTRIBUTE_NOINLINE void Histogram::RecordFirst(size_t number, int64_t value, uint64_t times) {
  if (number >= groups_.size()) groups_.resize(number + 1);
  groups_[number] = std::make_unique<Group>();
  Record(value, times);
}

void Histogram::Record(int64_t value, uint64_t times) {
  value = std::max<int64_t>(value, 0);
  const auto bucket = static_cast<unsigned>(BucketOf(static_cast<uint64_t>(value)));
  const size_t number = bucket >> kSubBits;
  if (number >= groups_.size() || !groups_[number]) [[unlikely]]
    return RecordFirst(number, value, times);
  (*groups_[number])[bucket % (1u << kSubBits)] += times;
  count_ += times;
  sum_ += static_cast<uint64_t>(value) * times;
  max_ = std::max(max_, value);
}

template <typename Visit>
void Histogram::Walk(Visit visit) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group]) continue;
    auto bucket = static_cast<int>(group << kSubBits);
    for (const uint64_t count : *groups_[group]) {
      if (!visit(bucket++, count)) return;
    }
  }
}

int64_t Histogram::Percentile(double percent) const {
  if (count_ == 0) return 0;
  const auto wanted = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_))));
  uint64_t seen = 0;
  int64_t found = max_;
  Walk([&](int bucket, uint64_t count) {
    seen += count;
    if (seen >= wanted) found = std::min(UpperBound(bucket), max_);
    return seen < wanted;
  });
  return found;
}

uint64_t Histogram::CountIn(int bucket) const {
  const auto at = static_cast<size_t>(bucket);
  const size_t group = at >> kSubBits;
  return group < groups_.size() && groups_[group] ? (*groups_[group])[at % (1u << kSubBits)] : 0;
}

int64_t Histogram::PercentileSince(const Histogram& before, double percent) const {
  if (count_ < before.count_) return Percentile(percent);
  const uint64_t fresh = count_ - before.count_;
  if (fresh == 0) return 0;
  const auto wanted = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(percent / 100 * static_cast<double>(fresh))));
  uint64_t seen = 0;
  int64_t found = max_;
  Walk([&](int bucket, uint64_t count) {
    seen += count - std::min(count, before.CountIn(bucket));
    if (seen >= wanted) found = std::min(UpperBound(bucket), max_);
    return seen < wanted;
  });
  return found;
}

Histogram Histogram::Copy() const {
  Histogram copy;
  copy.groups_.reserve(groups_.size());
  for (const std::unique_ptr<Group>& group : groups_) {
    copy.groups_.push_back(group ? std::make_unique<Group>(*group) : nullptr);
  }
  copy.count_ = count_;
  copy.sum_ = sum_;
  copy.max_ = max_;
  return copy;
}

uint64_t Histogram::CountAtMost(int64_t value) const {
  if (count_ == 0 || value < 0) return 0;
  uint64_t seen = 0;
  const int last = BucketOf(static_cast<uint64_t>(value));
  Walk([&](int bucket, uint64_t count) {
    if (bucket <= last) seen += count;
    return bucket < last;
  });
  return seen;
}

void Histogram::Reset() {
  groups_ = std::vector<std::unique_ptr<Group>>();
  count_ = 0;
  sum_ = 0;
  max_ = 0;
}

}  // namespace sluice
