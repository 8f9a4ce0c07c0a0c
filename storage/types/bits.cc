#include "storage/types/bits.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace sluice {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);

uint64_t WordAt(std::string_view bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, kWordBytes);
  return word;
}

unsigned char ByteAt(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// The mask of the bits of byte `at` that lie in the range. Precondition: some do.
unsigned RangeMask(BitRange range, size_t at) {
  unsigned mask = 0xff;
  if (at == range.first / 8) mask &= 0xffu >> (range.first % 8);
  if (at == range.last / 8) mask &= 0xff00u >> (range.last % 8 + 1);
  return mask & 0xff;
}

// Set bits of whole bytes, eight at a time: sums of pairs, nibbles and bytes are gathered in one
// word, whose bytes cannot overflow within 31 rounds.
uint64_t CountWhole(std::string_view bytes) {
  uint64_t count = 0;
  size_t at = 0;
  while (at + kWordBytes <= bytes.size()) {
    uint64_t sums = 0;
    for (int round = 0; round < 31 && at + kWordBytes <= bytes.size(); ++round, at += kWordBytes) {
      uint64_t word = WordAt(bytes, at);
      word -= (word >> 1) & 0x5555555555555555;
      word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
      sums += (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    }
    sums = (sums & 0x00ff00ff00ff00ff) + ((sums >> 8) & 0x00ff00ff00ff00ff);
    count += (sums * 0x0001000100010001) >> 48;
  }
  for (; at < bytes.size(); ++at) count += std::popcount(ByteAt(bytes, at));
  return count;
}

void Fold(BitOperation operation, std::string& result, std::string_view source) {
  const size_t common = source.size();  // never longer than the result
  size_t at = 0;
  for (; at + kWordBytes <= common; at += kWordBytes) {
    uint64_t word = WordAt(result, at);
    const uint64_t other = WordAt(source, at);
    if (operation == BitOperation::kAnd) word &= other;
    if (operation == BitOperation::kOr) word |= other;
    if (operation == BitOperation::kXor) word ^= other;
    std::memcpy(result.data() + at, &word, kWordBytes);
  }
  for (; at < common; ++at) {
    if (operation == BitOperation::kAnd) result[at] &= source[at];
    if (operation == BitOperation::kOr) result[at] |= source[at];
    if (operation == BitOperation::kXor) result[at] ^= source[at];
  }
  if (operation == BitOperation::kAnd) std::fill(result.begin() + common, result.end(), '\0');
}

}  // namespace

bool BitAt(std::string_view bytes, uint64_t offset) {
  const uint64_t at = offset / 8;
  return at < bytes.size() && (ByteAt(bytes, at) >> (7 - offset % 8) & 1);
}

void PutBit(std::string& bytes, uint64_t offset, bool value) {
  assert(offset / 8 < bytes.size());
  const unsigned mask = 0x80u >> (offset % 8);
  unsigned byte = ByteAt(bytes, offset / 8);
  byte = value ? byte | mask : byte & ~mask;
  bytes[offset / 8] = static_cast<char>(byte);
}

uint64_t CountBits(std::string_view bytes, BitRange range) {
  if (range.empty()) return 0;
  const size_t first = range.first / 8;
  const size_t last = range.last / 8;
  assert(last < bytes.size());
  uint64_t count = std::popcount(ByteAt(bytes, first) & RangeMask(range, first));
  if (first == last) return count;
  count += std::popcount(ByteAt(bytes, last) & RangeMask(range, last));
  return count + CountWhole(bytes.substr(first + 1, last - first - 1));
}

int64_t FindBit(std::string_view bytes, bool value, BitRange range) {
  if (range.empty()) return -1;
  const size_t last = range.last / 8;
  assert(last < bytes.size());
  const unsigned flip = value ? 0 : 0xff;  // so that a sought bit is always a 1
  const uint64_t nothing = value ? 0 : ~uint64_t{0};
  for (size_t at = range.first / 8; at <= last; ++at) {
    const unsigned found = (ByteAt(bytes, at) ^ flip) & RangeMask(range, at);
    if (found) return static_cast<int64_t>(at * 8) + std::countl_zero(static_cast<uint8_t>(found));
    while (at + kWordBytes < last && WordAt(bytes, at + 1) == nothing) at += kWordBytes;
  }
  return -1;
}

std::string CombineBits(BitOperation operation, std::span<const std::string_view> sources) {
  size_t longest = 0;
  for (const std::string_view source : sources) longest = std::max(longest, source.size());
  if (longest == 0) return {};
  std::string result;
  result.reserve(longest);
  result = sources[0];
  result.resize(longest);
  if (operation == BitOperation::kNot) {
    for (char& byte : result) byte = static_cast<char>(~byte);
    return result;
  }
  for (const std::string_view source : sources.subspan(1)) Fold(operation, result, source);
  return result;
}

}  // namespace sluice
