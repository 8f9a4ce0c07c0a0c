// OutputBuffer: the bytes waiting to be sent to one client. A list of blocks, so that a large reply
// is never moved to make it grow and a partly sent one costs nothing to advance. An empty buffer
// owns no memory beyond itself unless asked to keep its first block for the next turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>
#include <vector>

#include <sys/uio.h>

namespace sluice {

class OutputBuffer {
 public:
  static constexpr size_t kBlockBytes = 16 * 1024 - 64;

  OutputBuffer() = default;
  ~OutputBuffer();
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;

  bool empty() const { return bytes_ == 0; }
  size_t bytes() const { return bytes_; }
  // Memory owned, for output limits: at least bytes().
  size_t memory() const { return memory_; }

  void Append(std::string_view bytes) {
    if (bytes.size() <= room()) [[likely]] {
      std::memcpy(end_, bytes.data(), bytes.size());
      end_ += bytes.size();
      bytes_ += bytes.size();
    } else {
      AppendSlow(bytes);
    }
  }
  // Room for `n` <= kBlockBytes contiguous bytes; write there, then Commit what was written.
  char* Reserve(size_t n) {
    if (n > room()) AddBlock(n);
    return end_;
  }
  void Commit(size_t n) {
    end_ += n;
    bytes_ += n;
  }

  // Fills `vectors` with what is to be sent first; returns how many were filled.
  size_t Peek(iovec* vectors, size_t count) const;
  // Forgets the first `n` <= bytes() bytes: they are sent.
  void Consume(size_t n);
  // Drops the spare block that Consume keeps (called for clients that fall idle).
  void ReleaseMemory();
  void Clear();

 private:
  struct Block {
    char* data;
    size_t begin, end, capacity;
  };
  size_t room() const { return static_cast<size_t>(limit_ - end_); }
  void AppendSlow(std::string_view bytes);
  void AddBlock(size_t at_least);
  void SealLast();  // writes end_ back into the last block

  // Invariant: end_/limit_ delimit the free part of blocks_.back(); null when there is no block.
  char* end_ = nullptr;
  char* limit_ = nullptr;
  size_t bytes_ = 0;
  size_t memory_ = 0;
  std::vector<Block> blocks_;
  size_t first_ = 0;  // blocks_[first_] is the oldest unsent one
};

}  // namespace sluice
