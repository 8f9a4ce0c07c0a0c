// What the hash families share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/commands/shared/lookup.h"
#include "storage/types/hash.h"

namespace sluice {

inline Hash::Limits HashLimits(const CommandCall& call) {
  const Settings& settings = call.settings;
  return {static_cast<size_t>(settings.hash_max_listpack_entries),
          static_cast<size_t>(settings.hash_max_listpack_value), &call.keyspace.hash_keys()};
}

std::string LowerName(const CommandCall& call);  // of the command, as errors spell it
// The number of arguments is wrong in a way that the row's arity cannot say.
std::string ArityText(const CommandCall& call);

// Whether any of the arguments from `first` on names a field.
bool HasAnyField(const CommandCall& call, const Hash& hash, size_t first);

}  // namespace sluice
