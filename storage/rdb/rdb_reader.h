// RdbReader: takes the parts of RDB values from bytes that any client may have made. Nothing is
// believed: a length is never used to reserve memory beyond what the bytes at hand can fill.
//
// After the first fault failed() is true and every read gives an empty value at once, so that a
// loop has to ask ok() each time round.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/rdb/rdb_format.h"

namespace sluice {

class RdbReader {
 public:
  explicit RdbReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return !failed_; }
  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty(); }
  size_t left() const { return bytes_.size(); }
  void Fail() {
    failed_ = true;
    bytes_ = {};
  }

  uint8_t Byte();
  uint64_t Length();
  std::string String();
  double Double();      // 8 bytes
  double TextDouble();  // of the oldest sorted sets
  float Float();        // 4 bytes
  int64_t Int64();      // 8 bytes, little-endian
  std::string_view Raw(size_t bytes);

 private:
  struct LengthOrForm {
    uint64_t value = 0;
    bool is_form = false;
  };
  LengthOrForm ReadLength();
  uint64_t BigEndian(int bytes);
  int64_t LittleEndian(int bytes);  // signed
  std::string Decompress();

  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace sluice
