// Which types have a packed form. See packed_value.h.
#include "storage/keyspace/packed_value.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"

namespace sluice {

std::unique_ptr<Value> UnpackValue(ValueType type, std::string_view packed) {
  if (type == ValueType::kLimiter) return Limiter::Unpack(packed);
  if (type == ValueType::kLeakyBucket) return LeakyBucket::Unpack(packed);
  return nullptr;
}

}  // namespace sluice
