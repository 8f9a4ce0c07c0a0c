// See server_address.h.
#include "server/config/server_address.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/hex.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kPlainScheme = "redis://";
constexpr std::string_view kTlsScheme = "rediss://";
constexpr std::string_view kThisMachine = "127.0.0.1";
constexpr int64_t kDefaultPort = 6379;
constexpr int64_t kPortMax = 65535;

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool IsPort(std::string_view text) {
  const int64_t port = IsNumber(text) ? ParseInt64(text).value_or(0) : 0;
  return port >= 1 && port <= kPortMax;
}

// Reads %41 and the like of a URL. False: half an escape.
bool Unescape(std::string_view text, std::string& plain) {
  plain.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) return false;
    plain += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return true;
}

// Host, port or both. The sentence does not show what else a URL has: there may be a password.
std::string ReadPlace(std::string_view text, std::string& server) {
  if (IsNumber(text)) {
    if (!IsPort(text)) return Concat("'", text, "' is no port: 1 to ", kPortMax);
    server = Concat(kThisMachine, ":", text);
    return {};
  }
  const size_t bracket = text.rfind(']');
  const size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  const std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (!is_bracketed && std::ranges::count(text, ':') > 1)
    return Concat("'", text,
                  "' is no HOST:PORT; an IPv6 address stands in brackets: [::1]:", kDefaultPort);
  if (host.empty() || host.find_first_of(" /?#@") != host.npos)
    return Concat("'", text, "' is no HOST:PORT");
  if (colon == text.npos) {
    server = Concat(host, ":", kDefaultPort);
  } else if (IsPort(text.substr(colon + 1))) {
    server = text;
  } else {
    return Concat("'", text, "' has no port behind its colon: 1 to ", kPortMax);
  }
  return {};
}

// user:word@host:port/db, where all but the host may be missing.
std::string ReadUrl(std::string_view rest, ServerAddress& address) {
  const size_t slash = rest.find('/', rest.rfind('@') == rest.npos ? 0 : rest.rfind('@'));
  const std::string_view path = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
  std::string_view place = rest.substr(0, slash);
  if (const size_t at = place.rfind('@'); at != place.npos) {
    const std::string_view access = place.substr(0, at);
    const size_t colon = std::min(access.find(':'), access.size());
    const bool has_word = colon < access.size();
    if (!Unescape(access.substr(0, colon), address.user) ||
        !Unescape(has_word ? access.substr(colon + 1) : "", address.password))
      return "half an escape (%41) stands before the @ of the address";
    place.remove_prefix(at + 1);
  }
  if (!path.empty()) {
    if (!IsNumber(path) || !ParseInt64(path))
      return Concat("'", path, "' is no number of a database");
    address.database = ParseInt64(path);
  }
  return ReadPlace(place, address.server);
}

}  // namespace

std::string ReadServerAddress(std::string_view text, ServerAddress& address) {
  if (text.starts_with(kUnixPrefix)) {
    address.server = text;
    return {};
  }
  address.tls = text.starts_with(kTlsScheme);
  if (address.tls) return ReadUrl(text.substr(kTlsScheme.size()), address);
  if (text.starts_with(kPlainScheme)) return ReadUrl(text.substr(kPlainScheme.size()), address);
  if (text.find("://") != text.npos)
    return "an address is HOST:PORT, redis://..., rediss://... or unix:/PATH";
  return ReadPlace(text, address.server);
}

}  // namespace sluice
