// A value whose state is small lies inside its entry, packed into bytes (Entry::packed), without an
// object of its own; when it outgrows the entry it moves out, and back in when it is small again.
//
// A type that does so has a packed form, Value::Pack, and a way back, UnpackValue. Everything that
// entries and databases ask about a packed value they ask the object that it would be; code
// in a hurry reads and writes the bytes (limits/limiter_state.h, limits/tick_run.h) and stores them
// with Database::SetPacked, or when they do not fit the object with Database::SetValue.
#pragma once

#include <memory>
#include <string_view>

#include "storage/keyspace/value.h"

namespace sluice {

// The object of the same state; null if these bytes are none of that type's. Declared here and
// defined by the folder above that packs, limits/packed_values.cc, so that nothing here knows of
// limiters. Requires: packed in this process; a file is read by its own decoder.
std::unique_ptr<Value> UnpackValue(ValueType type, std::string_view packed);

}  // namespace sluice
