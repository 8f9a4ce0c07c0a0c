// TlsWords: how a program that asks a server speaks TLS with it, in redis-cli's words.
#pragma once

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
};

}  // namespace sluice
