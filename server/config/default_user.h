// The line "user default ..." that Redis's CONFIG REWRITE puts into every file. Sluice has no other
// user, and of that one only the password: the line is taken when it means what requirepass means.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// What the words behind "user" say of the default user who may do everything: the SHA-256 of the
// one password in hex, or "" for none. Nullopt: they say something else.
std::optional<std::string> DefaultUserPassword(std::span<const std::string> words);

// Whether `password` (empty: none) is the one of that digest.
bool IsPasswordOf(std::string_view digest, std::string_view password);

}  // namespace sluice
