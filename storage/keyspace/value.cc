// The names of the types. See value.h.
#include "storage/keyspace/value.h"

#include <iterator>

namespace sluice {
namespace {

// In the order of ValueType.
constexpr std::string_view kTypeNames[] = {
    "string", "list", "set", "zset", "hash", "stream", "limiter", "leakybucket", "lock",
};
static_assert(std::size(kTypeNames) == static_cast<size_t>(ValueType::kLock) + 1);

}  // namespace

std::string_view TypeName(ValueType type) { return kTypeNames[static_cast<size_t>(type)]; }

}  // namespace sluice
