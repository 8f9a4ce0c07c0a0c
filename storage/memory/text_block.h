// TextBlock: the bytes of a long string, which grows in place and never copies much. A small one is
// a block of the heap with room to grow, up to kSlackMax. One from kMappedAt on has pages of its
// own: the system moves those to a larger range without copying a byte, gives out zeroed ones when
// they are first written to, and takes them back one by one.
//
//   TextBlock text("abc");
//   text.Append("def");
//   text.Resize(500 << 20);  // zeros behind
//
// Memory that cannot be had ends the process, as `new` without exceptions would: callers bound the
// size (kBytesMax) first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/base/attributes.h"

namespace sluice {

// Owns its bytes; moves in O(1), and is not copied but by TextBlock(other.view()). Append is
// amortized O(1) a byte.
class TextBlock {
 public:
  // No string of a key is longer, whatever proto-max-bulk-len allows.
  static constexpr uint64_t kBytesMax = uint64_t{4} << 30;
  // Room for growth is as much as there is already, and at most this.
  static constexpr size_t kSlackMax = 1 << 20;
  // A page table's entry is moved in some 10 ns, a page copied in 400: worth a system call from
  // here on, and seldom enough to stay far below the number of mappings that a process may have.
  static constexpr size_t kMappedAt = 4 << 20;

  TextBlock() = default;
  explicit TextBlock(std::string_view text) { Assign(text); }
  TextBlock(TextBlock&& other) noexcept;
  TextBlock& operator=(TextBlock&& other) noexcept;
  ~TextBlock();

  // So many bytes of undefined content, without room for more: for a result of known size that is
  // written at once, as BITOP's.
  static TextBlock OfSize(size_t bytes);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  std::string_view view() const ABSL_ATTRIBUTE_LIFETIME_BOUND { return {data_, size_}; }
  std::span<char> bytes() ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return {data_, size_};
  }                                                         // valid until the next change of size
  size_t MemoryBytes() const { return head_ + capacity_; }  // heap memory or pages owned

  void Assign(std::string_view text);  // may be a part of it
  void Append(std::string_view text);  // not of its own bytes
  // For a text of so many bytes; of a mapped one, pages that are not written to cost nothing.
  void Reserve(size_t bytes);
  // The same for a text whose end is near: with half of it to spare, instead of as much again.
  void ReserveClosely(size_t bytes);
  // Room for `bytes` behind the text, which are written at once. Where there is none it is made for
  // all of `wanted`, and no more. Lengthen makes as many of them a part of it as have been written.
  std::span<char> Room(size_t bytes, size_t wanted) ABSL_ATTRIBUTE_LIFETIME_BOUND;
  void Lengthen(size_t bytes) { size_ += bytes; }
  // Zeros at the end, or fewer bytes.
  void Resize(size_t bytes);
  // Keeps `bytes` of the text from `begin` on. If it is mapped, no byte is copied, and the bytes
  // before them stay readable where they are until the block is freed.
  void Narrow(size_t begin, size_t bytes);
  // Gives whole pages in the front back to the system, for good, with those that Narrow has cut
  // off: the text is not used any more but to be freed further. Returns how many of up to `budget`.
  size_t FreePages(size_t budget);

 private:
  void Move(size_t capacity);
  void Clear(size_t from, size_t to);
  char* Pages() const { return data_ - head_; }  // requires: mapped

  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;  // from data_ on
  uint32_t head_ = 0;    // bytes of a mapped block before data_, which Narrow has left there
  bool mapped_ = false;  // then all behind the text is zero
};

}  // namespace sluice
