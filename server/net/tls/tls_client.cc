// See tls_client.h.
#include "server/net/tls/tls_client.h"

namespace sluice {

Fault TlsClient::Begin(const TlsWords& words, const std::string& host, int descriptor) {
  if (Fault fault = context_.Load(words)) return fault;
  wire_.emplace();
  stream_.emplace(context_.get(), *wire_, descriptor);
  return NameServer(*stream_, words, host);
}

}  // namespace sluice
