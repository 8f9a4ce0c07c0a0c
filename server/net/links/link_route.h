// LinkRoute: what has to be known before a link can be connected: the addresses that its host's
// name has, those that it is to come from, and what TLS needs of files. FindLinkRoute may take as
// long as the machines that it asks, so a thread does it; only where all that is an address it
// takes no time.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "server/clients/link_listener.h"
#include "server/net/tls/tls_client_context.h"

namespace sluice {

struct LinkRoute {
  // A name may have more; those are not tried.
  static constexpr size_t kAddressesMax = 8;

  struct Address {
    sockaddr_storage bytes;
    socklen_t size;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  };

  std::string fault;  // the end of a sentence; empty: there is a way
  std::vector<Address> to;
  std::vector<Address> from;
  std::unique_ptr<TlsClientContext> tls;  // null: plain text
};

// Neither asks another machine nor reads a file.
bool IsRouteKnown(const LinkTarget& target);
LinkRoute FindLinkRoute(const LinkTarget& target);

}  // namespace sluice
