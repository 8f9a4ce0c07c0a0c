// See visitor.h.
#include "server/http/visitor.h"

#include <algorithm>
#include <optional>

#include "protocol/text/letters.h"
#include "server/access/password.h"
#include "server/http/text/base64.h"

namespace sluice {
namespace {

constexpr std::string_view kLocal = "localhost";
constexpr std::string_view kSchemeEnd = "://";
constexpr std::string_view kSameOrigin = "same-origin";  // of Sec-Fetch-Site
constexpr std::string_view kNoSite = "none";
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

// The password in an Authorization header: that of Basic, or the token of Bearer.
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

Standing StandingOf(const HttpRequest& request, std::string_view password) {
  if (!LoginOf(request, password).empty()) return Standing::kLoggedIn;
  return password.empty() && request.is_local ? Standing::kLocal : Standing::kAnonymous;
}

std::string LoginOf(const HttpRequest& request, std::string_view password) {
  if (request.is_certified) return "certificate";
  if (password.empty()) return {};
  const std::optional<std::string> said = SaidPassword(request.authorization);
  const std::string digest = PasswordDigest(password);
  return said && SameDigest(PasswordDigest(*said), digest) ? digest : std::string();
}

// "none": an address that was typed, or a bookmark.
bool IsFromElsewhere(const HttpRequest& request) {
  if (!request.origin.empty() && !IsFromOwnPage(request)) return true;
  return !request.fetch_site.empty() && request.fetch_site != kSameOrigin &&
         request.fetch_site != kNoSite;
}

// Without the scheme: what stands before this server may speak TLS for it.
bool IsFromOwnPage(const HttpRequest& request) {
  const std::string_view origin = request.origin;
  const size_t colon = origin.find(kSchemeEnd);
  if (colon == origin.npos) return false;
  const std::string_view scheme = origin.substr(0, colon);
  const std::string_view name = origin.substr(colon + kSchemeEnd.size());
  return (scheme == "http" || scheme == "https") && !name.empty() &&
         LowerCase(name) == LowerCase(request.host) &&
         (request.fetch_site.empty() || request.fetch_site == kSameOrigin);
}

}  // namespace sluice
