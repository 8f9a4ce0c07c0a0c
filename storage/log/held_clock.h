// The moment at which a log is played: so long before the machine's time that all it tells of lies
// ahead. A base is written for that moment, too.
#pragma once

#include <cstdint>

namespace sluice {

// 120 turns of the clock by which OBJECT IDLETIME counts, which so shows what it should.
inline constexpr int64_t kHeldBackSeconds = int64_t{120} << 24;

}  // namespace sluice
