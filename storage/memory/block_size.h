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

// The same for accounts of what few have, such as tables: mimalloc gives blocks above 128 KB in
// whole 64 KB, above 512 KB in whole 512 KB, and so up to twice as much, of which the rest is never
// touched. Values are counted without that rest: it costs no memory, and they would be evicted for
// it.
constexpr size_t AllocatedSize(size_t wanted) {
  constexpr size_t kLarge = 128 * 1024;
  if (wanted <= kLarge) return BlockSize(wanted);
  const size_t least = wanted <= 4 * kLarge ? kLarge / 2 : 4 * kLarge;
  const size_t step = std::max(least, std::bit_ceil(wanted) / 8);
  return (wanted + step - 1) & ~(step - 1);
}

}  // namespace sluice
