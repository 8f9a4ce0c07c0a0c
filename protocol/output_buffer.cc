// See output_buffer.h. An overflow frees what waits and lowers the limit to 0: all that is appended
// later overflows again.
#include "protocol/output_buffer.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {

// --- adding

// A reply that does not fit fills the block at hand first; the rest lies in one block, of its own
// size if it is larger than others.
void OutputBuffer::AppendSlow(std::string_view bytes) {
  if (overflowed_ || bytes.size() > limit_bytes_ - bytes_) return Overflow();
  const size_t now = std::min(room(), bytes.size());
  if (now > 0) {
    std::memcpy(end_, bytes.data(), now);
    Commit(now);
    bytes.remove_prefix(now);
  }
  if (bytes.empty()) return;
  AddBlock(bytes.size());
  std::memcpy(end_, bytes.data(), bytes.size());
  Commit(bytes.size());
}

// Bytes that are committed from now on go the same way: room that is reserved is scratch, one block
// of it.
void OutputBuffer::Overflow() {
  overflowed_ = true;
  limit_bytes_ = 0;
  Clear();
}

// Linked behind the last block, whose end is written down. A first block is small, an own block of
// a large reply as large as that.
void OutputBuffer::AddBlock(size_t at_least) {
  // A spare block too small for what comes is of no more use.
  if (empty()) Clear();
  const size_t first = begins_large_ ? kLargeFirstBlockBytes : kFirstBlockBytes;
  const size_t usual = first_ == nullptr ? first : kBlockBytes;
  const size_t capacity = at_least <= usual ? usual : std::max(at_least, kBlockBytes);
  void* memory = std::malloc(sizeof(Block) + capacity);
  if (memory == nullptr) std::abort();
  Block* block = new (memory) Block{nullptr, nullptr, nullptr, capacity};
  block->begin = block->data();
  if (last_ != nullptr) {
    last_->end = end_;
    last_->next = block;
  } else {
    first_ = block;
  }
  last_ = block;
  end_ = block->data();
  limit_ = end_ + capacity;
  memory_ += sizeof(Block) + capacity;
}

// --- blocks that go round

size_t OutputBuffer::Spares::memory() const { return size_ * (sizeof(Block) + kFirstBlockBytes); }

void OutputBuffer::Spares::KeepFor(size_t buffers) {
  most_ = std::min(buffers, kMax);
  for (; size_ > most_; --size_) std::free(std::exchange(first_, first_->next));
}

void OutputBuffer::TakeFrom(Spares& spares) {
  first_ = last_ = std::exchange(spares.first_, spares.first_->next);
  --spares.size_;
  first_->next = nullptr;
  first_->begin = end_ = first_->data();
  limit_ = end_ + kFirstBlockBytes;
  memory_ = sizeof(Block) + kFirstBlockBytes;
}

// An empty buffer has one block at the most.
void OutputBuffer::GiveTo(Spares& spares) {
  assert(first_ == last_);
  if (first_->capacity != kFirstBlockBytes || spares.size_ == spares.most_) return Clear();
  first_->next = std::exchange(spares.first_, first_);
  ++spares.size_;
  first_ = last_ = nullptr;
  end_ = limit_ = nullptr;
  memory_ = 0;
}

// --- sending

size_t OutputBuffer::PeekBlocks(iovec* vectors, size_t count) const {
  size_t left = sendable();
  size_t filled = 0;
  for (Block* block = first_; block != nullptr && left > 0 && filled < count; block = block->next) {
    char* const begin = block->begin;
    char* const end = block == last_ ? end_ : block->end;
    if (begin == end) continue;  // a last block that was only reserved
    const size_t bytes = std::min(left, static_cast<size_t>(end - begin));
    vectors[filled++] = {begin, bytes};
    left -= bytes;
  }
  return filled;
}

void OutputBuffer::ConsumeBlocks(size_t n) {
  bytes_ -= n;
  gone_ += n;
  while (first_ != last_) {
    const size_t here = static_cast<size_t>(first_->end - first_->begin);
    if (n < here) break;
    n -= here;
    FreeFirst();
  }
  if (first_ == nullptr) return;
  first_->begin += n;
  if (!empty()) return;
  // All sent. A block of usual size stays for the next turn; one made for a large reply goes.
  if (last_->capacity > kBlockBytes) return Clear();
  last_->begin = end_ = last_->data();
}

std::string OutputBuffer::CopyLast(size_t n, size_t count_max) const {
  std::string copy;
  size_t skip = bytes_ - std::min(n, bytes_);
  for (Block* block = first_; block != nullptr && copy.size() < count_max; block = block->next) {
    const char* const begin = block->begin;
    const char* const end = block == last_ ? end_ : block->end;
    const size_t here = static_cast<size_t>(end - begin);
    const size_t skipped = std::min(skip, here);
    skip -= skipped;
    copy.append(begin + skipped, std::min(here - skipped, count_max - copy.size()));
  }
  return copy;
}

void OutputBuffer::DropLast(size_t n) {
  n = std::min(n, bytes_);
  if (n == bytes_) return Clear();
  size_t left = bytes_ - n;
  Block* block = first_;
  while (true) {
    char* const begin = block->begin;
    const size_t here = static_cast<size_t>((block == last_ ? end_ : block->end) - begin);
    if (left <= here) {
      end_ = begin + left;
      break;
    }
    left -= here;
    block = block->next;
  }
  for (Block* gone = block->next; gone != nullptr;) {
    Block* const next = gone->next;
    memory_ -= sizeof(Block) + gone->capacity;
    std::free(gone);
    gone = next;
  }
  block->next = nullptr;
  last_ = block;
  limit_ = block->data() + block->capacity;
  bytes_ -= n;
  gone_ += n;
}

bool OutputBuffer::Sound() const {
  size_t bytes = 0, memory = 0;
  for (Block* block = first_; block != nullptr; block = block->next) {
    const char* const begin = block->begin;
    const char* const end = block == last_ ? end_ : block->end;
    if (begin > end || end > block->data() + block->capacity) return false;
    if (block->next == nullptr && block != last_) return false;
    bytes += static_cast<size_t>(end - begin);
    memory += sizeof(Block) + block->capacity;
  }
  return bytes == bytes_ && memory == memory_;
}

// The chain's first block, sent or dropped.
void OutputBuffer::FreeFirst() {
  Block* block = first_;
  first_ = block->next;
  memory_ -= sizeof(Block) + block->capacity;
  std::free(block);
}

void OutputBuffer::Clear() {
  while (first_ != nullptr) FreeFirst();
  last_ = nullptr;
  end_ = limit_ = nullptr;
  gone_ += bytes_;
  bytes_ = 0;
}

}  // namespace sluice
