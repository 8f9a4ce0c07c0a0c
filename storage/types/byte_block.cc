// See byte_block.h.
#include "storage/types/byte_block.h"

#include <absl/base/macros.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice {

ByteBlock::ByteBlock(const ByteBlock& other) {
  if (other.size_ > 0) std::memcpy(Splice(0, 0, other.size_), other.data_, other.size_);
}

ByteBlock::ByteBlock(ByteBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

ByteBlock& ByteBlock::operator=(ByteBlock other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

ByteBlock::~ByteBlock() { std::free(data_); }

char* ByteBlock::Splice(size_t at, size_t old_bytes, size_t new_bytes) {
  const size_t before = size_;
  ABSL_HARDENING_ASSERT(at <= before && old_bytes <= before - at);
  const size_t after = before - old_bytes + new_bytes;
  ABSL_HARDENING_ASSERT(after <= UINT32_MAX);
  const size_t tail = before - at - old_bytes;
  // The tail moves before the block shrinks and after it has grown, as the other way round it would
  // be cut off, or have no room yet.
  if (after < before && tail > 0) {
    std::memmove(data_ + at + new_bytes, data_ + at + old_bytes, tail);
  }
  if (after == 0) {
    std::free(std::exchange(data_, nullptr));
  } else if (BlockSize(before) != BlockSize(after)) {
    data_ = static_cast<char*>(std::realloc(data_, BlockSize(after)));
    if (!data_) std::abort();  // as `new` without exceptions would
  }
  if (after > before && tail > 0) {
    std::memmove(data_ + at + new_bytes, data_ + at + old_bytes, tail);
  }
  size_ = static_cast<uint32_t>(after);
  return data_ + at;
}

}  // namespace sluice
