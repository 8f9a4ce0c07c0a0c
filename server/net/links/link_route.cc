// See link_route.h.
#include "server/net/links/link_route.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// 0, or getaddrinfo's error.
int LookUp(const std::string& name, const std::string& port, int flags,
           std::vector<LinkRoute::Address>& found) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error =
      ::getaddrinfo(name.c_str(), port.empty() ? nullptr : port.c_str(), &wanted, &list);
  if (error != 0) return error;
  for (const addrinfo* each = list; each && found.size() < LinkRoute::kAddressesMax;
       each = each->ai_next) {
    LinkRoute::Address& address = found.emplace_back();
    address.size = each->ai_addrlen;
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
  }
  ::freeaddrinfo(list);
  return 0;
}

bool IsAddress(const std::string& name) {
  std::vector<LinkRoute::Address> found;
  return LookUp(name, {}, AI_NUMERICHOST, found) == 0;
}

std::string WhyNotFound(const std::string& name, int error) {
  return Concat(name, ": ", error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error));
}

}  // namespace

bool IsRouteKnown(const LinkTarget& target) {
  const bool comes_from_address = target.source_address.empty() || IsAddress(target.source_address);
  return !target.tls.on && comes_from_address && IsAddress(target.host);
}

LinkRoute FindLinkRoute(const LinkTarget& target) {
  LinkRoute route;
  if (const int error = LookUp(target.host, Concat(target.port), 0, route.to)) {
    route.fault = WhyNotFound(target.host, error);
    return route;
  }
  if (!target.source_address.empty()) {
    if (const int error = LookUp(target.source_address, {}, 0, route.from)) {
      route.fault = WhyNotFound(target.source_address, error);
      return route;
    }
  }
  if (!target.tls.on) return route;
  auto tls = std::make_unique<TlsClientContext>();
  route.fault = tls->Load(target.tls);
  if (!route.fault.empty()) return route;
  tls->ReadAhead();
  route.tls = std::move(tls);
  return route;
}

}  // namespace sluice
