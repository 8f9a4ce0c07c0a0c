// The digest of a string value: 16 hexadecimal digits of its XXH3-64, seed 0. Clients compute the
// same one (DIGEST, SET IFDEQ), so it is a fixed part of the protocol and not of the hash tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr size_t kDigestTextBytes = 16;

// O(n). Not keyed: a client can make two values of one digest, so it tells of changes, not of
// malice.
uint64_t ValueDigest(std::string_view value);
// The same with a seed, as one digest of several texts: each has that of those before as its seed.
uint64_t ChainedDigest(uint64_t before, std::string_view next);
std::string DigestText(uint64_t digest);  // lower case, leading zeros kept
// Exactly 16 hexadecimal digits of either case.
std::optional<uint64_t> ParseDigest(std::string_view text);

}  // namespace sluice
