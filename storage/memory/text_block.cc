// See text_block.h. From kMappedAt on a block is pages of mmap, which mremap moves and madvise
// clears; `head_` is what Narrow has cut off in front of the text inside them.
#include "storage/memory/text_block.h"

#include <absl/base/macros.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "storage/memory/block_size.h"

namespace sluice {
namespace {

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Above this Narrow moves the text instead of leaving more before it.
constexpr size_t kHeadMax = 1 << 20;

size_t WholePages(size_t bytes) { return (bytes + PageBytes() - 1) / PageBytes() * PageBytes(); }

// malloc says null and mmap MAP_FAILED: neither has a way on from here.
char* Checked(void* block) {
  if (block == nullptr || block == MAP_FAILED) std::abort();
  return static_cast<char*>(block);
}

char* Map(size_t bytes) {
  return Checked(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

// Has the system make the pages that are about to be written, all with one call instead of one
// fault each: 256 MB are copied in two thirds of the CPU time. Where it cannot, they come by
// faults.
void MakePages(char* at, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  constexpr size_t kWorthACall = 256 << 10;
  if (bytes < kWorthACall) return;
  const size_t before = reinterpret_cast<uintptr_t>(at) % PageBytes();
  madvise(at - before, WholePages(before + bytes), MADV_POPULATE_WRITE);
#else
  static_cast<void>(at), static_cast<void>(bytes);
#endif
}

}  // namespace

// --- coming and going

TextBlock::TextBlock(TextBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      head_(std::exchange(other.head_, 0)),
      mapped_(std::exchange(other.mapped_, false)) {}

TextBlock& TextBlock::operator=(TextBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(head_, other.head_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

TextBlock::~TextBlock() {
  if (mapped_) {
    if (head_ + capacity_ > 0) munmap(Pages(), head_ + capacity_);
  } else {
    std::free(data_);
  }
}

TextBlock TextBlock::OfSize(size_t bytes) {
  TextBlock block;
  if (bytes > 0) block.Move(bytes);
  if (block.mapped_) MakePages(block.data_, bytes);
  block.size_ = bytes;
  return block;
}

// --- the text

// A text that is a part of this block already fits, and is in its place before any of the block is
// given up.
void TextBlock::Assign(std::string_view text) {
  const size_t kept = std::min(size_, text.size());
  if (kept > 0) std::memmove(data_, text.data(), kept);
  Resize(kept);
  Append(text.substr(kept));
}

// Not of its own bytes: Reserve may move them away before they are copied.
void TextBlock::Append(std::string_view text) {
  if (text.empty()) return;
  Reserve(size_ + text.size());
  if (mapped_) MakePages(data_ + size_, text.size());
  std::memcpy(data_ + size_, text.data(), text.size());
  size_ += text.size();
}

std::span<char> TextBlock::Room(size_t bytes, size_t wanted) {
  if (size_ + bytes > capacity_) Move(size_ + std::max(bytes, wanted));
  if (mapped_) MakePages(data_ + size_, bytes);
  return {data_ + size_, bytes};
}

void TextBlock::Resize(size_t bytes) {
  if (bytes > size_) {
    Reserve(bytes);
    if (!mapped_) std::memset(data_ + size_, 0, bytes - size_);
  } else if (mapped_) {
    Clear(bytes, size_);
  }
  size_ = bytes;
}

// Makes a part of the pages zero; whole ones by giving them back.
void TextBlock::Clear(size_t from, size_t to) {
  from += head_;
  to += head_;
  const size_t page = std::min(WholePages(from), to);
  if (page > from) std::memset(Pages() + from, 0, page - from);
  if (to > page) madvise(Pages() + page, WholePages(to) - page, MADV_DONTNEED);
}

void TextBlock::Narrow(size_t begin, size_t bytes) {
  ABSL_HARDENING_ASSERT(begin <= size_ && bytes <= size_ - begin);
  Resize(begin + bytes);
  if (!mapped_ || head_ + begin > kHeadMax) {
    std::memmove(data_, data_ + begin, bytes);
    return Resize(bytes);
  }
  data_ += begin;
  size_ -= begin;
  capacity_ -= begin;
  head_ += static_cast<uint32_t>(begin);
}

// --- the block

void TextBlock::Reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  // The first block is made to measure: most strings never grow. Then it doubles up to kSlackMax,
  // and grows by a MiB each time: mapped pages move without copying, so small steps cost little
  // there, and a GiB does not reserve another.
  Move(capacity_ == 0 ? bytes : bytes + std::min(bytes, kSlackMax));
}

void TextBlock::ReserveClosely(size_t bytes) {
  if (bytes > capacity_) Move(bytes + (capacity_ == 0 ? 0 : std::min(bytes / 2, kSlackMax)));
}

// To a block of at least `capacity`, in one of three ways: heap to heap by realloc, heap to pages
// by one copy, pages to more pages by mremap. Never back: a block that has become mapped stays so.
// Requires: `capacity` is more than it has.
void TextBlock::Move(size_t capacity) {
  ABSL_HARDENING_ASSERT(capacity > capacity_);
  if (capacity < kMappedAt) {
    capacity = std::min(BlockSize(capacity), kMappedAt - 1);
    data_ = Checked(std::realloc(data_, capacity));
  } else if (mapped_) {
    const size_t bytes = WholePages(head_ + capacity);
    data_ = Checked(mremap(Pages(), head_ + capacity_, bytes, MREMAP_MAYMOVE)) + head_;
    capacity = bytes - head_;
  } else {
    capacity = WholePages(capacity);
    char* const pages = Map(capacity);
    if (size_ > 0) std::memcpy(pages, data_, size_);
    std::free(data_);
    data_ = pages;
    mapped_ = true;
  }
  capacity_ = capacity;
}

size_t TextBlock::FreePages(size_t budget) {
  if (!mapped_ || head_ + capacity_ == 0) return 0;
  data_ = Pages();
  capacity_ += std::exchange(head_, 0);
  size_ = 0;
  const size_t pages = std::min(capacity_ / PageBytes(), budget);
  munmap(data_, pages * PageBytes());
  data_ += pages * PageBytes();
  capacity_ -= pages * PageBytes();
  return pages;
}

}  // namespace sluice
