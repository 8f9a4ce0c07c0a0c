// Base64 (RFC 4648): passwords of HTTP Basic come in it, names of keys go out and come back in its
// form for addresses, and hashes of the page's parts stand in its policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// Takes both alphabets, with or without '=' at the end. Nothing: it is none.
std::optional<std::string> FromBase64(std::string_view text);

std::string ToBase64(std::string_view bytes);     // '+', '/' and '='
std::string ToBase64Url(std::string_view bytes);  // '-' and '_', and no '='

}  // namespace sluice
