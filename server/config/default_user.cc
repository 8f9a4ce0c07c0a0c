// See default_user.h.
#include "server/config/default_user.h"

#include <algorithm>

#include "storage/hashing/sha.h"

namespace sluice {
namespace {

// In small letters, as Redis writes it.
std::string Sha256Hex(std::string_view bytes) {
  std::string hex;
  for (const uint8_t byte : Sha256(bytes)) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

}  // namespace

// Strict: a rule that is not understood would be one that is silently not enforced.
std::optional<std::string> DefaultUserPassword(std::span<const std::string> words) {
  // A line of a file begins with nothing allowed: what is not said is denied.
  constexpr std::string_view kNeeded[] = {"on", "~*", "&*", "+@all"};
  if (words.empty() || words[0] != "default") return std::nullopt;
  words = words.subspan(1);
  for (const std::string_view needed : kNeeded) {
    if (std::ranges::find(words, needed) == words.end()) return std::nullopt;
  }
  std::optional<std::string> digest;
  for (const std::string& word : words) {
    if (word == "sanitize-payload" || std::ranges::find(kNeeded, word) != std::end(kNeeded)) {
      continue;
    }
    if (digest || (word != "nopass" && !word.starts_with('#'))) return std::nullopt;
    digest = word == "nopass" ? std::string() : word.substr(1);
  }
  return digest;
}

// An empty digest stands for a user without a password.
bool IsPasswordOf(std::string_view digest, std::string_view password) {
  return digest.empty() ? password.empty() : Sha256Hex(password) == digest;
}

}  // namespace sluice
