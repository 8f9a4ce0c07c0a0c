// How many bytes a block of memory really takes: what malloc makes of a request. Containers that
// grow step by step take all of it, and accounts count it: without that a keyspace of entries of 40
// bytes, which take 48, would be counted a sixth too small.
//
// mimalloc and jemalloc have the same classes: 8 bytes, then whole 16 bytes, above 128 four sizes
// to each power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace sluice {

// 100 -> 112, 130 -> 160, 1000 -> 1024, 1100 -> 1280: at most a quarter more than was asked for
// above 64.
constexpr size_t BlockSize(size_t wanted) {
  const size_t step = std::max<size_t>(wanted <= 8 ? 8 : 16, std::bit_ceil(wanted) / 8);
  return (wanted + step - 1) & ~(step - 1);
}

}  // namespace sluice
