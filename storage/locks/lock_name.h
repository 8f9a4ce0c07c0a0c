// The name of a lock: a database and a key. What waits for a lock, and what is remembered of one,
// stands beside the keyspace under this name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "xxhash.h"

namespace sluice {

struct LockNameView {
  int db = 0;
  std::string_view key;
};

struct LockName {
  int db = 0;
  std::string key;

  LockName() = default;
  explicit LockName(LockNameView view) : db(view.db), key(view.key) {}
  operator LockNameView() const { return {db, key}; }  // NOLINT: a view of itself
  auto operator<=>(const LockName&) const = default;
};

// Seeded: the keys are chosen by clients.
struct LockNameHash {
  using is_transparent = void;
  uint64_t seed = 0;
  size_t operator()(LockNameView name) const {
    return XXH3_64bits_withSeed(name.key.data(), name.key.size(),
                                seed + static_cast<uint64_t>(name.db));
  }
};

struct LockNameEqual {
  using is_transparent = void;
  bool operator()(LockNameView a, LockNameView b) const { return a.db == b.db && a.key == b.key; }
};

template <typename T>
using LockNameMap = absl::flat_hash_map<LockName, T, LockNameHash, LockNameEqual>;

}  // namespace sluice
