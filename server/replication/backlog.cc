// See backlog.h.
#include "server/replication/backlog.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sluice {

Backlog::Backlog(size_t size, int64_t end) : size_(std::max(size, kSizeMin)), end_(end) {
  AddBlock();
}

Backlog::~Backlog() {
  assert(std::ranges::all_of(blocks_, [](const Block& block) { return block.readers == 0; }));
}

void Backlog::AddBlock() {
  // Not set to zero: it is written before it is read.
  blocks_.push_back(
      {.begin = end_ + 1, .data = std::make_unique_for_overwrite<char[]>(kBlockBytes)});
}

void Backlog::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (blocks_.back().bytes == kBlockBytes) AddBlock();
    Block& block = blocks_.back();
    const size_t n = std::min(bytes.size(), kBlockBytes - block.bytes);
    std::memcpy(block.data.get() + block.bytes, bytes.data(), n);
    block.bytes += n;
    end_ += static_cast<int64_t>(n);
    bytes.remove_prefix(n);
    // With each block, so that a long text does not keep twice its own length.
    Trim();
  }
}

void Backlog::set_size(size_t size) {
  size_ = std::max(size, kSizeMin);
  Trim();
}

// As in Redis at least `size` bytes stay, where there were so many.
bool Backlog::FrontIsNeeded() const {
  const Block& front = blocks_.front();
  return blocks_.size() == 1 || front.readers > 0 || bytes() - front.bytes < size_;
}

bool Backlog::Trim() {
  for (size_t freed = 0; freed < kBlocksFreedAtOnce; ++freed) {
    if (FrontIsNeeded()) return false;
    blocks_.pop_front();
    ++first_number_;
  }
  return !FrontIsNeeded();
}

size_t Backlog::memory() const {
  return sizeof(*this) + blocks_.size() * (sizeof(Block) + kBlockBytes);
}

size_t Backlog::memory_beyond_size() const {
  // The first and the last block may be needed for some of their bytes.
  const size_t blocks = size_ / kBlockBytes + 2;
  return memory() - std::min(memory(), sizeof(*this) + blocks * (sizeof(Block) + kBlockBytes));
}

uint64_t Backlog::NumberAt(int64_t offset) const {
  const auto behind = std::ranges::upper_bound(blocks_, offset, {}, &Block::begin);
  return first_number_ + static_cast<uint64_t>(behind - blocks_.begin()) - 1;
}

const char* Backlog::Audit() const {
  int64_t next = blocks_.front().begin;
  for (const Block& block : blocks_) {
    if (block.begin != next) return "blocks of the backlog do not follow each other";
    if (block.bytes > kBlockBytes) return "a block of the backlog has more than fits";
    if (block.bytes < kBlockBytes && &block != &blocks_.back())
      return "a block of the backlog is not full";
    next += static_cast<int64_t>(block.bytes);
  }
  return next == end_ + 1 ? nullptr : "the backlog does not end where it says";
}

// --- readers

BacklogReader::BacklogReader(Backlog& backlog, int64_t offset)
    : backlog_(backlog), next_(offset), number_(backlog.NumberAt(offset)) {
  assert(backlog.Has(offset));
  ++backlog_.BlockOf(number_).readers;
}

BacklogReader::~BacklogReader() { --backlog_.BlockOf(number_).readers; }

std::string_view BacklogReader::Take(size_t bytes_max) {
  Backlog::Block* block = &backlog_.BlockOf(number_);
  auto at = static_cast<size_t>(next_ - block->begin);
  // It leaves a block only when it is asked again: until then the bytes are in use.
  if (at == block->bytes && number_ < backlog_.last_number()) {
    --block->readers;
    block = &backlog_.BlockOf(++number_);
    ++block->readers;
    at = 0;
  }
  const size_t n = std::min(bytes_max, block->bytes - at);
  next_ += static_cast<int64_t>(n);
  return {block->data.get() + at, n};
}

}  // namespace sluice
