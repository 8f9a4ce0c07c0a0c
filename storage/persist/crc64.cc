#include "storage/persist/crc64.h"

#include <array>

namespace sluice {
namespace {

constexpr uint64_t kPolynomial = 0x95ac9329ac4bc9b5;  // 0xad93d23594c935a9, its bits reversed

constexpr std::array<uint64_t, 256> MakeTable() {
  std::array<uint64_t, 256> table{};
  for (uint64_t byte = 0; byte < 256; ++byte) {
    uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ kPolynomial : crc >> 1;
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint64_t, 256> kTable = MakeTable();

}  // namespace

uint64_t Crc64(std::string_view bytes, uint64_t crc) {
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 255] ^ crc >> 8;
  return crc;
}

}  // namespace sluice
