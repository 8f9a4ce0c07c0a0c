// RdbWriter: appends the parts of RDB values to a string. See rdb_format.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/rdb/rdb_format.h"

namespace sluice {

// Appends only; the caller takes the string when it likes. Nothing fails: lengths are those of
// memory.
class RdbWriter {
 public:
  // `out` outlives the writer. Without `compress` texts stay as they are.
  explicit RdbWriter(std::string& out, bool compress = true) : out_(out), compress_(compress) {}

  bool compress() const { return compress_; }

  void Byte(uint8_t byte) { out_.push_back(static_cast<char>(byte)); }
  void Type(RdbType type) { Byte(static_cast<uint8_t>(type)); }
  void Opcode(RdbOpcode code) { Byte(static_cast<uint8_t>(code)); }
  // As rdb_format.h has it, in the shortest form: 10 is 0a, 300 is 41 2c, 70000 is 80 00 01 11 70.
  void Length(uint64_t length);
  // As Redis's rdbSaveRawString: a short integer as such, a long text compressed where that is
  // shorter, else as it is.
  void String(std::string_view text);
  void Integer(int64_t value);  // a string that is a number
  void Double(double value);    // 8 bytes
  void Int64(int64_t value);    // 8 bytes, little-endian
  void Raw(std::string_view bytes) { out_.append(bytes); }

 private:
  void Form(RdbStringForm form) { Byte(static_cast<uint8_t>(0xc0 | static_cast<uint8_t>(form))); }
  bool ShortInteger(int64_t value);  // false: it does not fit into 32 bits
  bool Compressed(std::string_view text);
  void BigEndian(uint64_t value, int bytes);
  void LittleEndian(uint64_t value, int bytes);

  std::string& out_;
  const bool compress_;
};

}  // namespace sluice
