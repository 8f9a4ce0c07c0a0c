// Limiters and leaky buckets in RDB form, as module values (rdb_module.h). All moments are Unix
// times, so that every reader, whenever and wherever, sees the same ends. What has ended by the
// time it is written is left out, so equal limiters are equal bytes.
//
//   sluicelim: algorithm | max | period in ms | burst | banned (0 1) [until in ms] | used (0 1)
//              [WINDOW: end in ms | units       SLIDING: start in ms | whole | previous | current
//               ROLLING, GCRA: arrival time in us | its part in 1/max us
//               LOG, LEAKY: whole | ticks]
//              whole: the shares in all (limits/shares.h); of SLIDING 0 where they are max
//   sluicebkt: ticks, at which units drain
//   ticks:     count | [first in ms] (ms after the one before: 0 of the first, then 1 ..; units) ..
//
// Algorithms have the numbers of LimitAlgorithm. Moments are signed, all other numbers unsigned.
#pragma once

#include <memory>

#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"
#include "storage/rdb/rdb_module.h"
#include "storage/time/clock.h"

namespace sluice {

inline constexpr RdbModuleType kRdbLimiter{"sluicelim"};
inline constexpr RdbModuleType kRdbLeakyBucket{"sluicebkt"};

void WriteLimiter(const Limiter& limiter, const Now& now, RdbWriter& writer);
void WriteLeakyBucket(const LeakyBucket& bucket, const Now& now, RdbWriter& writer);

// Each takes the parts of its type; null at a fault. What is read may have ended: ask EndsAtMs.
std::unique_ptr<Limiter> ReadLimiter(ModuleReader& reader, const Now& now);
std::unique_ptr<LeakyBucket> ReadLeakyBucket(ModuleReader& reader, const Now& now);

}  // namespace sluice
