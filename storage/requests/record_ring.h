// RecordRing: blocks of bytes that come at the end and go from the front, as those of a queue do. A
// block is part of a chunk with many others: it costs no more than its bytes, and coming and going
// is adding to an offset.
//
//   RecordRing ring;
//   char* const block = ring.Append(40);   // stays where it is until it is dropped
//   ring.GiveBack(12);                     // of the newest block: 28 were enough
//   ring.DropFirst(28);
//
// Its owner knows what the blocks are, and how long each is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "absl/base/macros.h"

namespace sluice {

class RecordRing {
  struct Chunk {
    Chunk* next;
    size_t capacity;
    size_t used;
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
  };

 public:
  static constexpr size_t kChunkBytes = 16 * 1024;

  // A block's place; it is void when the block is dropped.
  class Cursor {
   public:
    Cursor() = default;
    // Null: behind the last block.
    const char* block() const { return chunk_ ? chunk_->bytes() + at_ : nullptr; }

   private:
    friend class RecordRing;
    Chunk* chunk_ = nullptr;
    size_t at_ = 0;
  };

  RecordRing() = default;
  RecordRing(const RecordRing&) = delete;
  ~RecordRing() {
    while (head_ != nullptr) FreeHead();
  }

  bool empty() const { return first_.block() == nullptr; }
  Cursor first() const { return first_; }

  // A new last block.
  char* Append(size_t bytes) {
    if (empty() && tail_ != nullptr) tail_->used = 0;
    if (tail_ == nullptr || tail_->capacity - tail_->used < bytes) [[unlikely]]
      AddChunk(std::max(bytes, kChunkBytes));
    if (empty()) Begin();
    char* const block = tail_->bytes() + tail_->used;
    tail_->used += bytes;
    return block;
  }
  // The newest block has so many bytes fewer; with all of them it is gone.
  void GiveBack(size_t bytes) {
    tail_->used -= bytes;
    if (first_.chunk_ == tail_ && first_.at_ == tail_->used) first_ = {};
  }
  // Requires: there is one, of so many bytes.
  void DropFirst(size_t bytes) {
    ABSL_HARDENING_ASSERT(!empty());
    first_ = Behind(first_, bytes);
    while (head_ != tail_ && head_ != first_.chunk_) FreeHead();
  }
  // The block behind one of so many bytes.
  static Cursor Behind(Cursor cursor, size_t bytes) {
    cursor.at_ += bytes;
    while (cursor.chunk_ != nullptr && cursor.at_ == cursor.chunk_->used) {
      cursor.chunk_ = cursor.chunk_->next;
      cursor.at_ = 0;
    }
    return cursor;
  }

 private:
  void AddChunk(size_t capacity) {
    auto* const chunk = new (std::malloc(sizeof(Chunk) + capacity)) Chunk{nullptr, capacity, 0};
    (tail_ == nullptr ? head_ : tail_->next) = chunk;
    tail_ = chunk;
  }
  void Begin() {
    while (head_ != tail_) FreeHead();
    first_.chunk_ = tail_;
    first_.at_ = tail_->used;
  }
  void FreeHead() {
    Chunk* const gone = head_;
    head_ = gone->next;
    if (head_ == nullptr) tail_ = nullptr;
    std::free(gone);
  }

  Chunk* head_ = nullptr;
  Chunk* tail_ = nullptr;
  Cursor first_;
};

}  // namespace sluice
