// See password.h.
#include "server/access/password.h"

#include <algorithm>

#include "storage/hashing/sha.h"

namespace sluice {
namespace {

constexpr size_t kDigits = 64;

}  // namespace

std::string PasswordDigest(std::string_view password) {
  std::string hex;
  hex.reserve(kDigits);
  for (const uint8_t byte : Sha256(password)) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

// Capitals are none, as in Redis: two texts for one password would be two passwords.
bool IsPasswordDigest(std::string_view text) {
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool SameDigest(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;  // never of digests
  unsigned char different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace sluice
