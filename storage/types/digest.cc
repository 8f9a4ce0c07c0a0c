// See digest.h.
#include "storage/types/digest.h"

#include <xxhash.h>

#include "protocol/text/hex.h"

namespace sluice {

uint64_t ChainedDigest(uint64_t before, std::string_view next) {
  return XXH3_64bits_withSeed(next.data(), next.size(), before);
}

uint64_t ValueDigest(std::string_view value) { return XXH3_64bits(value.data(), value.size()); }

std::string DigestText(uint64_t digest) {
  std::string text(kDigestTextBytes, '0');
  for (size_t i = kDigestTextBytes; i-- > 0; digest >>= 4)
    text[i] = "0123456789abcdef"[digest & 15];
  return text;
}

std::optional<uint64_t> ParseDigest(std::string_view text) {
  if (text.size() != kDigestTextBytes) return std::nullopt;
  uint64_t digest = 0;
  for (const char c : text) {
    const int digit = HexDigit(c);
    if (digit < 0) return std::nullopt;
    digest = digest << 4 | static_cast<uint64_t>(digit);
  }
  return digest;
}

}  // namespace sluice
