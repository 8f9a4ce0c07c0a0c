// Redis's listpack, written and read: see storage/types/listpack_size.h for its layout.
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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/rdb/packed_item.h"

namespace sluice {

// Append only. Bytes are those that Redis writes: texts that are integers become numbers, each in
// its shortest form, so that equal sequences make equal bytes.
class ListpackWriter {
 public:
  ListpackWriter() : bytes_(kRoomAtFirst, '\0') {}

  void Text(std::string_view text);  // as a number, if it is one
  void Number(int64_t number);
  size_t size() const { return elements_; }
  size_t bytes() const { return used_ + 1; }
  // The whole; afterwards the writer is as new.
  std::string Finish();

 private:
  static constexpr size_t kHeaderBytes = 6;
  static constexpr size_t kRoomAtFirst = 64;

  // Where so many more bytes belong.
  char* Room(size_t bytes) {
    if (bytes_.size() - used_ < bytes) bytes_.resize(2 * bytes_.size() + bytes);
    return bytes_.data() + used_;
  }
  void Byte(uint64_t byte) {
    *Room(1) = static_cast<char>(byte);
    ++used_;
  }
  void LittleEndian(uint64_t value, int bytes);
  void Encoded(uint64_t bytes, size_t count);
  void EndElement(size_t begin);

  std::string bytes_;  // with room behind those in use
  size_t used_ = kHeaderBytes;
  size_t elements_ = 0;
};

// Goes through a listpack that may be anything. A fault in it ends the sequence and makes ok()
// false; a sequence that ends well has been checked to its last byte.
class ListpackReader {
 public:
  explicit ListpackReader(std::string_view bytes);

  std::optional<PackedItem> Next();  // null at the end
  bool ok() const { return ok_; }

 private:
  std::optional<PackedItem> Fail();
  std::optional<uint64_t> LittleEndian(size_t bytes);
  bool TakeText(size_t bytes, PackedItem& item);
  bool TakeItem(PackedItem& item);
  bool TakeBacklength(size_t encoded_bytes);

  std::string_view rest_;  // behind the header, the end byte included
  uint64_t announced_ = 0;
  uint64_t seen_ = 0;
  bool ok_ = true;
};

}  // namespace sluice
