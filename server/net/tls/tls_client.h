// TlsClient: the client's end of TLS over one socket, for a program that asks a server (RedisLink).
//
//   TlsClient client;
//   std::string fault = client.Begin(words, "example.org", descriptor);  // empty: then
//   client.stream().Shake() ... Read ... Write                           // as tls_stream.h has it
// Which servers it believes is said in tls_client_context.h.
#pragma once

#include <optional>
#include <string>

#include "protocol/text/fault.h"
#include "server/config/tls_words.h"
#include "server/net/tls/tls_client_context.h"
#include "server/net/tls/tls_stream.h"
#include "server/net/tls/tls_wire.h"

namespace sluice {

class TlsClient {
 public:
  // Once. `host` is a name or an address; the socket stays the caller's. A sentence, or empty.
  Fault Begin(const TlsWords& words, const std::string& host, int descriptor);
  // Requires: Begin had no fault.
  TlsStream& stream() { return *stream_; }

 private:
  TlsClientContext context_;
  std::optional<TlsWire> wire_;  // made when OpenSSL is there
  std::optional<TlsStream> stream_;
};

}  // namespace sluice
