// ByteBlock: bytes in one heap block that is as large as they need, not larger; what the small
// forms of collections are kept in. Unlike std::string it has no room of its own, never doubles,
// and is 12 bytes in size: a class with a [[no_unique_address]] member of it may put 4 bytes of its
// own behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/memory/block_size.h"

namespace sluice {

// Owns its block. A copy is O(n); Splice is O(bytes behind `at`), and a call of realloc where the
// size passes from one class of malloc to another (block_size.h).
class ByteBlock {
 public:
  ByteBlock() = default;
  ByteBlock(const ByteBlock& other);
  ByteBlock(ByteBlock&& other) noexcept;
  ByteBlock& operator=(ByteBlock other) noexcept;
  ~ByteBlock();

  size_t size() const { return size_; }
  char* data() { return data_; }  // null when empty; valid until the next Splice
  const char* data() const { return data_; }
  size_t MemoryBytes() const { return BlockSize(size_); }  // heap memory owned

  // Makes or takes room: `old_bytes` at `at` become `new_bytes` of undefined content, pointed to.
  // Requires: the old ones are there; size() stays below 4 GiB.
  char* Splice(size_t at, size_t old_bytes, size_t new_bytes);

 private:
  char* data_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace sluice
