// EndedKeys: keys, and fields of hashes, whose time was over when an import had loaded them. They
// are taken out, or kept without a deadline. Those of the server's own types (locks, limiters,
// buckets) are left alone: what is over has nothing in it.
//
// Nobody is told of it: an import has no clients and no log.
#pragma once

#include <cstdint>

#include "storage/keyspace/keyspace.h"
#include "storage/time/clock.h"

namespace sluice {

struct EndedKeys {
  uint64_t keys = 0;
  uint64_t fields = 0;  // of hashes that are not over as a whole, when these are taken out
};

enum class EndedFate : uint8_t { kTakenOut, kKept };

// Goes over all databases, O(keys).
EndedKeys SortOutEnded(Keyspace& keyspace, const Now& now, EndedFate fate);

}  // namespace sluice
