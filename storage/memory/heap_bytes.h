// The memory that containers of the library take besides themselves, for accounts. All O(1), and
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
  return items.capacity() == 0 ? 0 : AllocatedSize(items.capacity() * sizeof(Item));
}

// An absl::flat_hash_map or _set has its slots, and a byte for each and for a group behind them.
template <typename Table>
size_t TableBytesFor(size_t capacity) {
  using Item = typename Table::value_type;
  if (capacity == 0) return 0;
  constexpr size_t kGroup = 16;
  const size_t marks = (capacity + kGroup + alignof(Item) - 1) / alignof(Item);
  return AllocatedSize(marks * alignof(Item) + capacity * sizeof(Item));
}
template <typename Table>
size_t TableBytes(const Table& table) {
  return TableBytesFor<Table>(table.capacity());
}

// Room for items of so many bytes in tables that are filled between the half and seven eighths.
constexpr size_t RoomOfTables(size_t bytes) { return bytes * 17 / 10; }

// The least that an item of so many bytes takes in an absl::flat_hash_map or _set: a table is never
// fuller than to seven eighths. For the account of whoever put it there; the rest of the table is
// nobody's.
constexpr size_t SlotBytes(size_t item_bytes) { return (item_bytes + 1) * 8 / 7; }

// A node of std::map or std::set: links and colour beside what it holds.
template <typename Tree>
constexpr size_t TreeNodeBytes() {
  return BlockSize(4 * sizeof(void*) + sizeof(typename Tree::value_type));
}

}  // namespace sluice
