// The name of a lock: that of its key. Waits for a lock, and the memory of one, stand beside the
// keyspace under this name.
#pragma once

#include "absl/container/inlined_vector.h"
#include "storage/hashing/key_name.h"

namespace sluice {

using LockNameView = KeyNameView;
using LockName = KeyName;
using LockNameHash = KeyNameHash;
using LockNameEqual = KeyNameEqual;
// The names in one request: mostly one.
using LockNames = absl::InlinedVector<LockName, 1>;
template <typename T>
using LockNameMap = KeyNameMap<T>;

}  // namespace sluice
