// SHA-1 and SHA-256, for what Redis shows of scripts, data and passwords. OpenSSL's functions below
// its providers: SHA1() and EVP bring a hundred times as much code with them (algorithms by name,
// certificates, errors), a third of the whole program, which each start would have to map.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

std::array<uint8_t, 20> Sha1(std::string_view bytes);
std::array<uint8_t, 32> Sha256(std::string_view bytes);

}  // namespace sluice
