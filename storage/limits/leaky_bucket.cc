// See leaky_bucket.h. A look lets pass what is due, so level_ changes in const functions: what is
// due is gone for every caller. The drains are taken out by the next count.
#include "storage/limits/leaky_bucket.h"

#include <algorithm>

#include "storage/time/timer_wheel.h"

namespace sluice {

int64_t LeakyBucket::DueMs(const Now& now, int64_t seconds) {
  assert(seconds >= 0);
  const int64_t last = TimerWheel::kDeadlineMsMax;
  const int64_t now_ms = now.ms();
  if (seconds > last / 1000 || seconds * 1000 > last - now_ms) return last;
  return now_ms + std::max<int64_t>(1, seconds * 1000);
}

LeakyBucket::LeakyBucket(const TickRun& run) {
  // In order of time none is scattered, and the time of adding does not matter.
  run.ForEach([this](int64_t due_ms, uint64_t units) {
    drains_.Add(due_ms - 1, due_ms, units);
    level_ += units;
  });
  accounted_bytes_ = sizeof(LeakyBucket) + drains_.heap_bytes();
}

std::unique_ptr<LeakyBucket> LeakyBucket::Unpack(std::string_view packed) {
  const TickRun run(packed);
  if (run.empty() || !run.Audit().empty()) return nullptr;
  return std::make_unique<LeakyBucket>(run);
}

// 0 for a bucket whose drains do not fit into a TickRun: it stays an object.
size_t LeakyBucket::Pack(char* out, size_t room) const {
  TickRun run;
  if (!drains_.CopyTo(run)) return 0;
  const std::string_view bytes = run.bytes();
  if (run.empty() || bytes.size() > room) return 0;
  std::ranges::copy(bytes, out);
  return bytes.size();
}

size_t LeakyBucket::FreeSome(size_t budget) {
  const size_t freed = drains_.FreeSome(budget);
  accounted_bytes_ = std::min(accounted_bytes_, sizeof(LeakyBucket) + drains_.heap_bytes());
  return freed;
}

void LeakyBucket::Count(const Now& now, int64_t due_ms, uint64_t units) {
  // First, so that level_ and the drains agree on what is still there.
  level_ -= drains_.DrainTo(now.ms());
  units = std::min(units, UINT64_MAX - level_);
  // A clock at the end of what the wheel can tell leaves nothing to wait for.
  if (units > 0 && due_ms > now.ms()) {
    drains_.Add(now.ms(), due_ms, units);
    level_ += units;
  }
  accounted_bytes_ = sizeof(LeakyBucket) + drains_.heap_bytes();
}

uint64_t LeakyBucket::Level(const Now& now) const {
  level_ -= drains_.PassTo(now.ms());
  return level_;
}

void LeakyBucket::ForEachDrain(const Now& now,
                               absl::FunctionRef<void(int64_t, uint64_t)> visit) const {
  drains_.ForEach(now.ms(), visit);
}

std::string LeakyBucket::Audit() const {
  uint64_t units = 0;
  bool in_time = true;
  drains_.ForEach(drains_.passed_ms(), [&](int64_t due_ms, uint64_t each) {
    units += each;
    in_time &= due_ms <= last_due_ms();
  });
  if (units != level_) return "a bucket's level is not the sum of its drains";
  if (!in_time) return "a drain is due after the bucket's last";
  return {};
}

std::unique_ptr<Value> LeakyBucket::Clone() const { return std::make_unique<LeakyBucket>(*this); }

}  // namespace sluice
