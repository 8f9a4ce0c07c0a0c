// The checksum of Redis's dumps and snapshots: CRC-64 with Jones's polynomial, reflected, starting
// from 0.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// Crc64("123456789") = 0xe9c6d914c4b8d9ca, as in Redis's own test. Sums can be taken in pieces:
// Crc64(b, Crc64(a)) is Crc64(a b).
//
// The checksum of a text and `bytes` behind it, where `crc` is that of the text.
uint64_t Crc64(std::string_view bytes, uint64_t crc = 0);

}  // namespace sluice
