// Integers of any width inside a string of bits, as BITFIELD reads and writes them: up to 64 bits
// signed or 63 unsigned, at any bit offset, highest bit first. Beyond the end all bits are 0.
//
// BITFIELD k SET u5 3 21 on an empty key writes 10101 behind three bits: 000 10101, one byte 0x15.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice {

struct FieldType {
  bool is_signed = false;
  int bits = 0;  // 1 .. 64, unsigned 1 .. 63
};

// "i8", "u63" ...; null for anything else.
std::optional<FieldType> ParseFieldType(std::string_view text);

// Says what becomes of a value that its field cannot hold.
enum class FieldOverflow : uint8_t {
  kWrap,      // the lowest bits are kept
  kSaturate,  // the nearest value that fits
  kFail,      // nothing is stored
};

// The field at bit `offset`, sign-extended if it is signed. O(1): at most nine bytes are looked at.
int64_t ReadField(std::string_view bytes, uint64_t offset, FieldType type);
// Requires: the field lies inside `bytes`, the value fits.
void WriteField(std::span<char> bytes, uint64_t offset, FieldType type, int64_t value);

// The value to store for `value` + `increment`, computed exactly; null when it does not fit and
// the way is kFail.
std::optional<int64_t> FitField(FieldType type, int64_t value, int64_t increment,
                                FieldOverflow overflow);
// The same for an operand of SET: an unsigned field takes its 64 bits as an unsigned number.
std::optional<int64_t> FitField(FieldType type, int64_t operand, FieldOverflow overflow);

}  // namespace sluice
