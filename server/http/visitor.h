// Who may see the pages: by which name the server was called (a page elsewhere, whose name was made
// to lead here, must not read what is served on this machine), and whether the visitor is let in.
//
//   IsOwnName("127.0.0.1:9121", hosts)      addresses, localhost and the names of http-hosts
//   IsLetIn(request, password)              a certificate, the password, or no password and local
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace sluice {

// `host` as in the header: with or without a port; an IPv6 address in brackets.
bool IsOwnName(std::string_view host, const std::vector<std::string>& names);

// Takes the same time whatever the password is.
bool IsLetIn(const HttpRequest& request, std::string_view password);

}  // namespace sluice
