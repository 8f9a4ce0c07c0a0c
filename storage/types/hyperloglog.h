// HyperLogLog: about how many different elements were added, in at most 12 KB. It lies in a string
// that clients may GET and SET, byte for byte as Redis has it:
//
//   "HYLL" | encoding 1: 0 dense, 1 sparse | 0 0 0 | count 8, the lowest byte first | registers
//
// The count is that of the last look; its highest bit says that it is out of date. There are 16384
// registers of 6 bits: dense, packed from the lowest bit on; sparse, as runs:
//
//   00xxxxxx            x + 1 registers are 0
//   01xxxxxx yyyyyyyy   x * 256 + y + 1 registers are 0
//   1vvvvvxx            x + 1 registers are v + 1
//
// The estimate is Ertl's ("New cardinality estimation algorithms for HyperLogLog sketches", 2017).
// Strings come from clients: what is no HyperLogLog, or a broken one, is told and never followed.
//
// An empty one is 18 bytes, "HYLL" 01 000000 and a count of 0, then 7f ff: 16384 registers are 0.
// PFADD of an element whose hash ends in 14 bits of value 100, before which stands ...100 (value 3:
// two zeros and a one), splits that run into 40 63 | 88 | 7f 9a.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

namespace hll {

inline constexpr size_t kRegisters = 16384;
inline constexpr size_t kHeaderBytes = 16;
inline constexpr size_t kDenseBytes = kHeaderBytes + kRegisters * 6 / 8;

using Registers = std::array<uint8_t, kRegisters>;

enum class Change : uint8_t { kNone, kDone, kCorrupt };

// The register that an element belongs to, and the value that it asks for.
struct Place {
  size_t index;
  uint8_t value;
};
Place PlaceOf(std::string_view element);

std::string Empty();                   // sparse, of no element
bool IsOne(std::string_view text);     // by its header and, if dense, its length
bool IsSparse(std::string_view text);  // precondition of this and all below: IsOne
// Sparse, and longer than any sound one: known to be corrupt without a look at its runs.
bool IsOverlong(std::string_view text);

// Raises one register. A sparse one of more than `sparse_bytes_max` becomes dense.
Change Raise(std::string& text, const Place& place, size_t sparse_bytes_max);
bool MakeDense(std::string& text);  // false: it is corrupt, and unchanged

// Raises `registers` to those of `text`; false: it is corrupt. O(16384) in either form.
bool MergeInto(Registers& registers, std::string_view text);
uint64_t Estimate(const Registers& registers);
// The same of one sketch; null: it is corrupt. O(bytes) where it is sparse.
std::optional<uint64_t> Count(std::string_view text);

std::optional<uint64_t> CachedCount(std::string_view text);  // null: out of date
void SetCachedCount(std::span<char> text, uint64_t count);
void ForgetCachedCount(std::string& text);

std::string DescribeRuns(std::string_view text);  // "Z:100 v:3,1 z:5"; requires: IsSparse

}  // namespace hll

}  // namespace sluice
