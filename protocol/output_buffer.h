// OutputBuffer: the bytes waiting to be sent to one client. A chain of blocks, so that a large
// reply is never moved to make it grow and a partly sent one costs nothing to advance.
//
// A chain with three blocks, of which the first is sent in part:
//
//   first_                               last_
//   [ sent | waiting ] -> [ waiting ] -> [ waiting | room ]
//          ^ first_->begin                         ^ end_  ^ limit_
//   gone_ bytes before that were sent; appended() = gone_ + bytes_
//
// The first block is small, because most clients are answered with a few bytes a turn; those that
// outgrow it get large ones, and begin with a larger one the next time: a reply in two blocks costs
// two of malloc and a slower system call. A buffer that has been sent keeps its last block for the
// next turn until ReleaseMemory; then it owns nothing beyond itself. Small first blocks go round
// among the buffers of a server that are in use (Spares): one of malloc and free for each reply
// took a twentieth of an unpipelined request.
#pragma once

#include <sys/uio.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/base/macros.h"

namespace sluice {

// It owns its blocks. Append is O(bytes), Peek and Consume O(blocks passed). set_limit bounds the
// bytes that wait.
class OutputBuffer {
  struct Block;

 public:
  // Sizes with malloc's and our own header taken off, so that the sums are round.
  static constexpr size_t kFirstBlockBytes = 1024 - 64;
  static constexpr size_t kLargeFirstBlockBytes = 4 * 1024 - 64;
  static constexpr size_t kBlockBytes = 16 * 1024 - 64;

  // Small first blocks that no buffer has: one for each of `buffers` at the most, and no more than
  // kMax. It outlives no buffer's use of it.
  class Spares {
   public:
    Spares() = default;
    Spares(const Spares&) = delete;
    ~Spares() { KeepFor(0); }
    void KeepFor(size_t buffers);
    size_t size() const { return size_; }
    size_t memory() const;
    static constexpr size_t kMax = 16;

   private:
    friend class OutputBuffer;
    Block* first_ = nullptr;
    size_t size_ = 0;
    size_t most_ = 0;
  };

  OutputBuffer() = default;
  ~OutputBuffer() { Clear(); }
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;

  bool empty() const { return bytes_ == 0; }
  size_t bytes() const { return bytes_; }
  // Once more than `bytes` wait (0: no limit), to the byte, everything is dropped and what comes is
  // swallowed: overflowed() tells, and the client is to be closed.
  void set_limit(size_t bytes) { limit_bytes_ = bytes == 0 ? SIZE_MAX : bytes; }
  bool overflowed() const { return overflowed_; }
  // --- what may leave: where replies wait for a log, only what was appended before a certain byte
  static constexpr uint64_t kEverything = UINT64_MAX;
  // Bytes appended ever: positions count from the buffer's first byte and never go back, whatever
  // has been sent or dropped.
  uint64_t appended() const { return gone_ + bytes_; }
  // The bytes before that position may leave; kEverything, as at the start: all.
  uint64_t may_leave() const { return may_leave_; }
  void set_may_leave(uint64_t appended) { may_leave_ = appended; }
  // Whatever the log says, the bytes from that position on stay; kEverything: none. A test double
  // holds answers back so.
  void HoldFrom(uint64_t appended) { held_from_ = appended; }
  // How many of bytes() may leave.
  size_t sendable() const {
    const uint64_t before = may_leave_ < held_from_ ? may_leave_ : held_from_;
    if (before >= appended()) return bytes_;
    return before <= gone_ ? 0 : static_cast<size_t>(before - gone_);
  }
  // Bytes that were sent, or dropped.
  uint64_t gone() const { return gone_; }

  // --- the end of what waits, for a test double
  // Copies the first `count_max` of the last `n` bytes (of all, if there are fewer).
  std::string CopyLast(size_t n, size_t count_max) const;
  // Drops the last `n` bytes, or all. appended() stays as it is, so that no position that was noted
  // stands for bytes which come later: what is left may leave a little late, never too early.
  void DropLast(size_t n);

  // Memory owned: at least bytes().
  size_t memory() const { return memory_; }

  void Append(std::string_view bytes) {
    if (bytes.size() < room()) [[likely]] {
      std::memcpy(end_, bytes.data(), bytes.size());
      Commit(bytes.size());
    } else {
      AppendSlow(bytes);
    }
  }
  // Room for `n` <= kBlockBytes contiguous bytes; write there, then Commit what was written.
  char* Reserve(size_t n) {
    assert(n <= kBlockBytes);
    if (n > room()) [[unlikely]]
      AddBlock(n);
    return end_;
  }
  // The same without a new block: null where there is none for so many.
  char* RoomFor(size_t n) { return n <= room() ? end_ : nullptr; }
  void Commit(size_t n) {
    end_ += n;
    bytes_ += n;
    if (bytes_ > limit_bytes_) [[unlikely]]
      Overflow();
  }

  // Fills `vectors` with what is to be sent first, and may be; returns how many were filled. The
  // vectors point into the blocks: valid until the next Append, Consume or Clear.
  size_t Peek(iovec* vectors, size_t count) const {
    if (first_ != last_ || empty()) [[unlikely]]
      return PeekBlocks(vectors, count);
    const size_t bytes = sendable();
    vectors[0] = {first_->begin, bytes};
    return bytes > 0 ? 1 : 0;
  }
  // Forgets the first `n` <= bytes() bytes: they are sent. Frees blocks as they are sent, so a slow
  // reader of a large reply gives memory back as it reads.
  void Consume(size_t n) {
    ABSL_HARDENING_ASSERT(n <= bytes_);
    if (first_ != last_ || n < bytes_ || n == 0 || last_->capacity > kBlockBytes) [[unlikely]]
      return ConsumeBlocks(n);
    bytes_ = 0;
    gone_ += n;
    last_->begin = end_ = last_->data();
  }
  // Gives up the spare block that Consume keeps (for clients that fall idle). Bytes still to be
  // sent stay.
  void ReleaseMemory() {
    if (!empty()) return;
    ChooseFirst();
    if (first_ != nullptr) Clear();
  }
  // The same, but a small block goes to the others.
  void ReleaseMemory(Spares& spares) {
    if (!empty()) return;
    ChooseFirst();
    GiveBack(spares);
  }
  // Ahead of a reply: a block for it, if there is a spare one of the size that it begins with.
  void Borrow(Spares& spares) {
    if (first_ == nullptr && spares.first_ != nullptr && !begins_large_) [[likely]]
      TakeFrom(spares);
  }
  // Gives up the block that nothing has been written to.
  void GiveBack(Spares& spares) {
    if (first_ != nullptr && empty()) [[likely]]
      GiveTo(spares);
  }
  // Forgets everything and owns nothing. Bytes that waited count as gone, so that positions handed
  // out before stay in order.
  void Clear();
  // Whether its counts are those of its blocks. For audits: walks all blocks.
  bool Sound() const;

 private:
  // The header of a block; its bytes stand behind it in the same allocation.
  struct Block {
    Block* next;
    char* begin;  // of the bytes in it that are still to be sent
    char* end;    // of the bytes in it; of the last block, end_ holds instead
    size_t capacity;
    char* data() { return reinterpret_cast<char*>(this + 1); }
  };

  // By what has been sent since the last time: so much that room for one more reply may not have
  // been left.
  void ChooseFirst() {
    const auto gone = static_cast<uint32_t>(gone_);
    begins_large_ = gone - released_at_ > kFirstBlockBytes / 4 * 3;
    released_at_ = gone;
  }
  void TakeFrom(Spares& spares);
  void GiveTo(Spares& spares);
  size_t room() const { return static_cast<size_t>(limit_ - end_); }
  void AppendSlow(std::string_view bytes);
  void Overflow();
  void AddBlock(size_t at_least);
  size_t PeekBlocks(iovec* vectors, size_t count) const;
  void ConsumeBlocks(size_t n);
  void FreeFirst();

  // Invariant: end_ and limit_ point into last_; all are null without a block. Every block but the
  // last holds at least one byte that is to be sent.
  char* end_ = nullptr;
  char* limit_ = nullptr;
  size_t bytes_ = 0;
  size_t memory_ = 0;
  size_t limit_bytes_ = SIZE_MAX;
  bool overflowed_ = false;
  bool begins_large_ = false;
  uint32_t released_at_ = 0;  // the lower half of what was gone_ at the last ReleaseMemory
  uint64_t gone_ = 0;         // bytes that were sent, or dropped
  uint64_t may_leave_ = kEverything;
  uint64_t held_from_ = kEverything;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
};

}  // namespace sluice
