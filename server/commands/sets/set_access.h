// The limits and the hash keys of sets, for all set families.
//
// The limit says up to how many integers a set is kept as a sorted array of them; the keys are the
// server's secret ones, so that clients cannot choose colliding members.
#pragma once

#include "server/commands/shared/lookup.h"
#include "storage/types/set.h"

namespace sluice {

// Read anew for each command, as CONFIG SET may have changed it. A set that has grown never shrinks
// back.
inline Set::Limits SetLimits(const CommandCall& call) {
  return {static_cast<size_t>(call.settings.set_max_intset_entries), &call.keyspace.hash_keys()};
}

}  // namespace sluice
