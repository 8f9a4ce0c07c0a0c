// RecordQueue<T>: a queue in chunks of 16 KiB, for records of which millions wait in order of time.
// No step handles more than a chunk, however long the queue is: it grows by one, what leaves frees
// one, and what else is unused then is for the owner to take out (TakeUnusedTo) and to free in
// slices (FreeSome). One block of a million records takes 2 ms to free.
//
// A std::deque takes 600 bytes before the first record; a thousand limiters with three records each
// are the usual case. So a queue that fits into one chunk has a smaller one, which grows by half,
// and which is given back in part when three quarters are empty.
//
// Four records to a chunk, six records, head_ = 3 (`.` is unused):
//
//   chunks_   [ . . . a ] [ b c d e ] [ f . . . ]
//
// Invariants: only a chunk that is alone is smaller than kChunk; record i lies at place head_ + i,
// counted over all chunks; places before and behind the records are unused.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace sluice {

// Owns its records, which are plain bytes. PushBack and PopFront are O(1) amortized, indexing O(1).
template <typename T>
class RecordQueue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr size_t kChunk = 16384 / sizeof(T);  // records

  RecordQueue() = default;
  RecordQueue(const RecordQueue& other) { *this = other; }
  RecordQueue& operator=(const RecordQueue& other) {
    if (this == &other) return *this;
    chunks_.clear();
    head_ = size_ = capacity_ = 0;
    Reserve(std::min<size_t>(other.size_, kChunk));
    for (size_t i = 0; i < other.size_; ++i) PushBack(other[i]);
    return *this;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Requires: not empty; index < size(). 0 is the front.
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }
  T& operator[](size_t index) { return At(index); }
  const T& operator[](size_t index) const { return At(index); }

  // Front to back in runs of neighbours, of at most kChunk records each. `visit` may overwrite
  // them, and those before them.
  template <typename Visit>
  void ForEachRun(Visit visit) {
    for (size_t i = 0; i < size_;) {
      const size_t count = RunFrom(i);
      visit(std::span<T>(&At(i), count));
      i += count;
    }
  }
  // Puts records in the place of those from `index` on. Requires: there are so many.
  void Overwrite(size_t index, std::span<const T> records) {
    while (!records.empty()) {
      const size_t count = std::min(RunFrom(index), records.size());
      std::copy_n(records.begin(), count, &At(index));
      records = records.subspan(count);
      index += count;
    }
  }

  void PushBack(const T& record) {
    if (size_t{head_} + size_ == capacity_) MakeRoom();
    ++size_;
    back() = record;
  }
  // Room for so many, at most a chunk, if it has less. Requires: empty.
  void Reserve(size_t records) {
    assert(empty());
    if (records > capacity_) Move(std::min(records, kChunk));
  }
  void PopFront() { DropFront(1); }
  // Takes so many out at the front, at a cost that does not depend on how many they are. Requires:
  // records <= size().
  void DropFront(size_t records) {
    assert(records <= size_);
    if (records == 0) return;
    head_ += static_cast<uint32_t>(records);
    size_ -= static_cast<uint32_t>(records);
    Shrink();
  }
  // Likewise at the back: leaves so many. Requires: records <= size().
  void Truncate(size_t records) {
    assert(records <= size_);
    if (records == size_) return;
    size_ = static_cast<uint32_t>(records);
    Shrink();
  }

  // Whether there are chunks without a record, but for one that is about to be written to.
  bool HasUnused() const { return FirstUsed() > 0 || EndOfUsed() < chunks_.size(); }
  // Requires: HasUnused, and `unused` has never had a record.
  void TakeUnusedTo(RecordQueue& unused) {
    const size_t first = FirstUsed();
    const size_t end = EndOfUsed();
    for (size_t i = 0; i < chunks_.size(); ++i) {
      if (i < first || i >= end) unused.chunks_.push_back(std::move(chunks_[i]));
    }
    chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(end), chunks_.end());
    chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<ptrdiff_t>(first));
    head_ -= static_cast<uint32_t>(first * kChunk);
    CountChunks();
    unused.CountChunks();
    Shrink();
  }
  size_t chunks() const { return chunks_.size(); }
  // Frees up to `budget` chunks of a queue that is not used any more; returns how many.
  size_t FreeSome(size_t budget) {
    head_ = size_ = 0;
    const size_t freed = std::min(budget, chunks_.size());
    chunks_.erase(chunks_.end() - static_cast<ptrdiff_t>(freed), chunks_.end());
    if (freed > 0) CountChunks();
    return freed;
  }

  // Asks for the memory that PushBack is going to write to.
  void PrefetchBack() const {
    if (size_ > 0) __builtin_prefetch(&back(), 1);
  }
  size_t heap_bytes() const { return capacity_ * sizeof(T); }

 private:
  static constexpr size_t kKept = 16;  // records for which nothing is given back

  T& At(size_t index) const {
    assert(index < size_);
    const size_t place = head_ + index;
    return chunks_[place / kChunk][place % kChunk];
  }
  // How many records from this one on are neighbours.
  size_t RunFrom(size_t index) const {
    return std::min(size_ - index, kChunk - (head_ + index) % kChunk);
  }
  size_t FirstUsed() const { return size_ == 0 ? 0 : head_ / kChunk; }
  // Without records the first chunk is to be used next.
  size_t EndOfUsed() const {
    const size_t places = size_ == 0 ? 1 : size_t{head_} + size_;
    return std::min(chunks_.size(), (places + kChunk - 1) / kChunk);
  }
  // Requires: they are of full size, or none.
  void CountChunks() {
    assert(chunks_.size() <= UINT32_MAX / kChunk);
    capacity_ = static_cast<uint32_t>(chunks_.size() * kChunk);
  }

  // One that slides along within its chunk moves back to the start when that is cheap.
  void MakeRoom() {
    if (chunks_.size() <= 1 && head_ > size_ / 2) {
      T* const block = chunks_[0].get();
      std::copy_n(block + head_, size_, block);
      head_ = 0;
    } else if (capacity_ < kChunk) {
      Move(capacity_ < 2 ? 2 : std::min<size_t>(size_t{capacity_} * 3 / 2, kChunk));
    } else {
      chunks_.emplace_back(new T[kChunk]);
      CountChunks();
    }
  }
  void Shrink() {
    if (size_ == 0) head_ = 0;
    if (FirstUsed() > 0) {
      chunks_.erase(chunks_.begin());
      head_ -= static_cast<uint32_t>(kChunk);
      CountChunks();
    } else if (EndOfUsed() < chunks_.size()) {
      chunks_.pop_back();
      CountChunks();
    }
    if (chunks_.size() > 2 || capacity_ <= kKept || size_ * 4 > std::min<size_t>(capacity_, kChunk))
      return;
    if (size_ == 0) {
      chunks_.clear();
      capacity_ = 0;
    } else {
      Move(std::max<size_t>(2 * size_t{size_}, kKept));
    }
  }
  // All records into one chunk of so many, which is alone then. Requires: they fit.
  void Move(size_t capacity) {
    assert(capacity >= size_ && capacity <= kChunk);
    std::unique_ptr<T[]> chunk(new T[capacity]);
    for (size_t i = 0; i < size_; ++i) chunk[i] = At(i);
    chunks_.clear();
    chunks_.push_back(std::move(chunk));
    capacity_ = static_cast<uint32_t>(capacity);
    head_ = 0;
  }

  absl::InlinedVector<std::unique_ptr<T[]>, 1> chunks_;
  uint32_t head_ = 0;
  uint32_t size_ = 0;
  uint32_t capacity_ = 0;
};

}  // namespace sluice
