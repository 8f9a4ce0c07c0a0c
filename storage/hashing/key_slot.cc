// See key_slot.h. Functions with the attribute are compiled for processors with a carry-less
// multiplication, as the rest of the program is not.
#include "storage/hashing/key_slot.h"

#include <array>
#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>

#include "storage/hashing/sip_hash.h"
#endif

namespace sluice {
namespace {

constexpr uint32_t kPolynomial = 0x11021;

// The remainder of each byte with two zero bytes behind it.
constexpr std::array<uint16_t, 256> RemaindersOfBytes() {
  std::array<uint16_t, 256> remainders{};
  for (uint32_t byte = 0; byte < remainders.size(); ++byte) {
    uint32_t remainder = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      remainder <<= 1;
      if (remainder & 0x10000) remainder ^= kPolynomial;
    }
    remainders[byte] = static_cast<uint16_t>(remainder);
  }
  return remainders;
}
constexpr std::array<uint16_t, 256> kRemainders = RemaindersOfBytes();

uint16_t Crc16(std::string_view bytes) {
  uint16_t crc = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    crc = static_cast<uint16_t>((crc << 8) ^ kRemainders[(crc >> 8) ^ byte]);
  }
  return crc;
}

// The part of a key that counts.
std::string_view TaggedPart(std::string_view key) {
  const size_t open = key.find('{');
  if (open == key.npos) return key;
  const size_t close = key.find('}', open + 1);
  if (close == key.npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

constexpr KeySlot SlotOfCrc(uint64_t crc) { return static_cast<KeySlot>(crc & (kKeySlots - 1)); }

#if defined(__x86_64__)

#define SLUICE_WITH_CLMUL __attribute__((target("pclmul")))

// x^80 divided by the polynomial, but for its highest bit, which is that of x^64.
constexpr uint64_t Quotient() {
  uint64_t quotient = 0;
  uint32_t remainder = 1;  // of x^0
  for (int power = 0; power < 80; ++power) {
    remainder <<= 1;
    const bool divides = (remainder & 0x10000) != 0;
    if (divides) remainder ^= kPolynomial;
    quotient = quotient << 1 | (divides ? 1 : 0);
  }
  return quotient;
}

// In its low 16 bits the remainder of eight bytes, the first one highest, with two zero bytes
// behind them. Barrett's reduction: the quotient is the upper half of a product with x^80 /
// polynomial, and exactly so, as nothing is carried; what it leaves over are the low bits of its
// own product.
SLUICE_WITH_CLMUL inline uint64_t RemainderOf(uint64_t word, __m128i constants) {
  const __m128i words = _mm_set1_epi64x(static_cast<int64_t>(word));
  const __m128i quotient = _mm_xor_si128(_mm_clmulepi64_si128(words, constants, 0x00), words);
  const __m128i product = _mm_clmulepi64_si128(quotient, constants, 0x11);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

// Its highest bits of bytes say whether one is '{'.
constexpr uint64_t SeekBrace(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t zero_there = word ^ (kOnes * '{');
  return (zero_there - kOnes) & ~zero_there;
}

uint64_t WordAt(const char* bytes) { return __builtin_bswap64(sip::Load<uint64_t>(bytes)); }

struct SlotFound {
  KeySlot slot;
  bool has_brace;  // somewhere: then the slot may be another one
};

// A word at a time, of which the first is what is more than whole words: zeros before a text are
// nothing to its remainder, as that begins with 0.
SLUICE_WITH_CLMUL SlotFound SlotOfWhole(std::string_view key) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  const __m128i constants = _mm_set_epi64x(kPolynomial, static_cast<int64_t>(Quotient()));
  const char* at = key.data();
  const char* const end = at + key.size();
  uint64_t crc = 0;
  uint64_t braces = 0;
  if (const size_t head = key.size() % 8; head != 0) {
    const uint64_t first = key.size() >= 8 ? sip::Load<uint64_t>(at) : sip::RestOf(at, head);
    const uint64_t word = __builtin_bswap64(first) >> (64 - 8 * head);
    braces = SeekBrace(word);
    crc = RemainderOf(word, constants);
    at += head;
  }
  for (; at != end; at += 8) {
    const uint64_t word = WordAt(at);
    braces |= SeekBrace(word);
    crc = RemainderOf(word ^ crc << 48, constants);
  }
  return {SlotOfCrc(crc), (braces & kHighBits) != 0};
}

#undef SLUICE_WITH_CLMUL

#endif

}  // namespace

KeySlot SlotOfKeyByTable(std::string_view key) { return SlotOfCrc(Crc16(TaggedPart(key))); }

KeySlot SlotOfKey(std::string_view key) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("pclmul")) [[likely]] {
    const SlotFound found = SlotOfWhole(key);
    if (!found.has_brace) return found.slot;
    const std::string_view part = TaggedPart(key);
    return part.size() == key.size() ? found.slot : SlotOfWhole(part).slot;
  }
#endif
  return SlotOfKeyByTable(key);
}

}  // namespace sluice
