// Redis's listpack, written and read: see listpack_size.h for its layout.
//
//   element: 0nnnnnnn a number below 128 | 10llllll text | 110nnnnn + 1 number | 1110llll + 1 text
//            f0 + 4 length, text | f1 .. f4 number of 2, 3, 4, 8 bytes; all little-endian but where
//            bits are split
//
// ["a", 5, 300] in hex, 15 bytes; behind each element stands how many bytes it took, for going
// back:
//
//   0f 00 00 00 | 03 00 | 81 61 02 | 05 01 | c1 2c 02 | ff
//   total bytes   count   "a"        5       300        end
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "absl/base/macros.h"
#include "storage/listpack/listpack_size.h"
#include "storage/listpack/packed_item.h"

namespace sluice {

// --- writing in place: each function answers where the next element belongs

// Room that a number needs, and a text beside its own bytes: whole words are stored.
inline constexpr size_t kListpackRoom = 16;

// Six forms: 7 bits in one byte, 13 in two, then 2, 3, 4 and 8 bytes behind a byte that says so.
// Inline: lists and streams consist of them by the million.
inline char* PutListpackNumber(char* at, int64_t number) {
  static_assert(std::endian::native == std::endian::little);
  const auto bits = static_cast<uint64_t>(number);
  const size_t count = ListpackIntegerBytes(number) - 1;
  uint64_t word = bits | uint64_t{1} << 8;
  if (count == 2) {
    word = 0xc0 | (bits >> 8 & 31) | (bits & 255) << 8 | uint64_t{2} << 16;
  } else if (count > 5) {
    *at++ = static_cast<char>(0xf4);
    std::memcpy(at, &bits, sizeof bits);
    at[sizeof bits] = static_cast<char>(1 + sizeof bits);
    return at + sizeof bits + 1;
  } else if (count > 2) {
    word = (0xf1 + count - 3) | (bits & ((uint64_t{1} << 8 * (count - 1)) - 1)) << 8 |
           static_cast<uint64_t>(count) << 8 * count;
  }
  std::memcpy(at, &word, sizeof word);
  return at + count + 1;
}
char* PutListpackText(char* at, std::string_view text);  // as a number, if it is one

// The frame around elements of which the first part is `head`.
std::string FramedListpack(std::string_view head, std::string_view elements, uint64_t count);

// Append only. Bytes are those that Redis writes: texts that are integers become numbers, each in
// its shortest form, so that equal sequences make equal bytes.
class ListpackWriter {
 public:
  ListpackWriter() : bytes_(kRoomAtFirst, '\0') {}

  // As a number, if it is one.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Text(std::string_view text) {
    char* const at = Room(text.size() + kListpackRoom);
    if (IsShortWord(text)) [[likely]]
      return PutShort(at, text);
    Added(PutListpackText(at, text) - at);
  }
  void Number(int64_t number) {
    char* const at = Room(kListpackRoom);
    Added(PutListpackNumber(at, number) - at);
  }
  size_t size() const { return elements_; }
  size_t bytes() const { return used_ + 1; }
  // The whole; afterwards the writer is as new.
  std::string Finish();
  // The whole where it lies, until Reopen, which makes the writer as new but for its room: for one
  // listpack after the other.
  std::string_view Close();
  void Reopen() {
    used_ = kListpackHeaderBytes;
    elements_ = 0;
  }

 private:
  static constexpr size_t kRoomAtFirst = 64;
  static constexpr size_t kShortTextMax = 63;

  // Between two bytes, and no number: lists have them by the million.
  static bool IsShortWord(std::string_view text) {
    return text.size() - 1 < kShortTextMax && static_cast<unsigned char>(text[0]) > '9';
  }
  ABSL_ATTRIBUTE_ALWAYS_INLINE void PutShort(char* at, std::string_view text) {
    const size_t size = text.size();
    at[0] = static_cast<char>(0x80 | size);
    if (size >= 8 && size <= 16) {  // two words, which may overlap
      uint64_t first, last;
      std::memcpy(&first, text.data(), 8);
      std::memcpy(&last, text.data() + size - 8, 8);
      std::memcpy(at + 1, &first, 8);
      std::memcpy(at + 1 + size - 8, &last, 8);
    } else {
      std::memcpy(at + 1, text.data(), size);
    }
    at[1 + size] = static_cast<char>(1 + size);
    used_ += size + 2;
    ++elements_;
  }
  // Where so many more bytes belong.
  char* Room(size_t bytes) {
    if (bytes_.size() - used_ < bytes) bytes_.resize(2 * bytes_.size() + bytes);
    return bytes_.data() + used_;
  }
  void Added(ptrdiff_t bytes) {
    used_ += static_cast<size_t>(bytes);
    ++elements_;
  }

  std::string bytes_;  // with room behind those in use
  size_t used_ = kListpackHeaderBytes;
  size_t elements_ = 0;
};

// Goes through a listpack that may be anything. A fault in it ends the sequence and makes ok()
// false; a sequence that ends well has been checked to its last byte.
class ListpackReader {
 public:
  explicit ListpackReader(std::string_view bytes);
  // False at the end and at a fault. All inline, so that a loop keeps the reader in registers:
  // every element of a list or stream that is read comes through here.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Take(PackedItem& item);
  // False for a text, too: it is a fault.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool TakeNumber(int64_t& number);
  std::optional<PackedItem> Next() {  // null at the end
    PackedItem item;
    return Take(item) ? std::optional(item) : std::nullopt;
  }
  bool ok() const { return ok_; }
  // Makes what a caller has found to be senseless a fault; false.
  bool Refuse() {
    ok_ = false;
    at_ = end_;
    return false;
  }
  const char* at() const { return at_; }  // where the next element begins
  uint64_t seen() const { return seen_; }

 private:
  friend class ListpackWalk;

  static const char* Decode(const char* at, const char* end, PackedItem& item);
  static bool IsBacklength(const char* at, const char* end, size_t encoded_bytes);
  // The count has to be right, where it was counted.
  bool AtEnd() {
    if (ok_ && announced_ != UINT16_MAX && announced_ != seen_) Refuse();
    return false;
  }

  const char* at_;
  const char* end_;  // of the elements
  uint64_t announced_ = UINT16_MAX;
  uint64_t seen_ = 0;
  bool ok_ = true;
};

// Returns the place behind the element at `at`, or null at a fault. Requires: at < end. The first
// byte says all: ranges from the most frequent to the rarest. The element has to end with the
// length that a writer would have written for so many bytes.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline const char* ListpackReader::Decode(const char* at,
                                                                       const char* end,
                                                                       PackedItem& item) {
  const auto left = static_cast<size_t>(end - at);
  const auto first = static_cast<uint8_t>(*at);
  size_t encoded;
  if (first < 0x80) {
    item = PackedItem::Of(first);
    encoded = 1;
  } else if (first < 0xc0) {
    encoded = 1 + (first & 63u);
    item = PackedItem::Of({at + 1, encoded - 1});
  } else {
    constexpr uint8_t kMore[] = {4, 2, 3, 4, 8};
    if (first > 0xf4) return nullptr;
    const size_t more = first < 0xf0 ? 1 : kMore[first - 0xf0];
    if (left <= more) return nullptr;
    uint64_t bits = 0;
    if (left > sizeof bits) [[likely]] {
      std::memcpy(&bits, at + 1, sizeof bits);
      if (more < sizeof bits) bits &= (uint64_t{1} << 8 * more) - 1;
    } else {
      for (size_t i = more; i > 0; --i) bits = bits << 8 | static_cast<uint8_t>(at[i]);
    }
    encoded = 1 + more;
    if (first >= 0xe0 && first <= 0xf0) {
      const uint64_t length = first == 0xf0 ? bits : (first & 15u) << 8 | bits;
      if (length > left - encoded) return nullptr;
      item = PackedItem::Of({at + encoded, length});
      encoded += length;
    } else {
      const bool is_short = first < 0xe0;
      if (is_short) bits |= (first & 31u) << 8;
      const int unused = 64 - (is_short ? 13 : static_cast<int>(8 * more));
      item = PackedItem::Of(static_cast<int64_t>(bits << unused) >> unused);
    }
  }
  if (encoded <= 127) [[likely]] {
    if (left <= encoded || static_cast<uint8_t>(at[encoded]) != encoded) return nullptr;
    return at + encoded + 1;
  }
  if (!IsBacklength(at + encoded, end, encoded)) return nullptr;
  return at + encoded + ListpackBacklengthBytes(encoded);
}

inline bool ListpackReader::Take(PackedItem& item) {
  if (at_ == end_) return AtEnd();
  const char* const next = Decode(at_, end_, item);
  if (next == nullptr) return Refuse();
  at_ = next;
  ++seen_;
  return true;
}

inline bool ListpackReader::TakeNumber(int64_t& number) {
  // Most numbers that are asked for as such are small: flags, counts, parts of ids.
  if (end_ - at_ > 1 && static_cast<uint8_t>(*at_) < 0x80 && at_[1] == 1) [[likely]] {
    number = *at_;
    at_ += 2;
    ++seen_;
    return true;
  }
  PackedItem item;
  if (!Take(item) || !item.is_number) return Refuse();
  number = item.number;
  return true;
}

// Goes through elements that were written here, or that a ListpackReader has checked: back-lengths
// are passed over. Hardened: ends the process on bytes that lead beyond their end.
class ListpackWalk {
 public:
  explicit ListpackWalk(std::string_view elements)
      : at_(elements.data()), end_(elements.data() + elements.size()) {}

  ABSL_ATTRIBUTE_ALWAYS_INLINE PackedItem Next() {
    ABSL_HARDENING_ASSERT(at_ < end_);
    const auto first = static_cast<uint8_t>(*at_);
    if (first < 0x80) {
      at_ += 2;
      return PackedItem::Of(first);
    }
    if (first < 0xc0) {
      const std::string_view text(at_ + 1, first & 63u);
      at_ += text.size() + 2;
      ABSL_HARDENING_ASSERT(at_ <= end_);
      return PackedItem::Of(text);
    }
    return NextLong();
  }
  ABSL_ATTRIBUTE_ALWAYS_INLINE int64_t Number() {  // requires: it is one
    ABSL_HARDENING_ASSERT(at_ < end_);
    const auto first = static_cast<uint8_t>(*at_);
    if (first >= 0x80) return NextLong().number;
    at_ += 2;
    return first;
  }
  const char* at() const { return at_; }

 private:
  PackedItem NextLong() {
    PackedItem item;
    at_ = ListpackReader::Decode(at_, end_, item);
    ABSL_HARDENING_ASSERT(at_ != nullptr);
    return item;
  }

  const char* at_;
  const char* end_;
};

}  // namespace sluice
