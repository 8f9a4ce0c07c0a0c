// ServerAddress: where a server is that one of our programs asks, as people write it.
//
//   127.0.0.1:7000   localhost:7000   [::1]:7000      as it is
//   localhost        [::1]                            port 6379
//   7500                                              127.0.0.1
//   unix:/run/sluice.sock                             a Unix socket
//   redis://user:word@host:7500/3                     user, password and database, %-escaped
//   rediss://host:7500                                the same by TLS
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

struct ServerAddress {
  std::string server;  // host:port, [IPv6]:port, or unix:/path
  std::string user;
  std::string password;
  bool tls = false;
  std::optional<int64_t> database;  // none: it names none
};

// A sentence, or empty. Names are not looked up.
[[nodiscard]] std::string ReadServerAddress(std::string_view text, ServerAddress& address);

}  // namespace sluice
