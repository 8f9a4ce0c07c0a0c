// Passwords as they are kept: SHA-256 in hex, as Redis shows and saves them. A comparison takes the
// same time whatever it finds.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// 64 small letters and digits.
std::string PasswordDigest(std::string_view password);
bool IsPasswordDigest(std::string_view text);
// Compares two digests. Looks at every byte, whatever it finds.
bool SameDigest(std::string_view a, std::string_view b);

}  // namespace sluice
