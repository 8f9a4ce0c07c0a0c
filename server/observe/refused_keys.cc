// See refused_keys.h.
#include "server/observe/refused_keys.h"

#include <algorithm>

namespace sluice {
namespace {

// Hashes of keys are secret, so names cannot be chosen to have one tag.
uint32_t TagOf(HashedKey key) { return static_cast<uint32_t>(key.hash >> 32 ^ key.hash); }

}  // namespace

size_t RefusedKeys::Find(int db, HashedKey key, uint32_t tag) const {
  for (size_t i = 0; i < used_; ++i) {
    if (tags_[i] != tag) [[likely]]
      continue;
    if (rows_[i].db == db && rows_[i].key == key.bytes) return i;
  }
  return used_;
}

// A place for a new key: a free one, or that of the least refused.
size_t RefusedKeys::Take() {
  if (used_ < kKept) return used_++;
  const auto least = std::ranges::min_element(rows_, {}, &Row::count);
  least->excess = least->count;
  return static_cast<size_t>(least - rows_.begin());
}

void RefusedKeys::Count(int db, HashedKey key) {
  if (key.bytes.size() > kKeyBytesMax) {
    ++too_long_;
    return;
  }
  const uint32_t tag = TagOf(key);
  size_t at = Find(db, key, tag);
  if (at == used_) {
    at = Take();
    tags_[at] = tag;
    rows_[at].db = db;
    rows_[at].key.assign(key.bytes);
  }
  ++rows_[at].count;
}

// Rows whose count has come to 0 leave.
void RefusedKeys::Halve() {
  too_long_ /= 2;
  size_t kept = 0;
  for (size_t i = 0; i < used_; ++i) {
    rows_[i].count /= 2;
    rows_[i].excess /= 2;
    if (rows_[i].count == 0) continue;
    if (kept != i) {
      rows_[kept] = std::move(rows_[i]);
      tags_[kept] = tags_[i];
    }
    ++kept;
  }
  for (size_t i = kept; i < used_; ++i) rows_[i] = Row();
  used_ = kept;
}

std::vector<const RefusedKeys::Row*> RefusedKeys::Top(size_t rows) const {
  std::vector<const Row*> top;
  for (size_t i = 0; i < used_; ++i) top.push_back(&rows_[i]);
  const auto count = [](const Row* row) { return row->count; };
  std::ranges::sort(top, std::greater(), count);
  if (top.size() > rows) top.resize(rows);
  return top;
}

}  // namespace sluice
