// Limiters and leaky buckets in RDB form, as module values (rdb_module.h). All moments are Unix
// times, so that every reader, whenever and wherever, sees the same ends. A part that has ended by
// the time of writing is left out, so equal limiters are equal bytes.
//
//   sluicelim: algorithm | max | period in ms | burst | banned (0 1) [until in ms] | used (0 1)
//              [WINDOW: end in ms | units       SLIDING: start in ms | whole | previous | current
//               ROLLING, GCRA: arrival time in us | its part in 1/max us
//               LOG, LEAKY: whole | ticks]
//              whole: the shares in all (limits/shares.h); of SLIDING 0 where they are max
//   sluicebkt: ticks, at which units drain
//   ticks:     count | [first in ms] (ms after the one before: 0 of the first, then 1 ..; units) ..
//
// A large bucket is written in pieces, by a cursor that goes over its drains as they lie in memory.
// So neither their number nor the order of all of them is known, and they have a second form:
//
//   sluicebkt, version 2: moment in ms | (units | ms after the one before, first the moment) .. | 0
//                                      | (units | ms after the moment) .. | 0
//
// Algorithms have the numbers of LimitAlgorithm. Moments are signed, all other numbers unsigned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"
#include "storage/rdb/rdb_module.h"
#include "storage/time/clock.h"

namespace sluice {

inline constexpr RdbModuleType kRdbLimiter{"sluicelim"};
inline constexpr RdbModuleType kRdbLeakyBucket{"sluicebkt"};
inline constexpr RdbModuleType kRdbLargeBucket{"sluicebkt", 2};

// A limiter in pieces. It must not change meanwhile.
class LimiterParts {
 public:
  // Writes what stands before its requests: configuration, ban and state. All of these outlive the
  // parts.
  LimiterParts(const Limiter& limiter, const Now& now, RdbWriter& out);
  // Up to so many requests, as ticks; false: those were the last.
  bool WriteNext(size_t count);

 private:
  void WriteUsed(const LimiterState& state);

  const RequestLog* const log_;  // null: there are no requests
  const Now now_;
  ModuleWriter writer_;
  size_t next_ = 0;  // of the log's records
  size_t end_ = 0;
  int64_t before_ms_ = 0;
};

// A bucket in pieces, in the second form. It must not change meanwhile; looks are no change.
class LargeBucketParts {
 public:
  LargeBucketParts(const LeakyBucket& bucket, const Now& now, RdbWriter& out);
  bool WriteNext(size_t count);  // as LimiterParts

 private:
  const int64_t moment_ms_;
  ModuleWriter writer_;
  DrainWalk walk_;
  int64_t before_ms_;
  bool is_in_order_ = true;
};

void WriteLimiter(const Limiter& limiter, const Now& now, RdbWriter& writer);
void WriteLeakyBucket(const LeakyBucket& bucket, const Now& now, RdbWriter& writer);

// Each takes the parts of its type; null at a fault. The value may have ended: ask EndsAtMs.
std::unique_ptr<Limiter> ReadLimiter(ModuleReader& reader, const Now& now);
std::unique_ptr<LeakyBucket> ReadLeakyBucket(ModuleReader& reader, const Now& now);
std::unique_ptr<LeakyBucket> ReadLargeBucket(ModuleReader& reader, const Now& now);

}  // namespace sluice
