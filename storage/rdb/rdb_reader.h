// RdbReader: takes the parts of RDB values from bytes that any client may have made, or from a file
// that any program may have written. Nothing is believed: a length is never used to reserve memory
// beyond what the bytes that are left can fill.
//
// After the first fault failed() is true and every read gives an empty value at once, so that a
// loop has to ask ok() each time round.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_input.h"

namespace sluice {

// The first fault.
enum class RdbFault : uint8_t {
  kNone,
  kDamaged,     // what stands there cannot be
  kEnds,        // more is promised than is left
  kTooLong,     // a string beyond RdbInput::string_bytes_max
  kUnreadable,  // the source has failed
};

// Two ways to feed it: bytes that are all there (a dump), or an RdbInput that slides over a file.
// Views that Raw gives are void with the next read of an input.
class RdbReader {
 public:
  explicit RdbReader(std::string_view bytes) : bytes_(bytes), total_bytes_(bytes.size()) {}
  // `input` outlives the reader.
  explicit RdbReader(RdbInput& input) : input_(&input) {}

  bool ok() const { return fault_ == RdbFault::kNone; }
  bool failed() const { return !ok(); }
  RdbFault fault() const { return fault_; }
  bool at_end() const { return bytes_.empty(); }  // only when all bytes were at hand
  void Fail() { Fail(RdbFault::kDamaged); }
  // Notes what was not as it should be, and was told from the rest: "length". Each at most once a
  // value.
  void Mend(std::string_view what);
  // Takes the notes since the last call, a list of words; empty: none.
  std::string TakeMended() { return std::exchange(mended_, {}); }
  // How many bytes have been taken; after a fault, where that was.
  uint64_t offset() const { return failed() ? fault_offset_ : Offset(); }
  // The checksum of what has been taken. Only of an input.
  uint64_t Crc() { return input_->Crc(bytes_); }

  uint8_t Byte();
  uint64_t Length();
  std::string String();
  void StringInto(std::string& text);  // the same, which uses the room that `text` has
  void SkipString();
  double Double();      // 8 bytes
  double TextDouble();  // of the oldest sorted sets
  float Float();        // 4 bytes
  int64_t Int64();      // 8 bytes, little-endian
  int64_t Int32();      // 4 bytes, little-endian
  // From a file not more than RdbInput::kPieceBytes; the view is void with the next read.
  std::string_view Raw(size_t bytes);

 private:
  struct LengthOrForm {
    uint64_t value = 0;
    bool is_form = false;
  };
  LengthOrForm ReadLength();
  uint64_t BigEndian(int bytes);
  int64_t LittleEndian(int bytes);  // signed
  void Decompress(std::string& text);
  void Fail(RdbFault fault);
  uint64_t Offset() const {
    return input_ ? input_->OffsetOf(bytes_) : total_bytes_ - bytes_.size();
  }
  uint64_t Left() const { return input_ ? input_->Left(bytes_) : bytes_.size(); }
  bool Promised(uint64_t bytes);
  bool More(size_t bytes);
  template <typename Visit>
  void InPieces(uint64_t bytes, Visit visit);
  void Bytes(uint64_t bytes, std::string& text);

  RdbInput* input_ = nullptr;  // null: all bytes are at hand
  std::string_view bytes_;     // at hand
  size_t total_bytes_ = 0;
  uint64_t fault_offset_ = 0;
  RdbFault fault_ = RdbFault::kNone;
  std::string mended_;
};

}  // namespace sluice
