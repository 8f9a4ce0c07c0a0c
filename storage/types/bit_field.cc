// See bit_field.h. Sums are computed in 128 bits, so that overflow is seen and not met.
#include "storage/types/bit_field.h"

#include <algorithm>
#include <cassert>

#include "absl/base/macros.h"
#include "protocol/text/number_text.h"
#include "storage/types/bits.h"

namespace sluice {
namespace {

using ExactInteger = __int128;

ExactInteger Highest(FieldType type) {
  return (ExactInteger{1} << (type.bits - (type.is_signed ? 1 : 0))) - 1;
}
ExactInteger Lowest(FieldType type) {
  return type.is_signed ? -(ExactInteger{1} << (type.bits - 1)) : 0;
}

// The lowest bits of `raw` as a number of that type.
int64_t Interpret(FieldType type, uint64_t raw) {
  const int unused = 64 - type.bits;
  if (type.is_signed) return static_cast<int64_t>(raw << unused) >> unused;
  return static_cast<int64_t>(raw << unused >> unused);
}

// The choice that BITFIELD's OVERFLOW names, for a value that is known exactly.
std::optional<int64_t> Fit(FieldType type, ExactInteger exact, FieldOverflow overflow) {
  const ExactInteger low = Lowest(type);
  const ExactInteger high = Highest(type);
  if (exact >= low && exact <= high) return static_cast<int64_t>(exact);
  switch (overflow) {
    case FieldOverflow::kWrap:
      return Interpret(type, static_cast<uint64_t>(exact));
    case FieldOverflow::kSaturate:
      return static_cast<int64_t>(std::clamp(exact, low, high));
    case FieldOverflow::kFail:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FieldType> ParseFieldType(std::string_view text) {
  if (text.empty() || (text[0] != 'i' && text[0] != 'u')) return std::nullopt;
  const bool is_signed = text[0] == 'i';
  const std::optional<int64_t> bits = ParseInt64(text.substr(1));
  if (!bits || *bits < 1 || *bits > (is_signed ? 64 : 63)) return std::nullopt;
  return FieldType{is_signed, static_cast<int>(*bits)};
}

// Whole bytes are shifted in from the left; of the last one only the bits that belong to the field.
int64_t ReadField(std::string_view bytes, uint64_t offset, FieldType type) {
  uint64_t raw = 0;
  // Nine bytes hold any field; gathered in two steps, because they are more than a word.
  const uint64_t end = offset + static_cast<uint64_t>(type.bits);
  for (uint64_t at = offset / 8; at * 8 < end; ++at) {
    const uint64_t byte = at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
    const uint64_t byte_end = at * 8 + 8;
    raw = byte_end <= end ? raw << 8 | byte
                          : raw << (8 - (byte_end - end)) | byte >> (byte_end - end);
  }
  return Interpret(type, raw);
}

void WriteField(std::span<char> bytes, uint64_t offset, FieldType type, int64_t value) {
  ABSL_HARDENING_ASSERT((offset + type.bits - 1) / 8 < bytes.size());
  for (int i = 0; i < type.bits; ++i) {
    PutBit(bytes, offset + i, static_cast<uint64_t>(value) >> (type.bits - 1 - i) & 1);
  }
}

std::optional<int64_t> FitField(FieldType type, int64_t value, int64_t increment,
                                FieldOverflow overflow) {
  return Fit(type, ExactInteger{value} + increment, overflow);
}

std::optional<int64_t> FitField(FieldType type, int64_t operand, FieldOverflow overflow) {
  return Fit(type,
             type.is_signed ? ExactInteger{operand} : ExactInteger{static_cast<uint64_t>(operand)},
             overflow);
}

}  // namespace sluice
