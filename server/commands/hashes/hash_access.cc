// See hash_access.h.
#include "server/commands/hashes/hash_access.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"

namespace sluice {

std::string LowerName(const CommandCall& call) { return LowerCase(call.spec().name); }

// Redis's sentence for a command whose pairs do not come out even.
std::string ArityText(const CommandCall& call) {
  return Concat("ERR wrong number of arguments for '", LowerName(call), "' command");
}

// Duplicates do no harm. Stops at the first field that is there.
bool HasAnyField(const CommandCall& call, const Hash& hash, size_t first, const Now& now) {
  return std::ranges::any_of(call.args.subspan(first),
                             [&](std::string_view name) { return hash.Has(name, now); });
}

}  // namespace sluice
