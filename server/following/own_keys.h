// OwnKeys: goes over the keys that no Redis can hold (locks, limits), to take them out where a
// redis-server makes the master's stream from here on. It has none of them, so its stream would
// never tell of their ends, and may use their names.
//
//   while (!keys.Slice(keyspace, [](int db, std::string_view key) { return Delete(db, key); })) ...
//
// Bounds: a slice visits some hundred entries, a few more where the hash table needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "storage/keyspace/keyspace.h"

namespace sluice {

class OwnKeys {
 public:
  static constexpr size_t kSliceEntries = 512;

  // Called once the slice is known, so that it may delete them. False: not yet, the slice is to be
  // gone over again.
  using Visit = std::function<bool(int db, std::string_view key)>;
  // True: that was the last one, and the next begins anew.
  bool Slice(Keyspace& keyspace, const Visit& visit);

 private:
  int db_ = 0;
  uint64_t cursor_ = 0;
};

}  // namespace sluice
