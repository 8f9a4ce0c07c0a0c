// See rdb_writer.h.
#include "storage/rdb/rdb_writer.h"

#include <liblzf/lzf.h>

#include <cstring>
#include <memory>
#include <optional>

#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr size_t kIntegerTextMax = 11;  // "-2147483648"
constexpr size_t kCompressFrom = 21;    // bytes; less is not worth it

}  // namespace

void RdbWriter::Length(uint64_t length) {
  if (length < 1u << 6) return Byte(static_cast<uint8_t>(length));
  if (length < 1u << 14) return BigEndian(length | 0x4000, 2);
  const bool is_short = length <= UINT32_MAX;
  Byte(is_short ? 0x80 : 0x81);
  BigEndian(length, is_short ? 4 : 8);
}

void RdbWriter::String(std::string_view text) {
  if (text.size() <= kIntegerTextMax) {
    const std::optional<int64_t> number = ParseInt64(text);
    if (number && ShortInteger(*number)) return;
  }
  const bool fits = text.size() >= kCompressFrom && text.size() <= kRdbCompressedTextMax;
  if (compress_ && fits && Compressed(text)) return;
  Length(text.size());
  Raw(text);
}

// Without the text where 32 bits hold it.
void RdbWriter::Integer(int64_t value) {
  if (ShortInteger(value)) return;
  char text[kInt64TextMax];
  const auto bytes = static_cast<size_t>(FormatInt64(text, value) - text);
  Length(bytes);
  Raw({text, bytes});
}

void RdbWriter::Double(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  Int64(bits);
}

void RdbWriter::Int64(int64_t value) { LittleEndian(static_cast<uint64_t>(value), 8); }

bool RdbWriter::ShortInteger(int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX) return false;
  const int log = value >= INT8_MIN && value <= INT8_MAX     ? 0
                  : value >= INT16_MIN && value <= INT16_MAX ? 1
                                                             : 2;
  Form(static_cast<RdbStringForm>(log));
  LittleEndian(static_cast<uint64_t>(value), 1 << log);
  return true;
}

// As Redis: four bytes have to be saved, or the text stays as it is.
bool RdbWriter::Compressed(std::string_view text) {
  const size_t room = text.size() - 4;  // it must save something
  const auto packed = std::make_unique_for_overwrite<char[]>(room);
  const unsigned int bytes = lzf_compress(text.data(), static_cast<unsigned int>(text.size()),
                                          packed.get(), static_cast<unsigned int>(room));
  if (bytes == 0) return false;
  Form(RdbStringForm::kLzf);
  Length(bytes);
  Length(text.size());
  Raw({packed.get(), bytes});
  return true;
}

void RdbWriter::BigEndian(uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) Byte(static_cast<uint8_t>(value >> 8 * i));
}

void RdbWriter::LittleEndian(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) Byte(static_cast<uint8_t>(value >> 8 * i));
}

}  // namespace sluice
