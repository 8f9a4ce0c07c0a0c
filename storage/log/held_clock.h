// Moments of a log: which it may name, and the one at which it is played: so long before the
// machine's time that all it tells of lies ahead. A base is written for that moment, too.
#pragma once

#include <cstdint>

namespace sluice {

// The latest that a log or a stream names, in ms; and as far before 1970.
inline constexpr int64_t kLogMomentMsMax = int64_t{1} << 49;

// 120 turns of the clock by which OBJECT IDLETIME counts, which so shows what it should.
inline constexpr int64_t kHeldBackSeconds = int64_t{120} << 24;

}  // namespace sluice
