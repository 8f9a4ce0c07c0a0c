// See sources.h. A source without connections is forgotten, so there are never more than clients.
#include "server/net/sources.h"

#include <netinet/in.h>

#include <cstring>

namespace sluice {
namespace {

constexpr size_t kNetworkBytes = 8;  // of an IPv6 address

}  // namespace

bool Sources::AddressOf(int descriptor, Address& address) {
  sockaddr_storage remote{};
  socklen_t length = sizeof remote;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&remote), &length) < 0) return false;
  address = {};
  if (remote.ss_family == AF_INET) {
    address[10] = address[11] = 0xff;
    std::memcpy(&address[12], &reinterpret_cast<const sockaddr_in&>(remote).sin_addr, 4);
    return true;
  }
  if (remote.ss_family != AF_INET6) return false;
  const in6_addr& in = reinterpret_cast<const sockaddr_in6&>(remote).sin6_addr;
  std::memcpy(address.data(), &in, IN6_IS_ADDR_V4MAPPED(&in) ? sizeof in : kNetworkBytes);
  return true;
}

Sources::Place Sources::Take(int descriptor) {
  Address address;
  if (!AddressOf(descriptor, address)) return {};
  Source& source = sources_.try_emplace(address, Source{*this, address}).first->second;
  ++source.connections;
  return Place(&source);
}

size_t Sources::CountOf(int descriptor) const {
  Address address;
  if (!AddressOf(descriptor, address)) return 0;
  const auto found = sources_.find(address);
  return found == sources_.end() ? 0 : found->second.connections;
}

void Sources::Leave::operator()(Source* source) const {
  if (--source->connections == 0) source->all.sources_.erase(source->address);
}

}  // namespace sluice
