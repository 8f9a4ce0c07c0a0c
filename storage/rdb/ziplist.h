// The packed sequences of older Redis versions, which are read and never written.
//
//   ziplist: total bytes 4 | offset of the last 4 | count 2 | entry ... | ff
//     entry: length of the one before (1, or fe + 4) | encoding | bytes
//     encoding: 00|6 or 01|6 + 1 or 80 + 4 bytes of length (big-endian), or c0, d0, e0, f0, fe: a
//     number of 2, 4, 8, 3, 1 bytes, or f1 .. fd: 0 .. 12
//   zipmap: count 1 | (length, name, length, free 1, value, free bytes) ... | ff
//     length: 1 byte, or fe + 4
//   intset: bytes of a number 4 | count 4 | numbers in ascending order
//
// All numbers but ziplist's lengths are little-endian. Each function visits the elements in order
// and answers false for bytes that are no such sequence, or when `visit` does.
//
// ["a", 5] as a ziplist and {5, 300} as an intset, in hex:
//
//   10 00 00 00 | 0d 00 00 00 | 02 00 | 00 01 61 | 03 f6 | ff     the second entry begins at 13
//   02 00 00 00 | 02 00 00 00 | 05 00 | 2c 01
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "storage/listpack/packed_item.h"

namespace sluice {

using VisitPacked = absl::FunctionRef<bool(const PackedItem&)>;

bool ForEachInZiplist(std::string_view bytes, VisitPacked visit);
bool ForEachInZipmap(std::string_view bytes, VisitPacked visit);  // name, value, name, value ...
bool ForEachInIntset(std::string_view bytes, VisitPacked visit);

}  // namespace sluice
