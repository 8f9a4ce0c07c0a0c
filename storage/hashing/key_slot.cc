// See key_slot.h.
#include "storage/hashing/key_slot.h"

#include <array>

namespace sluice {
namespace {

constexpr uint16_t kPolynomial = 0x1021;

// The remainder of each byte with eight zeros behind it.
constexpr std::array<uint16_t, 256> RemaindersOfBytes() {
  std::array<uint16_t, 256> remainders{};
  for (unsigned byte = 0; byte < remainders.size(); ++byte) {
    unsigned remainder = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder << 1) ^ ((remainder & 0x8000) ? kPolynomial : 0u);
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

}  // namespace

KeySlot SlotOfKey(std::string_view key) {
  return static_cast<KeySlot>(Crc16(TaggedPart(key)) & (kKeySlots - 1));
}

}  // namespace sluice
