// See bits.h. Whole words are counted by sums of pairs, nibbles and bytes (the population count of
// "Hacker's Delight"): the build does not assume a popcnt instruction.
#include "storage/types/bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "absl/base/macros.h"

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

// The mask of the bits of byte `at` that lie in the range. Requires: some do.
unsigned RangeMask(BitRange range, size_t at) {
  unsigned mask = 0xff;
  if (at == range.first / 8) mask &= 0xffu >> (range.first % 8);
  if (at == range.last / 8) mask &= 0xff00u >> (range.last % 8 + 1);
  return mask & 0xff;
}

// --- many at once

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

// How many of the leading bytes are all of that value, in whole blocks: a look at four words costs
// no more than one at each, and memory is what bounds it then.
size_t LeadingRun(std::string_view bytes, uint64_t value) {
  constexpr size_t kBlockBytes = 4 * kWordBytes;
  const auto differing = [bytes, value](size_t at) { return WordAt(bytes, at) ^ value; };
  size_t at = 0;
  for (; at + kBlockBytes <= bytes.size(); at += kBlockBytes) {
    const uint64_t first = differing(at) | differing(at + kWordBytes);
    const uint64_t second = differing(at + 2 * kWordBytes) | differing(at + 3 * kWordBytes);
    if ((first | second) != 0) break;
  }
  return at;
}

// So much is combined at a time that it stays in the cache while all sources are gone through.
constexpr size_t kPieceBytes = 16 << 10;

// --- BITOP

// result[i] = combine(left[i], source[i]), for all of the source; `left` may be the result. Several
// words at a time: with a test after each, that is what the time would go into. Only `left` and the
// source are read: a new page that is read before it is written to costs two faults.
template <typename Combine>
void FoldWith(std::span<char> result, const char* left, std::string_view source,
              const Combine& combine) {
  constexpr size_t kWords = 8;
  using Words = std::array<uint64_t, kWords>;
  char* const out = result.data();
  const char* const in = source.data();
  size_t at = 0;
  for (; at + sizeof(Words) <= source.size(); at += sizeof(Words)) {
    Words mine, others;
    std::memcpy(&mine, left + at, sizeof mine);
    std::memcpy(&others, in + at, sizeof others);
    for (size_t i = 0; i < kWords; ++i) mine[i] = combine(mine[i], others[i]);
    std::memcpy(out + at, &mine, sizeof mine);
  }
  for (; at < source.size(); ++at) {
    const auto mine = static_cast<unsigned char>(left[at]);
    out[at] = static_cast<char>(combine(mine, ByteAt(source, at)));
  }
}

// Requires: the source is no longer than the result, and as long if `left` is not the result.
void Fold(BitOperation operation, std::span<char> result, const char* left,
          std::string_view source) {
  switch (operation) {
    case BitOperation::kAnd:
      FoldWith(result, left, source, [](uint64_t a, uint64_t b) { return a & b; });
      std::ranges::fill(result.subspan(source.size()), '\0');
      break;
    case BitOperation::kOr:
      FoldWith(result, left, source, [](uint64_t a, uint64_t b) { return a | b; });
      break;
    case BitOperation::kXor:
      FoldWith(result, left, source, [](uint64_t a, uint64_t b) { return a ^ b; });
      break;
    case BitOperation::kNot:
      FoldWith(result, left, source, [](uint64_t, uint64_t b) { return ~b; });
      break;
    case BitOperation::kDiff:  // of what the others have, and the first as the source
      FoldWith(result, left, source, [](uint64_t a, uint64_t b) { return ~a & b; });
      std::ranges::fill(result.subspan(source.size()), '\0');
      break;
    case BitOperation::kDiff1:
      FoldWith(result, left, source, [](uint64_t a, uint64_t b) { return a & ~b; });
      break;
    case BitOperation::kAndOr:
      return Fold(BitOperation::kAnd, result, left, source);
    case BitOperation::kOne:
      break;  // takes more than two texts at a time: CombineOne
  }
}

std::string_view PieceOf(std::string_view source, size_t at, size_t bytes) {
  return at < source.size() ? source.substr(at, bytes) : std::string_view();
}

// In exactly one: what has come an odd number of times, without what has come twice.
void CombineOne(std::span<const std::string_view> sources, size_t at, std::span<char> result) {
  std::array<char, kPieceBytes> twice_of_all;
  const std::span<char> twice(twice_of_all.data(), result.size());
  std::ranges::fill(result, '\0');
  std::ranges::fill(twice, '\0');
  for (const std::string_view source : sources) {
    const std::string_view piece = PieceOf(source, at, result.size());
    for (size_t i = 0; i < piece.size(); ++i) {
      twice[i] = static_cast<char>(twice[i] | (result[i] & piece[i]));
      result[i] = static_cast<char>(result[i] ^ piece[i]);
    }
  }
  Fold(BitOperation::kDiff1, result, result.data(), {twice.data(), twice.size()});
}

// Sources that end before the piece does count as zeros.
void CombinePiece(BitOperation operation, std::span<const std::string_view> sources, size_t at,
                  std::span<char> result) {
  const std::string_view first = PieceOf(sources[0], at, result.size());
  if (operation == BitOperation::kNot) return Fold(operation, result, first.data(), first);
  if (operation == BitOperation::kOne) return CombineOne(sources, at, result);
  if (operation > BitOperation::kNot) {  // all others as one, and that with the first
    CombinePiece(BitOperation::kOr, sources.subspan(1), at, result);
    return Fold(operation, result, result.data(), first);
  }
  sources = sources.subspan(1);
  // Two whole pieces are combined on their way into the result.
  const char* left = first.data();
  if (sources.empty() ||
      std::min(first.size(), PieceOf(sources[0], at, result.size()).size()) < result.size()) {
    std::fill(std::ranges::copy(first, result.begin()).out, result.end(), '\0');
    left = result.data();
  }
  for (const std::string_view source : sources) {
    Fold(operation, result, left, PieceOf(source, at, result.size()));
    left = result.data();
  }
}

}  // namespace

// --- the functions

bool BitAt(std::string_view bytes, uint64_t offset) {
  const uint64_t at = offset / 8;
  return at < bytes.size() && (ByteAt(bytes, at) >> (7 - offset % 8) & 1);
}

void PutBit(std::span<char> bytes, uint64_t offset, bool value) {
  ABSL_HARDENING_ASSERT(offset / 8 < bytes.size());
  const unsigned mask = 0x80u >> (offset % 8);
  unsigned byte = static_cast<unsigned char>(bytes[offset / 8]);
  byte = value ? byte | mask : byte & ~mask;
  bytes[offset / 8] = static_cast<char>(byte);
}

// The ends under their masks, what is between them by whole words.
uint64_t CountBits(std::string_view bytes, BitRange range) {
  if (range.empty()) return 0;
  const size_t first = range.first / 8;
  const size_t last = range.last / 8;
  ABSL_HARDENING_ASSERT(last < bytes.size());
  uint64_t count = std::popcount(ByteAt(bytes, first) & RangeMask(range, first));
  if (first == last) return count;
  count += std::popcount(ByteAt(bytes, last) & RangeMask(range, last));
  return count + CountWhole(bytes.substr(first + 1, last - first - 1));
}

// The first and the last byte are looked at under a mask; runs of bytes without the bit are jumped
// over in blocks of 32. A search for 0 is one for 1 in the flipped bytes.
int64_t FindBit(std::string_view bytes, bool value, BitRange range) {
  if (range.empty()) return -1;
  const size_t last = range.last / 8;
  ABSL_HARDENING_ASSERT(last < bytes.size());
  const unsigned flip = value ? 0 : 0xff;  // so that a sought bit is always a 1
  const uint64_t nothing = value ? 0 : ~uint64_t{0};
  for (size_t at = range.first / 8; at <= last; ++at) {
    const unsigned found = (ByteAt(bytes, at) ^ flip) & RangeMask(range, at);
    if (found) return static_cast<int64_t>(at * 8) + std::countl_zero(static_cast<uint8_t>(found));
    at += LeadingRun(bytes.substr(at + 1, last - at), nothing);
  }
  return -1;
}

// BITOP in pieces that fit the cache: every piece of the result is finished over all sources before
// the next is begun.
TextBlock CombineBits(BitOperation operation, std::span<const std::string_view> sources) {
  size_t longest = 0;
  for (const std::string_view source : sources) longest = std::max(longest, source.size());
  TextBlock result = TextBlock::OfSize(longest);
  for (size_t at = 0; at < longest; at += kPieceBytes) {
    const size_t bytes = std::min(kPieceBytes, longest - at);
    CombinePiece(operation, sources, at, result.bytes().subspan(at, bytes));
  }
  return result;
}

}  // namespace sluice
