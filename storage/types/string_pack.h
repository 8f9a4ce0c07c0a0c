// StringPack: a compact sequence of byte strings in one block. Small hashes, sets and sorted sets
// are kept in it.
//
//   StringPack pack;
//   pack.Append("field"); pack.Append("1700000000");
//   for (auto at = pack.begin(); at != pack.end(); at = pack.Next(at))
//     Use(pack.At(at).Text(scratch));
//
// An element is a head byte and what it says: up to 239 bytes of text; text behind a length of 2 or
// 4 bytes; or, where that is shorter than its text, an integer of 1 to 8 bytes, the lowest first.
// The form follows from the text alone, so equal texts are equal bytes, and an element is looked
// for without being decoded. There are no back-pointers: what one element says about itself is all
// there is, and everything read is checked against the end of the block.
//
// "field" "1700000000" "" as bytes:
//
//   05 f i e l d | f4 00 f1 53 65 | 00
//   text of 5      integer of 4     empty text
//
// A position is where an element begins; it holds until the next change. Changing and looking up
// are O(bytes): for up to some thousands of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "absl/base/attributes.h"
#include "protocol/text/number_text.h"
#include "storage/types/byte_block.h"

namespace sluice {

// Owns its bytes. A copy is a copy of the block.
class StringPack {
 public:
  using Position = uint32_t;
  static constexpr size_t kTextScratch = kInt64TextMax;  // room for the text of an integer
  static constexpr size_t kBytesMax = size_t{1} << 30;   // of one pack: see HasRoom

  // An element as it is kept. Valid until the next change of the pack.
  class Item {
   public:
    bool is_integer() const { return data_ == nullptr; }  // kept as one; other texts may be one too
    int64_t integer() const { return integer_; }          // requires: is_integer()
    std::string_view Text(char* scratch ABSL_ATTRIBUTE_LIFETIME_BOUND) const;  // kTextScratch bytes
    size_t TextBytes() const;

   private:
    friend class StringPack;
    const char* data_ = nullptr;
    size_t size_ = 0;
    int64_t integer_ = 0;
  };

  StringPack() = default;
  StringPack(const StringPack& other) = default;
  StringPack(StringPack&& other) noexcept
      : block_(std::move(other.block_)), count_(std::exchange(other.count_, 0)) {}
  StringPack& operator=(const StringPack& other) = default;
  StringPack& operator=(StringPack&& other) noexcept;

  size_t size() const { return count_; }  // elements
  bool empty() const { return size() == 0; }
  size_t bytes() const { return block_.size(); }               // of all elements as they are kept
  size_t MemoryBytes() const { return block_.MemoryBytes(); }  // heap memory owned
  // False when it would become too long for a position. Precondition of adding `text_bytes`.
  bool HasRoom(size_t text_bytes) const { return text_bytes + bytes() + 16 <= kBytesMax; }

  // --- reading
  Position begin() const { return 0; }
  Position end() const { return static_cast<Position>(bytes()); }
  Position Next(Position at) const;  // requires: at != end()
  Item At(Position at) const;        // requires: at != end()
  Position Nth(size_t index) const;  // end() when there are not so many
  // The first element with that text among every stride-th from `from`; end() when there is none.
  Position Find(std::string_view text, Position from = 0, size_t stride = 1) const;
  // Whether no two of every stride-th element are equal. O(n log n).
  bool AllDiffer(size_t stride) const;

  // --- changing. Texts may not lie in this pack.
  Position Insert(Position at, std::string_view text);  // before `at`; returns where it begins: at
  Position Append(std::string_view text) { return Insert(end(), text); }
  void Replace(Position at, std::string_view text);
  // Takes out `count` elements, or as many as there are; returns what follows them: at.
  Position Erase(Position at, size_t count = 1);
  void Clear() { *this = {}; }

 private:
  // Where an element's content lies and what it is.
  struct Frame {
    size_t head;     // bytes before the content
    size_t content;  // bytes of it
    bool integer;
  };

  // Reads and checks a head. Hardened: ends the process on bytes that lead beyond the block.
  Frame FrameAt(Position at) const;
  Position Behind(const char* data, Position at, size_t all) const;

  [[no_unique_address]] ByteBlock block_;
  uint32_t count_ = 0;
};
static_assert(sizeof(StringPack) == 16);

// Whether no two of them are equal: O(n log n) for any texts, so that whoever loads many members
// need not look for each. Their order is lost.
bool AllDiffer(std::span<std::string_view> texts);

}  // namespace sluice
