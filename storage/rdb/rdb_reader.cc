// See rdb_reader.h. Before room is made for a text, its length is compared with what the
// file has left; a compressed text also with what its bytes can become at most.
#include "storage/rdb/rdb_reader.h"

#include <liblzf/lzf.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "protocol/text/number_text.h"

namespace sluice {
namespace {

// Three bytes of LZF become 264 at most.
constexpr uint64_t kExpansionMax = 88;

}  // namespace

// --- bytes

// The first fault is kept, with its place; all reads after it are empty.
void RdbReader::Fail(RdbFault fault) {
  if (failed()) return;
  fault_offset_ = Offset();
  fault_ = fault;
  bytes_ = {};
}

void RdbReader::Mend(std::string_view what) {
  if (!mended_.empty()) mended_ += ", ";
  mended_ += what;
}

// Whether a string of so many bytes can be taken, as far as is known.
bool RdbReader::Promised(uint64_t bytes) {
  if (bytes > bytes_.size() && bytes > Left()) Fail(RdbFault::kEnds);
  if (input_ && bytes > input_->string_bytes_max()) Fail(RdbFault::kTooLong);
  return ok();
}

// Gets so many bytes at hand.
bool RdbReader::More(size_t bytes) {
  if (input_ && ok()) bytes_ = input_->More(bytes_, bytes);
  if (bytes <= bytes_.size()) return true;
  Fail(input_ && input_->unreadable() ? RdbFault::kUnreadable : RdbFault::kEnds);
  return false;
}

std::string_view RdbReader::Raw(size_t bytes) {
  if (bytes > bytes_.size() && !More(bytes)) return {};
  const std::string_view taken = bytes_.substr(0, bytes);
  bytes_.remove_prefix(bytes);
  return taken;
}

uint8_t RdbReader::Byte() {
  const std::string_view taken = Raw(1);
  return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
}

// --- lengths and texts

// The two highest bits of the first byte: 6 bits, 14 bits, a longer length, or a form.
RdbReader::LengthOrForm RdbReader::ReadLength() {
  const uint8_t first = Byte();
  switch (first >> 6) {
    case 0:
      return {first};
    case 1:
      return {static_cast<uint64_t>(first & 63) << 8 | Byte()};
    case 3:
      return {static_cast<uint64_t>(first & 63), true};
  }
  if (first == 0x80) return {BigEndian(4)};
  if (first == 0x81) return {BigEndian(8)};
  Fail();
  return {};
}

uint64_t RdbReader::Length() {
  const LengthOrForm length = ReadLength();
  if (length.is_form) Fail();
  return failed() ? 0 : length.value;
}

// A long string comes in pieces of what is at hand.
template <typename Visit>
void RdbReader::InPieces(uint64_t bytes, Visit visit) {
  if (!Promised(bytes)) return;
  while (bytes > 0 && (!bytes_.empty() || More(1))) {
    const std::string_view piece = Raw(std::min<uint64_t>(bytes, bytes_.size()));
    visit(piece);
    bytes -= piece.size();
  }
}

// Room for the whole at once only where the source has promised so many bytes.
void RdbReader::Bytes(uint64_t bytes, std::string& text) {
  text.clear();
  if (!Promised(bytes)) return;
  if (bytes <= bytes_.size()) {
    text.assign(Raw(bytes));
    return;
  }
  // A file's end is known, a connection's is not: then the string grows as it comes.
  if (Left() != ByteSource::kUnknown) text.reserve(bytes);
  InPieces(bytes, [&text](std::string_view piece) { text.append(piece); });
  if (failed()) text.clear();
}

// Without memory for the string: a value that is left out may be a GiB.
void RdbReader::SkipString() {
  const LengthOrForm length = ReadLength();
  uint64_t bytes = length.value;
  if (length.is_form && length.value <= static_cast<uint64_t>(RdbStringForm::kInt32)) {
    bytes = uint64_t{1} << length.value;
  } else if (length.is_form && length.value == static_cast<uint64_t>(RdbStringForm::kLzf)) {
    bytes = Length();
    Length();  // when it is whole
  } else if (length.is_form) {
    Fail();
  }
  InPieces(bytes, [](std::string_view) {});
}

std::string RdbReader::String() {
  std::string text;
  StringInto(text);
  return text;
}

// A text, whichever of its three ways it is kept in.
void RdbReader::StringInto(std::string& text) {
  const LengthOrForm length = ReadLength();
  if (!length.is_form) return Bytes(length.value, text);
  text.clear();
  switch (static_cast<RdbStringForm>(length.value)) {
    case RdbStringForm::kInt8:
    case RdbStringForm::kInt16:
    case RdbStringForm::kInt32: {
      const int64_t value = LittleEndian(1 << length.value);
      if (ok()) text = Int64Text(value);
      return;
    }
    case RdbStringForm::kLzf:
      return Decompress(text);
  }
  Fail();
}

// LZF (Marc Lehmann): runs of literals, and references to what was written up to 8 KB before.
//
//   000lllll                    l + 1 literal bytes follow
//   lllooooo oooooooo           copy l + 2 bytes from o + 1 bytes before
//   111ooooo llllllll oooooooo  the same with l + 9 bytes
void RdbReader::Decompress(std::string& text) {
  const uint64_t packed_bytes = Length();
  const uint64_t bytes = Length();
  const bool is_possible = bytes > 0 && packed_bytes > 0 && bytes / kExpansionMax <= packed_bytes &&
                           bytes <= kRdbCompressedTextMax;
  if (!is_possible || !Promised(packed_bytes)) return Fail();
  std::string whole;
  if (packed_bytes > bytes_.size()) Bytes(packed_bytes, whole);
  const std::string_view packed = whole.empty() ? Raw(packed_bytes) : whole;
  if (failed()) return;
  text.resize(bytes);
  const unsigned int got = lzf_decompress(packed.data(), static_cast<unsigned int>(packed.size()),
                                          text.data(), static_cast<unsigned int>(text.size()));
  if (got == bytes) return;
  text.clear();
  Fail();
}

// --- numbers

double RdbReader::Double() {
  const int64_t bits = Int64();
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float RdbReader::Float() {
  const auto bits = static_cast<uint32_t>(LittleEndian(4));
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// A length byte and text; or one of three numbers that are no length.
double RdbReader::TextDouble() {
  constexpr uint8_t kMinusInfinity = 255, kInfinity = 254, kNan = 253;
  const uint8_t length = Byte();
  if (length == kNan) return std::nan("");
  if (length >= kInfinity) {
    const double infinity = std::numeric_limits<double>::infinity();
    return length == kMinusInfinity ? -infinity : infinity;
  }
  const std::optional<double> value = ParseDouble(Raw(length));
  if (!value) Fail();
  return value.value_or(0);
}

int64_t RdbReader::Int64() { return LittleEndian(8); }

int64_t RdbReader::Int32() { return LittleEndian(4); }

uint64_t RdbReader::BigEndian(int bytes) {
  uint64_t value = 0;
  for (const char c : Raw(static_cast<size_t>(bytes))) {
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return value;
}

int64_t RdbReader::LittleEndian(int bytes) {
  const std::string_view taken = Raw(static_cast<size_t>(bytes));
  uint64_t value = 0;
  for (size_t i = taken.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
  const int unused = 64 - 8 * bytes;
  return static_cast<int64_t>(value << unused) >> unused;
}

}  // namespace sluice
