// The order that SCAN, HSCAN, SSCAN and ZSCAN walk in, and where their pages end.
//
// A cursor is a place in the order of hashes: all before it have been given, all from it on are
// still to come, whatever is split, merged or swapped meanwhile. It is written with its bits
// reversed, so that a place which few leading bits describe is a small number, as in Redis. A page
// stops at the place with the fewest bits that suits its COUNT, so the cursors of a table of n
// elements are below 4n, or twice the directory's places where elements have been deleted; only
// hashes that begin alike, beyond all chance, make them longer.
//
// A page holds COUNT elements, or a tenth of that and 8 more: the room in which a short place is
// looked for, and in which a table's last elements are not worth a page of their own.
//
// An example: four segments of depth 2 with 300 elements each, and COUNT 280. Each page gives a
// whole segment, as that is no more than 280 + 28 + 8:
//
//   SCAN 0    from place 0000...   stops at 0100...   answers 2, which is 01 reversed
//   SCAN 2    from place 0100...   stops at 1000...   answers 1
//   SCAN 1    from place 1000...   stops at 1100...   answers 3
//   SCAN 3    from place 1100...   comes to the end   answers 0
//
// What does a cursor tell? Where some names stand in the order: leading bits of their hashes. Any
// cursor may be sent, so with some calls a client can learn the first 40 bits of each. These bits
// are outputs of SipHash under a key: they say nothing of the key, nothing of the hash of any other
// name, and nothing of the 24 bits that follow, of which the lowest 16 decide where a segment's
// table keeps the element. To gather names that begin alike a client has to try names, 2^20 of them
// for each that shares 20 bits; what it gets for that the directory's bound keeps small.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

// Cursors are below 2^40: enough for 2^38 elements. Further bits of one that a client sends are not
// looked at, as Redis looks at no more than its table needs.
inline constexpr int kCursorBits = 40;

// How many elements more than COUNT a page may hold.
constexpr size_t PageSlack(size_t count) { return count / 10 + 8; }

// Swaps neighbouring bits, pairs and halves of bytes, then the bytes.
constexpr uint64_t ReverseBits(uint64_t bits) {
  constexpr uint64_t kMasks[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f};
  for (int i = 0; i < 3; ++i) {
    const int step = 1 << i;
    bits = ((bits >> step) & kMasks[i]) | ((bits & kMasks[i]) << step);
  }
  return __builtin_bswap64(bits);
}

// Takes any number a client may send: bits beyond kCursorBits are cut off, the rest names a place.
constexpr uint64_t PlaceOfCursor(uint64_t cursor) {
  return ReverseBits(cursor & ((uint64_t{1} << kCursorBits) - 1));
}

// How many leading bits describe a place. The end of all, behind the last hash, is 0 as well.
constexpr int BitsOf(uint64_t place) { return place == 0 ? 0 : 64 - std::countr_zero(place); }

// The next place behind `low` with so many bits.
constexpr uint64_t NextPlace(uint64_t low, int bits) {
  return ((low >> (64 - bits)) + 1) << (64 - bits);
}

// The place with the fewest bits that is behind `low` and not behind `high`; if they are equal, the
// next one.
constexpr uint64_t ShortestPlace(uint64_t low, uint64_t high) {
  if (low == high) return low + 1;
  return high & ~uint64_t{0} << (63 - std::countl_zero(low ^ high));
}

// Where a page stops that is to give what has the hash `low`, and nothing from `high` on.
constexpr uint64_t StopBetween(uint64_t low, uint64_t high) {
  const uint64_t place = ShortestPlace(low, high);
  return BitsOf(place) <= kCursorBits ? place : NextPlace(low, kCursorBits);
}

// Where a page stops that has still room for `left` elements and `slack` more, among items with
// `hash` of which no two are equal: behind the last of them it stops at `end`. Puts them in part in
// order. Selection, not sorting: two nth_element are O(n).
template <typename Ranked>
uint64_t StopAmong(std::span<Ranked> ranked, size_t left, size_t slack, uint64_t end) {
  if (ranked.size() <= left + slack) return end;
  const auto nth = [ranked](size_t n, size_t below) {
    const auto by_hash = [](const Ranked& a, const Ranked& b) { return a.hash < b.hash; };
    std::nth_element(ranked.begin(), ranked.begin() + n, ranked.begin() + below, by_hash);
    return ranked[n].hash;
  };
  const uint64_t high = nth(left + slack, ranked.size());
  return StopBetween(nth(left - 1, left + slack), high);
}

}  // namespace sluice
