// RdbInput: a window on a ByteSource for RdbReader. It holds the bytes that are at hand, knows
// where in the file they stand, and computes the checksum of all that went by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "storage/rdb/byte_source.h"
#include "storage/rdb/rdb_format.h"

namespace sluice {

// One buffer of kPieceBytes, through which the file slides:
//
//   | counted, taken | taken, not counted | rest: at hand | room for more |
//                    ^ counted_                           ^ filled_ = end_offset_ in the file
class RdbInput {
 public:
  // So much is read at once. A part of a value that has to lie in one piece is shorter than half.
  static constexpr size_t kPieceBytes = 64 * 1024;

  explicit RdbInput(ByteSource& source, uint64_t string_bytes_max = kRdbStringBytesMax);

  // `rest` is what of the bytes at hand has not been taken. Answers it with more behind it, at
  // least `bytes` (up to kPieceBytes) if there are so many; earlier views are void then.
  std::string_view More(std::string_view rest, size_t bytes);

  // Where the first byte of `rest` is in the file.
  uint64_t OffsetOf(std::string_view rest) const { return end_offset_ - rest.size(); }
  // How many bytes can come at most, `rest` included.
  uint64_t Left(std::string_view rest) const;
  // The checksum of all before `rest`.
  uint64_t Crc(std::string_view rest);

  uint64_t end_offset() const { return end_offset_; }  // how much has been read
  bool unreadable() const { return unreadable_; }      // the source has failed
  uint64_t string_bytes_max() const { return string_bytes_max_; }

 private:
  // Brings the checksum up to date. Is called for long runs, not at each read: Crc64 is fastest on
  // many bytes at once.
  void Count(const char* until);

  ByteSource& source_;
  const uint64_t string_bytes_max_;
  const std::unique_ptr<char[]> piece_;
  size_t filled_ = 0;   // of the piece
  size_t counted_ = 0;  // of these: how many are in crc_
  uint64_t crc_ = 0;
  uint64_t end_offset_ = 0;  // in the file, of what was read
  bool unreadable_ = false;
};

}  // namespace sluice
