// The checksum of Redis's dumps and snapshots: CRC-64 with Jones's polynomial, reflected, starting
// from 0.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// Of `bytes` behind what has the checksum `crc` already.
uint64_t Crc64(std::string_view bytes, uint64_t crc = 0);

}  // namespace sluice
