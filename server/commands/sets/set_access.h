// What the set families share.
#pragma once

#include "server/commands/shared/lookup.h"
#include "storage/types/set.h"

namespace sluice {

inline Set::Limits SetLimits(const CommandCall& call) {
  return {static_cast<size_t>(call.settings.set_max_intset_entries), &call.keyspace.hash_keys()};
}

}  // namespace sluice
