// The name of a key: its database, as clients count them, and its bytes. State beside the keyspace
// that belongs to a key, be it there or not (its waiters, what is remembered of it), is kept under
// this name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "storage/hashing/sip_hash.h"

namespace sluice {

// To look up with: the bytes are the caller's, and nothing is copied.
struct KeyNameView {
  int db = 0;
  std::string_view key;
};

// To keep: owns its bytes.
struct KeyName {
  int db = 0;
  std::string key;

  KeyName() = default;
  explicit KeyName(KeyNameView view) : db(view.db), key(view.key) {}
  operator KeyNameView() const { return {db, key}; }  // NOLINT: a view of itself
  auto operator<=>(const KeyName&) const = default;
};

// Both forms hash alike, and so do the maps below find by either without making a string.
struct KeyNameHash {
  using is_transparent = void;
  explicit KeyNameHash(const SipKey& sip_key) : key(sip_key) {}
  size_t operator()(KeyNameView name) const {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // sets databases apart
    return SipHash13(name.key, key) + kGolden * static_cast<uint64_t>(name.db);
  }
  SipKey key;
};

struct KeyNameEqual {
  using is_transparent = void;
  bool operator()(KeyNameView a, KeyNameView b) const { return a.db == b.db && a.key == b.key; }
};

// Made as KeyNameMap<T> map(0, KeyNameHash(key)): it has no hasher without a secret key.
template <typename T>
using KeyNameMap = absl::flat_hash_map<KeyName, T, KeyNameHash, KeyNameEqual>;

}  // namespace sluice
