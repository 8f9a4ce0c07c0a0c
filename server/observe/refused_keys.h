// RefusedKeys: which keys limiters refuse most, in bounded memory however many there are: the
// Space-Saving sketch (Metwally, Agrawal, El Abbadi 2005). A new key takes over the counter
// of the least refused one, with its count. So a key that is refused more often than
// 1 / kKept of all refusals is always there, and a count is too high by at most `excess`.
//
//   refused.Count(db, key);              // a refusal: O(kKept), by tags that lie side by side
//   for (const RefusedKeys::Row* row : refused.Top(20)) ...
//
// Halve() is called once an hour, so that what was refused last year does not stay at the top. It
// is made only where there is an HTTP port: some 10 KB with usual names, 70 KB at most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/keyspace/segment_table.h"

namespace sluice {

class RefusedKeys {
 public:
  static constexpr size_t kKept = 64;
  // Refusals of keys with longer names are only counted together.
  static constexpr size_t kKeyBytesMax = 1024;

  struct Row {
    int db = 0;
    std::string key;
    uint64_t count = 0;
    uint64_t excess = 0;  // of `count`: may be others'
  };

  void Count(int db, HashedKey key);
  void Halve();
  // The most refused first. O(kKept).
  std::vector<const Row*> Top(size_t rows) const;
  uint64_t too_long() const { return too_long_; }

 private:
  size_t Find(int db, HashedKey key, uint32_t tag) const;  // used_: it has no counter
  size_t Take();

  size_t used_ = 0;
  std::array<uint32_t, kKept> tags_{};  // of names, to be looked through at once
  std::array<Row, kKept> rows_;
  uint64_t too_long_ = 0;
};

}  // namespace sluice
