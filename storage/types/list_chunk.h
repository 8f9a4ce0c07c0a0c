// ListChunk: a run of neighbouring elements of a List in one block of memory.
//
//   slots: 2 bytes an element (where it ends, and whether it is an integer) | the elements' bytes
//
// Pushed to the back: "ab", then 5, an integer of one byte:
//
//   slots: (ends at 2, text) (ends at 3, integer) room | bytes: a b 05 room
//
// Both areas may have room at either end, so that pushing and popping at both ends moves nothing,
// and the slots find any element at once. A block that has run out is followed by the next size
// that malloc has, its room in the direction of the push. An element that 15 bits of offset cannot
// reach is kept alone: a large chunk has one element, a block of its exact size and no slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "boost/intrusive/list.hpp"
#include "storage/memory/block_size.h"
#include "storage/types/list_item.h"

namespace sluice {

enum class ListEnd : uint8_t { kFront, kBack };

// Owns its block. Push is O(1) amortized, the other changes O(bytes of the chunk), BytesAt O(1).
class ListChunk : public boost::intrusive::list_base_hook<> {
 public:
  static constexpr size_t kBytesMax = (1u << 15) - 1;  // of the elements of one that is not large

  ListChunk() = default;
  // Requires: `alone` is neither empty nor an integer.
  static std::unique_ptr<ListChunk> Large(const ListItem& alone);
  // The elements of `bytes`, which end where `slots` say (as those of a block, see below). Without
  // room. Requires: they are not empty, and a chunk can have so many.
  static std::unique_ptr<ListChunk> Of(std::span<const uint16_t> slots, std::string_view bytes);
  std::unique_ptr<ListChunk> Clone() const;

  size_t count() const { return large_bytes_ ? 1 : count_; }
  bool large() const { return large_bytes_ != 0; }
  // The bytes of the elements and their slots, without room and header.
  size_t used_bytes() const {
    return large() ? large_bytes_ : count_ * sizeof(uint16_t) + last_ - first_;
  }
  size_t MemoryBytes() const {
    return sizeof(*this) + BlockSize(large() ? large_bytes_ : block_bytes());
  }

  std::string Audit() const;  // the first violated invariant as a sentence, or empty

  // Requires: index < count().
  std::string_view BytesAt(size_t index) const;
  bool IntegerAt(size_t index) const { return !large() && (slot(index) & 1) != 0; }
  std::string_view TextAt(size_t index, char* scratch ABSL_ATTRIBUTE_LIFETIME_BOUND) const {
    return ListItem::Text(BytesAt(index), IntegerAt(index), scratch);
  }
  bool Holds(size_t index, const ListItem& item) const {
    return item.Equals(BytesAt(index), IntegerAt(index));
  }

  // Whether one more element of so many bytes fits at all.
  bool HasRoomFor(size_t bytes) const {
    return !large() && bytes <= kBytesMax && used_bytes() + bytes <= kBytesMax;
  }

  // Visits all elements as they are kept: their bytes, and whether those are an integer's.
  template <typename VisitKept>
  void ForEachKept(VisitKept&& visit) const {
    if (large()) return visit(BytesAt(0), false);
    size_t begin = first_;
    for (size_t i = 0; i < count_; ++i) {
      const size_t end_of = end(i);
      visit(std::string_view(bytes() + begin, end_of - begin), (slot(i) & 1) != 0);
      begin = end_of;
    }
  }

  // Removes elements equal to `item`, at most `max`, the first or the last ones; how many.
  size_t EraseEqual(const ListItem& item, size_t max, ListEnd from);

  // --- changing one that is not large. Requires: HasRoomFor what is added; indexes in range.
  void Push(ListEnd end, const ListItem& item);
  void Insert(size_t index, const ListItem& item);
  void Erase(size_t index, size_t count);
  // Takes the elements from `index` on into a new chunk.
  std::unique_ptr<ListChunk> SplitOff(size_t index);
  void Append(const ListChunk& next);  // requires: HasRoomFor(next.used_bytes())
  void Fit();                          // gives room back, if malloc has a smaller block

 private:
  // Unused space at one end: of the bytes' area and of the slots'.
  struct Room {
    size_t bytes = 0;
    size_t slots = 0;
  };

  // The bytes of both areas. Requires: not large.
  size_t block_bytes() const { return slots_max_ * sizeof(uint16_t) + bytes_max_; }
  // Where element `index` ends, times two, plus 1 for an integer.
  uint16_t slot(size_t index) const { return block_[slot_first_ + index]; }
  size_t start(size_t index) const { return index ? slot(index - 1) >> 1 : first_; }
  size_t end(size_t index) const { return slot(index) >> 1; }
  char* bytes() { return reinterpret_cast<char*>(block_.get() + slots_max_); }
  const char* bytes() const { return reinterpret_cast<const char*>(block_.get() + slots_max_); }
  static uint16_t Slot(size_t end, bool integer) {
    return static_cast<uint16_t>(end << 1 | (integer ? 1 : 0));
  }
  void MakeRoom(ListEnd at, size_t bytes);
  // The same elements in a new block, with so much room before and behind them.
  void Rebuild(Room front, Room back);
  void FitIfSparse();

  std::unique_ptr<uint16_t[]> block_;
  size_t large_bytes_ = 0;  // 0: not large
  uint16_t slots_max_ = 0;
  uint16_t slot_first_ = 0;
  uint16_t count_ = 0;
  uint16_t bytes_max_ = 0;
  uint16_t first_ = 0;  // the elements' bytes are [first_, last_) of the bytes' area
  uint16_t last_ = 0;
};

}  // namespace sluice
