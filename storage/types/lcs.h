// The longest common subsequence of two strings and where its pieces lie, by dynamic programming
// (the textbook table). Among several equally long ones it is the one that Redis's LCS picks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// A piece that both strings hold: first positions in each, and its length.
struct LcsMatch {
  size_t a = 0;
  size_t b = 0;
  size_t length = 0;
  bool operator==(const LcsMatch&) const = default;
};

struct Lcs {
  std::string text;
  std::vector<LcsMatch> matches;  // from the last to the first
};

// Memory that FindLcs takes for strings of these lengths. Both are below 2^32.
constexpr uint64_t LcsTableBytes(uint64_t a_bytes, uint64_t b_bytes) {
  return (a_bytes + 1) * (b_bytes + 1) * sizeof(uint32_t);
}

// Null when there is no memory for its table. O(a x b) in time and memory: callers bound
// LcsTableBytes first.
std::optional<Lcs> FindLcs(std::string_view a, std::string_view b);
// The length alone needs two rows of the table.
size_t LcsLength(std::string_view a, std::string_view b);

}  // namespace sluice
