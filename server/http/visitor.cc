// See visitor.h.
#include "server/http/visitor.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "protocol/text/letters.h"
#include "server/access/password.h"

namespace sluice {
namespace {

constexpr std::string_view kLocal = "localhost";
constexpr std::string_view kDigits = "0123456789";

// Four numbers and nothing else. No name of the system of names looks so.
bool IsIpv4(std::string_view host) {
  int dots = 0;
  size_t digits = 0;
  for (const char c : host) {
    if (c == '.') {
      if (digits == 0) return false;
      ++dots;
      digits = 0;
    } else if (kDigits.find(c) == kDigits.npos || ++digits > 3) {
      return false;
    }
  }
  return dots == 3 && digits > 0;
}

bool IsIpv6(std::string_view host) {
  return host.size() > 2 && host.starts_with('[') && host.ends_with(']') &&
         host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.") == host.npos;
}

// Without the port, and without the dot that ends a full name.
std::string_view NameOf(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && host.find(']', colon) == host.npos;
  if (has_port) {
    if (host.substr(colon + 1).find_first_not_of(kDigits) != host.npos) return {};
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

// Of base64; -1: none.
int ValueOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

std::optional<std::string> FromBase64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = ValueOf(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xffffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

// What an Authorization header says: the password of Basic, the token of Bearer.
std::optional<std::string> SaidPassword(std::string_view header) {
  const size_t space = header.find(' ');
  if (space == header.npos) return std::nullopt;
  const std::string_view scheme = header.substr(0, space);
  std::string_view word = header.substr(space);
  word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
  if (IsSameInAnyCase("bearer", scheme)) return std::string(word);
  if (!IsSameInAnyCase("basic", scheme)) return std::nullopt;
  const std::optional<std::string> pair = FromBase64(word);
  const size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return pair->substr(colon + 1);
}

}  // namespace

bool IsOwnName(std::string_view host, const std::vector<std::string>& names) {
  const std::string name = LowerCase(NameOf(host));
  if (name.empty()) return false;
  if (IsIpv4(name) || IsIpv6(name) || name == kLocal) return true;
  return std::ranges::any_of(names, [&](const std::string& own) { return LowerCase(own) == name; });
}

bool IsLetIn(const HttpRequest& request, std::string_view password) {
  if (request.is_certified) return true;
  if (password.empty()) return request.is_local;
  const std::optional<std::string> said = SaidPassword(request.authorization);
  return said && SameDigest(PasswordDigest(*said), PasswordDigest(password));
}

}  // namespace sluice
