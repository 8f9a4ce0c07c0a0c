// Judges a visitor of the pages: by which name the server was called (a page elsewhere, whose name
// was made to lead here, must not read what is served on this machine), and whether it is let in.
//
//   IsOwnName("127.0.0.1:9121", hosts)      addresses, localhost and the names of http-hosts
//   StandingOf(request, password)           a certificate, the password, or no password and local
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace sluice {

// `host` as in the header: with or without a port; an IPv6 address in brackets.
bool IsOwnName(std::string_view host, const std::vector<std::string>& names);

// How far a visitor is known.
enum class Standing : uint8_t {
  kAnonymous,  // is on another machine, or did not say the password that there is
  kLocal,      // there is no password, and it is on this machine
  kLoggedIn,   // has said the password, or shown a certificate that was verified
};

// Takes the same time whatever the password is.
Standing StandingOf(const HttpRequest& request, std::string_view password);

// As what the visitor has logged in: two that have shown the same are one. Empty: it has not.
std::string LoginOf(const HttpRequest& request, std::string_view password);

// The request was made by a page of this server, as far as the browser tells: no other page may
// make it. Programs tell nothing.
bool IsFromElsewhere(const HttpRequest& request);
// The same, said outright, as a browser does with each request that may change something.
bool IsFromOwnPage(const HttpRequest& request);

}  // namespace sluice
