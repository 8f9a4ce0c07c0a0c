// A string as an array of bits: bit 0 is the highest bit of the first byte, as Redis counts them,
// and beyond the end all bits are 0. Pure functions over bytes, for the BIT commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "storage/memory/text_block.h"

namespace sluice {

// A range of bits, both ends included. Empty when first > last.
struct BitRange {
  uint64_t first = 0;
  uint64_t last = 0;

  bool empty() const { return first > last; }
};

// False beyond the end.
bool BitAt(std::string_view bytes, uint64_t offset);
// Requires: the bit lies inside `bytes`.
void PutBit(std::span<char> bytes, uint64_t offset, bool value);

// For both: the range lies inside `bytes`.
uint64_t CountBits(std::string_view bytes, BitRange range);
// The first bit of that value, or -1.
int64_t FindBit(std::string_view bytes, bool value, BitRange range);

enum class BitOperation : uint8_t {
  kAnd,
  kOr,
  kXor,
  kNot,
  kDiff,   // in the first, and in no other
  kDiff1,  // in another, and not in the first
  kAndOr,  // in the first, and in another
  kOne,    // in exactly one
};
// As long as the longest source, shorter ones padded with zeros. kNot takes one source; kDiff,
// kDiff1 and kAndOr take two or more.
TextBlock CombineBits(BitOperation operation, std::span<const std::string_view> sources);

}  // namespace sluice
