// Shared parts of the hash families.
//
// Two facts hold for every command of the family. A hash whose last field goes takes its key along.
// A field past its deadline is missing for all of them, even before its timer has taken it out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/commands/shared/lookup.h"
#include "storage/types/hash.h"

namespace sluice {

inline constexpr KeySpecs kReadHash = KeyAt(1, kKeyRo | kKeyAccess);

// Up to which size a hash stays compact, in fields and in bytes of a name or value, and the secret
// keys for the table that it becomes beyond.
inline Hash::Limits HashLimits(const CommandCall& call) {
  const Settings& settings = call.settings;
  return {static_cast<size_t>(settings.hash_max_listpack_entries),
          static_cast<size_t>(settings.hash_max_listpack_value), &call.keyspace.hash_keys()};
}

std::string LowerName(const CommandCall& call);  // of the command, as errors spell it
// The number of arguments is wrong in a way that the row's arity cannot say.
std::string ArityText(const CommandCall& call);

// Whether any of the arguments from `first` on names a field that is there at a moment.
bool HasAnyField(const CommandCall& call, const Hash& hash, size_t first, const Now& now);

}  // namespace sluice
