// What containers of the library take of memory besides themselves, for accounts. All O(1), and
// true of libstdc++ and abseil as Debian 12 has them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "storage/memory/block_size.h"

namespace sluice {

// Short texts lie in the object.
inline size_t HeapBytes(const std::string& text) {
  static const size_t kInside = std::string().capacity();
  return text.capacity() <= kInside ? 0 : BlockSize(text.capacity() + 1);
}

template <typename Item>
size_t HeapBytes(const std::vector<Item>& items) {
  return items.capacity() == 0 ? 0 : BlockSize(items.capacity() * sizeof(Item));
}

// Of an absl::flat_hash_map or _set: its slots, and a byte for each.
template <typename Table>
size_t TableBytes(const Table& table) {
  return table.capacity() * (sizeof(typename Table::value_type) + 1);
}

// A node of std::map or std::set: links and colour beside what it holds.
template <typename Tree>
constexpr size_t TreeNodeBytes() {
  return BlockSize(4 * sizeof(void*) + sizeof(typename Tree::value_type));
}

}  // namespace sluice
