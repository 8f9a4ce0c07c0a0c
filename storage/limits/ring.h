// Ring<T>: a queue in one block of memory, for records of which millions wait in order of time. A
// std::deque takes 600 bytes before the first; a thousand limiters with three records each are the
// usual case. Grows by half, and gives memory back when three quarters are empty.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace sluice {

template <typename T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Ring() = default;
  Ring(const Ring& other) { *this = other; }
  Ring& operator=(const Ring& other) {
    if (this == &other) return *this;
    Reallocate(other, other.size_);
    return *this;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Preconditions: not empty; index < size(). 0 is the front.
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }
  T& operator[](size_t index) { return records_[Place(index)]; }
  const T& operator[](size_t index) const { return records_[Place(index)]; }

  void PushBack(const T& record) {
    if (size_ == capacity_) Reallocate(*this, capacity_ < 2 ? 2 : size_t{capacity_} * 3 / 2);
    ++size_;
    back() = record;
  }
  // Room for so many, if it has less.
  void Reserve(size_t records) {
    if (records > capacity_) Reallocate(*this, records);
  }
  void PopFront() { DropFront(1); }
  // Takes so many out at the front, at a cost that does not depend on how many they are.
  // Precondition: records <= size().
  void DropFront(size_t records) {
    assert(records <= size_);
    if (records == 0) return;
    head_ = static_cast<uint32_t>(Wrapped(head_ + records));
    size_ -= static_cast<uint32_t>(records);
    Shrink();
  }
  // Likewise at the back: leaves so many. Precondition: records <= size().
  void Truncate(size_t records) {
    assert(records <= size_);
    if (records == size_) return;
    size_ = static_cast<uint32_t>(records);
    Shrink();
  }
  // Asks for the memory that PushBack is going to write to.
  void PrefetchBack() const {
    if (size_ > 0) __builtin_prefetch(&back(), 1);
  }
  size_t heap_bytes() const { return capacity_ * sizeof(T); }

 private:
  static constexpr size_t kKept = 16;  // records for which nothing is given back

  size_t Place(size_t index) const {
    assert(index < size_);
    return Wrapped(head_ + index);
  }
  size_t Wrapped(size_t place) const { return place < capacity_ ? place : place - capacity_; }
  void Shrink() {
    if (size_ == 0 && capacity_ > kKept) {
      records_.reset();
      capacity_ = head_ = 0;
    } else if (capacity_ > kKept && size_ * 4 <= capacity_) {
      Reallocate(*this, std::max<size_t>(2 * size_t{size_}, kKept));
    }
  }
  // Takes over the records of `from`, which may be this one. Precondition: capacity >= its size.
  void Reallocate(const Ring& from, size_t capacity) {
    assert(capacity >= from.size_ && capacity <= UINT32_MAX);
    std::unique_ptr<T[]> records(capacity == 0 ? nullptr : new T[capacity]);
    const size_t size = from.size_;
    for (size_t i = 0; i < size; ++i) records[i] = from[i];
    records_ = std::move(records);
    capacity_ = static_cast<uint32_t>(capacity);
    size_ = static_cast<uint32_t>(size);
    head_ = 0;
  }

  std::unique_ptr<T[]> records_;
  uint32_t head_ = 0;
  uint32_t size_ = 0;
  uint32_t capacity_ = 0;
};

}  // namespace sluice
