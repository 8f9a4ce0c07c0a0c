// The hash of a key: XXH3 under the keyspace's seed, spread unevenly on purpose.
//
// Were it even, all segments would fill up and split at about the same number of keys, and just
// after that every table would be half empty: 17 bytes a key instead of 9, at 1.9 M keys or at 3.8
// M. With x -> x + x(1 - x)/3 on [0, 1) the upper end of the hashes is twice as dense as the lower
// (a cheap log2(1 + x)), so at any time some segments have just split while others are nearly full,
// and the tables cost 12 bytes a key whatever the number of keys. Order is kept; low bits stay
// even.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace sluice {

inline uint64_t SpreadHash(uint64_t even) {
  const auto curve = static_cast<uint64_t>((static_cast<unsigned __int128>(even) * ~even) >> 64);
  return even + curve / 3;
}

inline uint64_t HashKey(std::string_view key, uint64_t seed) {
  return SpreadHash(XXH3_64bits_withSeed(key.data(), key.size(), seed));
}

}  // namespace sluice
