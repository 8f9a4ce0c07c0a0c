// The name of a lock: that of its key. What waits for a lock, and what is remembered of one, stands
// beside the keyspace under this name.
#pragma once

#include "absl/container/inlined_vector.h"
#include "storage/hashing/key_name.h"

namespace sluice {

using LockNameView = KeyNameView;
using LockName = KeyName;
using LockNameHash = KeyNameHash;
using LockNameEqual = KeyNameEqual;
// Of one request, which mostly names one lock.
using LockNames = absl::InlinedVector<LockName, 1>;
template <typename T>
using LockNameMap = KeyNameMap<T>;

}  // namespace sluice
