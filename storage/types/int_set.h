// IntSet: integers in ascending order, as narrow as the widest of them needs: 2, 4 or 8 bytes each.
// Small sets of numbers are kept in it.
//
// Looking up is a binary search; adding and removing move what is above: for some hundreds of
// numbers. Widths only grow.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/types/byte_block.h"

namespace sluice {

// {5, 300} is 05 00 2c 01; Add(70000) widens it to 05 00 00 00 2c 01 00 00 70 11 01 00.
class IntSet {
 public:
  size_t size() const { return bytes_.size() / width_; }
  bool empty() const { return size() == 0; }
  size_t heap_bytes() const { return bytes_.MemoryBytes(); }

  int64_t at(size_t index) const;  // in ascending order; requires: index < size()
  bool contains(int64_t value) const;
  bool Add(int64_t value);     // false when it is there already
  bool Remove(int64_t value);  // false when it is not there

 private:
  size_t LowerBound(int64_t value) const;
  void Store(size_t index, int64_t value);
  void Widen(uint32_t width);

  // size() numbers of width_ bytes, in the machine's own order.
  [[no_unique_address]] ByteBlock bytes_;
  uint32_t width_ = sizeof(int16_t);
};
static_assert(sizeof(IntSet) == 16);

}  // namespace sluice
