// TlsWords: how a program that asks a server speaks TLS with it, in redis-cli's words.
#pragma once

#include <optional>
#include <string>

namespace sluice {

struct TlsWords {
  bool on = false;               // --tls
  std::string authority_file;    // --cacert; with neither of the two, the system's authorities
  std::string authority_folder;  // --cacertdir
  std::string certificate_file;  // --cert: the asker's own; its key may stand in it, too
  std::string key_file;          // --key
  std::string server_name;       // --sni; empty: the name by which the server is called
  bool insecure = false;         // --insecure: any certificate will do
  bool any_name = false;         // an authority's certificate will do, whatever name it is for
  // The key's; none: OpenSSL asks at the terminal, which a server never may.
  std::optional<std::string> key_password;
};

}  // namespace sluice
