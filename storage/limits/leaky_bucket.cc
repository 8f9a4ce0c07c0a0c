// See leaky_bucket.h.
#include "storage/limits/leaky_bucket.h"

#include <algorithm>

#include "storage/timer_wheel.h"

namespace sluice {
namespace {

int64_t UnixSecond(int64_t engine_ms, const Now& now) {
  const int64_t unix_ms = engine_ms + now.unix_offset_ms;
  return unix_ms / 1000 - (unix_ms % 1000 < 0 ? 1 : 0);
}

}  // namespace

int64_t LeakyBucket::DueMs(const Now& now, int64_t seconds, bool by_second) const {
  assert(seconds >= 0);
  const int64_t last = TimerWheel::kDeadlineMsMax;
  if (seconds > (last - now.ms()) / 1000) return last;
  const int64_t span_ms = std::max<int64_t>(1, seconds * 1000);
  if (by_second && Level(now) > 0) {
    const int64_t counted_ms = last_due_ms() - span_ms;  // by the first of its second
    if (counted_ms <= now.ms() && UnixSecond(counted_ms, now) == UnixSecond(now.ms(), now))
      return std::max(last_due_ms(), now.ms() + 1);
  }
  return now.ms() + span_ms;
}

void LeakyBucket::Count(const Now& now, int64_t due_ms, uint64_t units) {
  Level(now);
  units = std::min(units, UINT64_MAX - level_);
  // A clock at the end of what the wheel can tell leaves nothing to wait for.
  if (units > 0 && due_ms > now.ms()) {
    drains_.Add(now.ms(), due_ms, units);
    level_ += units;
  }
  accounted_bytes_ = sizeof(LeakyBucket) + drains_.heap_bytes();
}

uint64_t LeakyBucket::Level(const Now& now) const {
  level_ -= drains_.DrainTo(now.ms());
  return level_;
}

void LeakyBucket::ForEachDrain(const Now& now,
                               absl::FunctionRef<void(int64_t, uint64_t)> visit) const {
  Level(now);
  drains_.ForEach(visit);
}

std::unique_ptr<Value> LeakyBucket::Clone() const { return std::make_unique<LeakyBucket>(*this); }

}  // namespace sluice
