// DrainSeconds: which drains go together under `lbucket-second-buckets yes`, over all buckets.
//
// The Redis module redis-leaky-bucket has one timer for everything that is to drain in the same
// whole second of Unix time, whatever its key. The first count of such a second sets the timer to
// its own exact moment; later ones leave with it, up to a second early or late.
//
//   due_ms = seconds.Join(LeakyBucket::DueMs(now, 10), now);
//
// The seconds that are still to come are kept, at most kSecondsMax of them: beyond that a count
// drains at its own moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "storage/time/clock.h"

namespace sluice {

// One for all buckets of the server. It changes when counts drain, not what they count.
class DrainSeconds {
 public:
  static constexpr size_t kSecondsMax = 100'000;

  // When what is due at `due_ms` (engine ms, after now) really drains. O(log n).
  int64_t Join(int64_t due_ms, const Now& now);
  size_t size() const { return due_ms_of_.size(); }

 private:
  std::map<int64_t, int64_t> due_ms_of_;  // by Unix second
};

}  // namespace sluice
